// Device and pinned host memory: anonymous mappings of this process, found again by any address inside them.
// Any thread.
#pragma once
#include <cstddef>
#include <optional>

namespace cpudev {

enum class MemoryKind { kDevice, kHost };

struct Allocation {
  void* base;
  size_t size;  // as asked for
  MemoryKind kind;
  int device;
};

// Null when the host refuses. Zero bytes are one.
void* allocate(size_t bytes, MemoryKind kind, int device);
// False when base is not what allocate() returned; true for null.
bool release(void* base);
std::optional<Allocation> find_allocation(const void* inside);
// Device memory handed out, in whole pages.
size_t device_memory_used(int device);

}  // namespace cpudev
