// Registrations of one communicator. Host memory needs none for TCP; what is kept is enough to tell a handle
// that was given out from one that was not. The same region may be registered many times. Thread-safe.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "fanin/error.h"
#include "nccl/types.h"

namespace fanin::plugin::collnet {

class MemoryRegistry {
 public:
  Result<void*> add(const void* data, size_t bytes, int ptr_type) {
    if (ptr_type != NCCL_PTR_HOST)
      return Error(
          Errc::kInvalidArgument,
          std::string(ptr_type == NCCL_PTR_CUDA ? "GPU" : "this kind of") +
              " memory cannot be registered: GPUDirect is not supported over TCP; the plugin reports host "
              "memory only (ptrSupport), so use host buffers");
    if (!data && bytes > 0) return Error(Errc::kInvalidArgument, "cannot register a null buffer");
    std::lock_guard lock(mutex_);
    // Handles are numbers in pointer clothes: unique, never null, never dereferenced.
    void* handle = reinterpret_cast<void*>(++last_ << 4);
    const auto begin = reinterpret_cast<uintptr_t>(data);
    regions_.emplace(handle, Region{begin, begin + bytes});
    return handle;
  }
  struct Region {
    uintptr_t begin = 0, end = 0;
  };
  // The region the handle was given out for.
  Result<Region> remove(void* handle) {
    std::lock_guard lock(mutex_);
    auto it = regions_.find(handle);
    if (it == regions_.end())
      return Error(Errc::kInvalidArgument, "not a memory handle of this communicator");
    const Region region = it->second;
    regions_.erase(it);
    return region;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, Region> regions_;
  uintptr_t last_ = 0;
};

}  // namespace fanin::plugin::collnet
