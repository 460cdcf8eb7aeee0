// The runtime API's device enumeration, properties and errors, and how it hands out kernels and driver
// functions.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "tests/nccl/device/cuda/driver.h"
#include "tests/nccl/device/kernel/kernel.h"
#include "tests/nccl/device/settings.h"

using cpudev::compute_capability;
using cpudev::logf;

namespace {

constexpr int kCudaVersion = 13000;
constexpr int kProcessors = 108;
constexpr size_t kMemory = size_t{8} << 30;
thread_local cudaError_t t_last = cudaSuccess;

cudaError_t no_graphs(const char* what) {
  logf("%s: this device has no graphs", what);
  return cudaErrorNotSupported;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* n) {
  *n = cpudev::device_count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* d) {
  *d = cpudev::current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  if (d < 0 || d >= cpudev::device_count()) return cudaErrorInvalidDevice;
  cpudev::set_current_device(d);
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) {
  *v = kCudaVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = kCudaVersion;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t e = t_last;
  t_last = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError() { return t_last; }
const char* cudaGetErrorString(cudaError_t e) {
  static thread_local char text[64];
  snprintf(text, sizeof text,
           e == cudaErrorNotSupported ? "not supported on the CPU device (%d)" : "CPU device error %d",
           static_cast<int>(e));
  return text;
}
const char* cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }

cudaError_t cudaDeviceGetPCIBusId(char* text, int n, int d) {
  snprintf(text, static_cast<size_t>(n), "0000:%02x:00.0", cpudev::device_bus(d));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* d, const char* text) {
  unsigned domain, bus;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2) return cudaErrorInvalidValue;
  *d = cpudev::device_of_bus(static_cast<int>(bus));
  return *d >= 0 && *d < cpudev::device_count() ? cudaSuccess : cudaErrorInvalidDevice;
}
// Programs call this last of all; what they still hold goes with the process.
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceCanAccessPeer(int* ok, int, int) {
  *ok = 0;  // NCCL then joins the devices of a node by shared memory
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorPeerAccessUnsupported; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t* v, cudaLimit) {
  *v = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  switch (a) {
    case cudaDevAttrComputeCapabilityMajor:
      *v = compute_capability() / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *v = compute_capability() % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *v = 166912;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *v = 49152;
      break;
    case cudaDevAttrMultiProcessorCount:
      *v = kProcessors;
      break;
    case cudaDevAttrWarpSize:
      *v = 32;
      break;
    case cudaDevAttrUnifiedAddressing:
      *v = 1;
      break;
    case cudaDevAttrGPUDirectRDMASupported:
      *v = cpudev::gpu_direct();
      break;
    default:
      *v = 0;
      break;
  }
  return cudaSuccess;
}
// As an NCCL built for CUDA 12 calls it: only what both structures begin with, and zeros for the rest of the older one.
cudaError_t cudaGetDeviceProperties_v2(void* properties, int) {
  constexpr size_t kBytesInCuda12 = 1032;
  memset(properties, 0, kBytesInCuda12);
  auto* p = static_cast<cudaDeviceProp*>(properties);
  snprintf(p->name, sizeof p->name, "CPU device");
  p->totalGlobalMem = kMemory;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int d) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "CPU device");
  p->totalGlobalMem = kMemory;
  p->major = compute_capability() / 10;
  p->minor = compute_capability() % 10;
  p->multiProcessorCount = kProcessors;
  p->warpSize = 32;
  p->unifiedAddressing = 1;
  p->pciBusID = cpudev::device_bus(d);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
  memset(a, 0, sizeof *a);
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* f, const void* stub) {
  *f = reinterpret_cast<cudaFunction_t>(const_cast<cpudev::Kernel*>(cpudev::kernel_of(stub)));
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** fn, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *fn = cpudev::driver_function(name);
  if (found) *found = *fn ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** fn, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPointByVersion(name, fn, kCudaVersion, flags, found);
}

// A program's own kernels cannot run here: say so, instead of letting the real runtime fail in silence.
cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3, void**, size_t, cudaStream_t) {
  logf("cudaLaunchKernel(%s, grid %u): not run", cpudev::kernel_of(stub)->name, grid.x);
  return t_last = cudaErrorNotSupported;
}
// What nvcc 13 makes of kernel<<<>>>.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3, void**, size_t, cudaStream_t) {
  logf("kernel at %p launched by the program itself (grid %u): not run", static_cast<void*>(kernel), grid.x);
  return t_last = cudaErrorNotSupported;
}

// Graphs, as a program calls them.
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return no_graphs("cudaStreamBeginCapture");
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return no_graphs("cudaStreamEndCapture"); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return no_graphs("cudaGraphInstantiate");
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return no_graphs("cudaGraphLaunch"); }
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }

}  // extern "C"
