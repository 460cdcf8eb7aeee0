// Zeroed page-aligned memory in huge pages where the kernel gives them: the first touch of a 4 KiB page costs
// more than what is measured. Move-only owner.
#pragma once
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "fanin/error.h"

namespace fanin::perf {

class Memory {
 public:
  static Result<Memory> make(size_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return system_error("cannot allocate " + std::to_string(bytes) + " bytes", errno);
    madvise(p, bytes, MADV_HUGEPAGE);
    Memory m;
    m.bytes_ = {static_cast<std::byte*>(p), bytes};
    return m;
  }
  Memory() = default;
  Memory(Memory&& o) noexcept : bytes_(std::exchange(o.bytes_, {})) {}
  Memory& operator=(Memory&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Memory() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  }
  std::span<std::byte> span() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace fanin::perf
