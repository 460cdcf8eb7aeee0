// The runtime API's streams and events.
#include "tests/nccl/device/stream.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "tests/nccl/device/event.h"
#include "tests/nccl/device/settings.h"

using cpudev::Event;
using cpudev::Stream;

namespace {

Event* event_of(cudaEvent_t e) { return reinterpret_cast<Event*>(e); }

// Calls f with the stream behind the handle.
template <class F>
cudaError_t with(cudaStream_t handle, F f) {
  auto s = cpudev::stream_of(handle);
  return s ? f(s) : cudaErrorInvalidResourceHandle;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int) {
  *out =
      static_cast<cudaStream_t>(cpudev::register_stream(std::make_shared<Stream>(cpudev::current_device())));
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned f) {
  return cudaStreamCreateWithPriority(out, f, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithPriority(out, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  auto s = cpudev::unregister_stream(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  s->close();
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with(handle, [](auto& s) {
    s->sync();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with(handle, [](auto& s) { return s->idle() ? cudaSuccess : cudaErrorNotReady; });
}
cudaError_t cudaDeviceSynchronize() {
  for (auto& s : cpudev::streams_of_device(cpudev::current_device())) s->sync();
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with(handle, [=](auto& s) {
    *device = s->device();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetPriority(cudaStream_t, int* p) {
  *p = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned* f) {
  *f = cudaStreamNonBlocking;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* low, int* high) {
  *low = *high = 0;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t fn, void* arg) {
  return with(handle, [=](auto& s) {
    s->push([=] { fn(arg); }, Stream::Where::kWorker);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  *out = reinterpret_cast<cudaEvent_t>(
      new Event(!(flags & cudaEventDisableTiming)));  // freed by cudaEventDestroy
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  delete event_of(e);
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t handle, unsigned) {
  return with(handle, [=](auto& s) {
    event_of(e)->record(s);
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return cudaEventRecordWithFlags(e, s, 0); }
cudaError_t cudaEventQuery(cudaEvent_t e) { return event_of(e)->reached() ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  event_of(e)->wait();
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  auto t = Event::milliseconds(*event_of(from), *event_of(to));
  if (!t) return cudaErrorInvalidResourceHandle;
  *ms = *t;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t e, unsigned) {
  return with(handle, [=](auto& s) {
    event_of(e)->hold_back(s.get());
    return cudaSuccess;
  });
}

// No graph capture on this device.
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  *status = cudaStreamCaptureStatusNone;
  if (id) *id = 0;
  if (graph) *graph = nullptr;
  if (nodes) *nodes = nullptr;
  if (edges) *edges = nullptr;
  if (count) *count = 0;
  return cudaSuccess;
}
// The same with fewer results, and as CUDA 12 names it.
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** nodes, size_t* count) {
  return cudaStreamGetCaptureInfo(handle, status, id, graph, nodes, nullptr, count);
}
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                        size_t* count) {
  return cudaStreamGetCaptureInfo(handle, status, id, graph, nodes, edges, count);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(*mode, current);
  return cudaSuccess;
}

}  // extern "C"
