#include "reducer/cli/memory_reserve.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <new>

namespace fanin::reducer::cli {
namespace {

// In pieces, so that threads that fail at once all get some; allocators may take a page for each of many small things.
constexpr size_t kPiece = 512 << 10, kPieces = 16;
constinit std::array<std::atomic<void*>, kPieces> g_pieces{};

// Called by operator new without memory, which tries again afterwards.
void give_a_piece() {
  for (auto& piece : g_pieces)
    if (void* p = piece.exchange(nullptr)) {
      ::munmap(p, kPiece);
      return;
    }
  throw std::bad_alloc();
}

}  // namespace

bool keep_memory_reserve() {
  [[maybe_unused]] static const auto before = std::set_new_handler(give_a_piece);
  for (auto& piece : g_pieces) {
    if (piece.load()) continue;
    void* p = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    void* none = nullptr;
    if (!piece.compare_exchange_strong(none, p)) ::munmap(p, kPiece);
  }
  return true;
}

}  // namespace fanin::reducer::cli
