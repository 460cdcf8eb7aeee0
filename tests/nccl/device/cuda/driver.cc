#include "tests/nccl/device/cuda/driver.h"

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/nccl/device/hook/thunk.h"
#include "tests/nccl/device/kernel/kernel.h"
#include "tests/nccl/device/memory.h"
#include "tests/nccl/device/settings.h"
#include "tests/nccl/device/stream.h"

namespace cpudev {
namespace {

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* v, CUdevice_attribute a, CUdevice) {
  switch (a) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *v = compute_capability() / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *v = compute_capability() % 10;
      break;
    default:
      *v = 0;
      break;  // no virtual memory management, no multicast, no DMA-BUF, NUMA node 0
  }
  return CUDA_SUCCESS;
}
CUresult device_uuid(CUuuid* id, CUdevice device) {
  memset(id, 0, sizeof *id);
  id->bytes[0] = static_cast<char>(device_bus(device));
  return CUDA_SUCCESS;
}
CUresult error_text(CUresult, const char** text) {
  *text = "CPU device driver error";
  return CUDA_SUCCESS;
}

// Contexts are numbers: the primary one of the current device unless another was set.
thread_local uintptr_t t_context = 0;
CUresult context_get(CUcontext* c) {
  *c = reinterpret_cast<CUcontext>(t_context ? t_context : static_cast<uintptr_t>(0x1000 + current_device()));
  return CUDA_SUCCESS;
}
CUresult context_set(CUcontext c) {
  t_context = reinterpret_cast<uintptr_t>(c);
  return CUDA_SUCCESS;
}
CUresult context_device(CUdevice* d) {
  *d = current_device();
  return CUDA_SUCCESS;
}
CUresult context_create(CUcontext* c, unsigned, CUdevice d) {
  *c = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(0x2000 + d));
  return CUDA_SUCCESS;
}
CUresult context_destroy(CUcontext) { return CUDA_SUCCESS; }

CUresult address_range(CUdeviceptr* base, size_t* size, CUdeviceptr p) {
  auto found = find_allocation(reinterpret_cast<void*>(p));
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  if (base) *base = reinterpret_cast<CUdeviceptr>(found->base);
  if (size) *size = found->size;
  return CUDA_SUCCESS;
}
CUresult pointer_attribute(void* out, CUpointer_attribute a, CUdeviceptr p) {
  auto found = find_allocation(reinterpret_cast<void*>(p));
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  int* v = static_cast<int*>(out);
  switch (a) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *v = found->kind == MemoryKind::kDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *v = found->device;
      break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      break;
    default:
      *v = 0;
      break;
  }
  return CUDA_SUCCESS;
}
CUresult granularity(size_t* g, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *g = 4096;
  return CUDA_SUCCESS;
}
CUresult mem_create(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult mem_release(CUmemGenericAllocationHandle) { return CUDA_SUCCESS; }

// NCCL passes a kernel's arguments as one buffer in `extra`.
CUresult launch(CUfunction f, unsigned grid, CUstream stream, void** extra) {
  const char* arguments = nullptr;
  size_t size = 0;
  for (int i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) arguments = static_cast<const char*>(extra[i + 1]);
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[i + 1]);
  }
  auto s = stream_of(stream);
  if (!arguments || !s) return CUDA_ERROR_INVALID_VALUE;
  auto* kernel = reinterpret_cast<const Kernel*>(f);
  std::vector<char> copy(arguments, arguments + size);
  s->push([kernel, copy = std::move(copy), grid] { run_kernel(*kernel, copy, static_cast<int>(grid)); },
          Stream::Where::kWorker);
  return CUDA_SUCCESS;
}
CUresult launch_ex(const CUlaunchConfig* c, CUfunction f, void**, void** extra) {
  return launch(f, c->gridDimX, c->hStream, extra);
}
CUresult launch_old(CUfunction f, unsigned grid, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    CUstream stream, void**, void** extra) {
  return launch(f, grid, stream, extra);
}

struct Entry {
  const char* name;
  void* function;
};
template <class F>
Entry entry(const char* name, F* f) {
  return {name, reinterpret_cast<void*>(f)};
}

}  // namespace

void* driver_function(const char* name) {
  static const Entry offered[] = {
      entry("cuGetErrorString", error_text),
      entry("cuGetErrorName", error_text),
      entry("cuDeviceGet", device_get),
      entry("cuDeviceGetAttribute", device_attribute),
      entry("cuDeviceGetUuid", device_uuid),
      entry("cuCtxCreate", context_create),
      entry("cuCtxDestroy", context_destroy),
      entry("cuCtxGetCurrent", context_get),
      entry("cuCtxSetCurrent", context_set),
      entry("cuCtxGetDevice", context_device),
      entry("cuMemGetAddressRange", address_range),
      entry("cuPointerGetAttribute", pointer_attribute),
      entry("cuMemGetAllocationGranularity", granularity),
      entry("cuMemCreate", mem_create),
      entry("cuMemRelease", mem_release),
      entry("cuLaunchKernel", launch_old),
      entry("cuLaunchKernelEx", launch_ex),
  };
  static std::mutex mutex;
  static auto* made = new std::map<std::string, void*>;
  std::lock_guard lock(mutex);
  if (auto it = made->find(name); it != made->end()) return it->second;
  void* thunk = nullptr;
  for (const Entry& e : offered)
    if (strcmp(e.name, name) == 0) thunk = counting_thunk(name, e.function);
  if (!thunk && verbose()) logf("driver entry %s: not offered", name);
  return (*made)[name] = thunk;
}

}  // namespace cpudev
