#include "perf/nccl_perf/device.h"

#include <string>

namespace fanin::nccl_perf {

Status cuda_status(const char* call, cudaError_t rc) {
  if (rc == cudaSuccess) return {};
  return Error(Errc::kSystem, std::string(call) + ": " + cudaGetErrorString(rc));
}

Status nccl_status(const char* call, ncclResult_t rc, ncclComm_t comm) {
  if (rc == ncclSuccess) return {};
  std::string text = std::string(call) + ": " + ncclGetErrorString(rc);
  std::string last;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 13, 0)
  if (const char* warning = ncclGetLastError(comm)) last = warning;
#endif
  while (!last.empty() && (last.back() == '\n' || last.back() == ' ')) last.pop_back();
  if (!last.empty()) text += "; NCCL's last warning: " + last;
  return Error(rc == ncclRemoteError ? Errc::kRemote : Errc::kSystem, text);
}

Result<DeviceBuffer> DeviceBuffer::make(size_t bytes) {
  DeviceBuffer b;
  if (Status s = cuda_status("cudaMalloc", cudaMalloc(&b.data_, bytes ? bytes : 1)); !s)
    return s.error().in("a buffer of " + std::to_string(bytes) + " bytes");
  return b;
}

Result<Stream> Stream::make() {
  Stream s;
  if (Status st = cuda_status("cudaStreamCreateWithFlags",
                              cudaStreamCreateWithFlags(&s.stream_, cudaStreamNonBlocking));
      !st)
    return st.error();
  return s;
}

Result<Event> Event::make() {
  Event e;
  if (Status s = cuda_status("cudaEventCreateWithFlags",
                             cudaEventCreateWithFlags(&e.event_, cudaEventDisableTiming));
      !s)
    return s.error();
  return e;
}

Result<Comm> Comm::make(int nranks, const ncclUniqueId& id, int rank) {
  Comm c;
  if (Status s = nccl_status("ncclCommInitRank", ncclCommInitRank(&c.comm_, nranks, id, rank)); !s) {
    c.comm_ = nullptr;
    return s.error();
  }
  return c;
}

Status Comm::finish() {
  if (!comm_) return {};
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
  if (Status s = nccl_status("ncclCommFinalize", ncclCommFinalize(comm_), comm_); !s) return s;
#endif
  return nccl_status("ncclCommDestroy", ncclCommDestroy(std::exchange(comm_, nullptr)));
}

}  // namespace fanin::nccl_perf
