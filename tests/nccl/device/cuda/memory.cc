// The runtime API's memory functions.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "tests/nccl/device/memory.h"
#include "tests/nccl/device/settings.h"
#include "tests/nccl/device/stream.h"

using cpudev::MemoryKind;
using cpudev::Stream;

namespace {

constexpr size_t kDeviceBytes = size_t{8} << 30;

cudaError_t allocate(void** p, size_t bytes, MemoryKind kind) {
  *p = cpudev::allocate(bytes, kind, cpudev::current_device());
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t release(void* p) { return cpudev::release(p) ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t push(cudaStream_t stream, std::function<void()> operation) {
  auto s = cpudev::stream_of(stream);
  if (!s) return cudaErrorInvalidResourceHandle;
  s->push(std::move(operation), Stream::Where::kInlineIfIdle);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, size_t n) { return allocate(p, n, MemoryKind::kDevice); }
cudaError_t cudaMallocManaged(void** p, size_t n, unsigned) { return allocate(p, n, MemoryKind::kDevice); }
cudaError_t cudaFree(void* p) { return release(p); }
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return allocate(p, n, MemoryKind::kHost); }
cudaError_t cudaMallocHost(void** p, size_t n) { return allocate(p, n, MemoryKind::kHost); }
cudaError_t cudaFreeHost(void* p) { return release(p); }
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  memset(a, 0, sizeof *a);
  if (auto found = cpudev::find_allocation(p)) {
    const bool host = found->kind == MemoryKind::kHost;
    a->type = host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    a->device = found->device;
    a->devicePointer = const_cast<void*>(p);
    a->hostPointer = host ? const_cast<void*>(p) : nullptr;
  } else {
    a->type = cudaMemoryTypeUnregistered;
    a->device = cudaInvalidDeviceId;
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = kDeviceBytes;
  *free = kDeviceBytes - std::min(kDeviceBytes, cpudev::device_memory_used(cpudev::current_device()));
  return cudaSuccess;
}

// Stream-ordered allocation: memory comes at once and is freed in stream order.
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
cudaError_t cudaMallocFromPoolAsync(void** p, size_t n, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(p, n);
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t s) {
  return push(s, [p] { cpudev::release(p); });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  static char only;  // a pool has no state here
  *pool = reinterpret_cast<cudaMemPool_t>(&only);
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

cudaError_t cudaMemcpyAsync(void* d, const void* s, size_t n, cudaMemcpyKind, cudaStream_t stream) {
  return push(stream, [=] { memmove(d, s, n); });
}
cudaError_t cudaMemcpy(void* d, const void* s, size_t n, cudaMemcpyKind) {
  cpudev::stream_of(nullptr)->sync();
  memmove(d, s, n);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* d, int v, size_t n, cudaStream_t stream) {
  return push(stream, [=] { memset(d, v, n); });
}
cudaError_t cudaMemset(void* d, int v, size_t n) {
  cpudev::stream_of(nullptr)->sync();
  memset(d, v, n);
  return cudaSuccess;
}

}  // extern "C"
