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

namespace fanin::reducer {

class BlockArena {
 public:
  BlockArena() = default;
  static Result<BlockArena> make(size_t blocks, size_t block_bytes);
  BlockArena(BlockArena&& o) noexcept;
  BlockArena& operator=(BlockArena&& o) noexcept;
  ~BlockArena();

  // A free block. The window rule bounds how many are out, so there always is one; running out is a bug and
  // gives null.
  std::byte* take() {
    if (free_count_ > 0) return free_[--free_count_];
    if (fresh_ == blocks_) return nullptr;
    return base_ + block_bytes_ * fresh_++;
  }
  void give(std::byte* block) { free_[free_count_++] = block; }
  size_t in_use() const { return fresh_ - free_count_; }

 private:
  std::byte* base_ = nullptr;
  size_t blocks_ = 0, block_bytes_ = 0;
  size_t fresh_ = 0;  // blocks that were ever taken: the rest of the mapping is untouched
  size_t free_count_ = 0;
  std::unique_ptr<std::byte*[]> free_;
};

}  // namespace fanin::reducer
