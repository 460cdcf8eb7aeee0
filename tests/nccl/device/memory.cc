#include "tests/nccl/device/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace cpudev {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

struct Block {
  Allocation allocation;
  void* raw;
  size_t mapped;
};

// Never destroyed: NCCL frees from its own destructors.
struct Heap {
  std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
};
Heap& heap() {
  static Heap* h = new Heap;
  return *h;
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

void* allocate(size_t bytes, MemoryKind kind, int device) {
  if (bytes == 0) bytes = 1;
  // Large blocks ask for huge pages: the first touch of 4 KiB pages is slow in a virtual machine.
  const bool huge = bytes >= kHugePage / 2;
  const size_t align = huge ? kHugePage : kPage, size = round_up(bytes, align);
  const size_t mapped = size + (huge ? kHugePage : 0);
  void* raw =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t at = round_up(reinterpret_cast<uintptr_t>(raw), align);
  void* base = reinterpret_cast<void*>(at);
  if (huge) madvise(base, size, MADV_HUGEPAGE);
  std::lock_guard lock(heap().mutex);
  heap().blocks[at] = {{base, bytes, kind, device}, raw, mapped};
  return base;
}

bool release(void* base) {
  if (!base) return true;
  std::lock_guard lock(heap().mutex);
  auto it = heap().blocks.find(reinterpret_cast<uintptr_t>(base));
  if (it == heap().blocks.end()) return false;
  munmap(it->second.raw, it->second.mapped);
  heap().blocks.erase(it);
  return true;
}

std::optional<Allocation> find_allocation(const void* inside) {
  const auto at = reinterpret_cast<uintptr_t>(inside);
  std::lock_guard lock(heap().mutex);
  auto it = heap().blocks.upper_bound(at);
  if (it == heap().blocks.begin()) return std::nullopt;
  --it;
  if (at >= it->first + it->second.allocation.size) return std::nullopt;
  return it->second.allocation;
}

size_t device_memory_used(int device) {
  std::lock_guard lock(heap().mutex);
  size_t n = 0;
  for (const auto& [at, block] : heap().blocks)
    if (block.allocation.kind == MemoryKind::kDevice && block.allocation.device == device)
      n += round_up(block.allocation.size, kPage);
  return n;
}

}  // namespace cpudev
