#include "reducer/block_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <string>
#include <utility>

namespace fanin::reducer {

Result<BlockArena> BlockArena::make(size_t blocks, size_t block_bytes) {
  BlockArena a;
  // Not value-initialised on purpose: the list is written before it is read, and untouched pages cost
  // nothing.
  a.free_.reset(new (std::nothrow) std::byte*[blocks]);
  if (!a.free_) return system_error("block list of " + std::to_string(blocks) + " blocks", ENOMEM);
  void* p = ::mmap(nullptr, blocks * block_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return system_error(
        "mapping " + std::to_string(blocks * block_bytes) + " bytes of blocks (see ulimit -v, --memory)",
        errno);
  a.base_ = static_cast<std::byte*>(p);
  a.blocks_ = blocks;
  a.block_bytes_ = block_bytes;
  guard(a.base_, blocks * block_bytes);
  return a;
}

BlockArena::BlockArena(BlockArena&& o) noexcept { *this = std::move(o); }

BlockArena& BlockArena::operator=(BlockArena&& o) noexcept {
  std::swap(base_, o.base_);
  std::swap(blocks_, o.blocks_);
  std::swap(block_bytes_, o.block_bytes_);
  std::swap(fresh_, o.fresh_);
  std::swap(free_count_, o.free_count_);
  std::swap(free_, o.free_);
  return *this;
}

BlockArena::~BlockArena() {
#ifdef FANIN_ASAN
  ASAN_UNPOISON_MEMORY_REGION(base_, blocks_ * block_bytes_);  // another mapping may come to lie there
#endif
  if (base_) ::munmap(base_, blocks_ * block_bytes_);
}

}  // namespace fanin::reducer
