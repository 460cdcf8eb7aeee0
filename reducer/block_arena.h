// The block buffers of one lane-session: one anonymous mapping cut into equal blocks, and the list of free
// ones.
//
// The mapping is made once, is touched page by page as blocks are first used, and goes with the object. Freed
// blocks are reused last-in first-out, so that a lane that keeps up works in a few cache-warm blocks whatever
// its window. take() and give() are a pointer move; the lane's thread only. Blocks are page-aligned as far as
// their size allows, at least to 64.
#pragma once
#include <cstddef>
#include <memory>

#include "fanin/error.h"
#include "transport/affinity.h"
#include "transport/sanitizers.h"

#ifdef FANIN_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace fanin::reducer {

class BlockArena {
 public:
  BlockArena() = default;
  static Result<BlockArena> make(size_t blocks, size_t block_bytes);
  BlockArena(BlockArena&& o) noexcept;
  BlockArena& operator=(BlockArena&& o) noexcept;
  ~BlockArena();

  // For pages not yet touched. Best effort: where it is forbidden, they come from where the lane runs.
  void prefer_node(int node) { (void)fanin::prefer_node(base_, blocks_ * block_bytes_, node); }

  bool made() const { return base_ != nullptr; }
  // A free block. The window rule bounds how many are out, so there always is one; running out is a bug and
  // gives null.
  std::byte* take() {
    if (free_count_ > 0) return taken(free_[--free_count_]);
    if (fresh_ == blocks_) return nullptr;
    return taken(base_ + block_bytes_ * fresh_++);
  }
  void give(std::byte* block) {
    guard(block, block_bytes_);
    free_[free_count_++] = block;
  }
  size_t in_use() const { return fresh_ - free_count_; }

 private:
  // Under AddressSanitizer a free block is out of bounds.
  std::byte* taken(std::byte* block) const {
#ifdef FANIN_ASAN
    ASAN_UNPOISON_MEMORY_REGION(block, block_bytes_);
#endif
    return block;
  }
  static void guard([[maybe_unused]] std::byte* at, [[maybe_unused]] size_t bytes) {
#ifdef FANIN_ASAN
    ASAN_POISON_MEMORY_REGION(at, bytes);
#endif
  }

  std::byte* base_ = nullptr;
  size_t blocks_ = 0, block_bytes_ = 0;
  size_t fresh_ = 0;  // blocks that were ever taken: the rest of the mapping is untouched
  size_t free_count_ = 0;
  std::unique_ptr<std::byte*[]> free_;
};

}  // namespace fanin::reducer
