// What older ABI versions call differently: each function has the signature its table wants and calls the
// newest form. Named by the newest version that still calls it so: listen_v10 serves v6 … v10. Included by
// v6.cc … v11.cc only.
#pragma once
#include <array>

#include "nccl/collnet_v8.h"
#include "plugin/abi/collnet_calls.h"
#include "plugin/abi/net_calls.h"

namespace fanin::plugin::abi {

// Sizes were int up to v8. (The log would say "internal" of a negative one if it passed through as size_t.)
inline Error negative(const char* what) {
  return Error(Errc::kInvalidArgument, std::string(what) + " is negative");
}

// ---- v10 and before: init once per process, no context ----
inline ncclResult_t net_init_v10(ncclDebugLogger_t logger, ncclProfilerCallback_t profiler) {
  return net_init(nullptr, 0, nullptr, logger, profiler);
}
inline ncclResult_t net_listen_v10(int dev, void* handle, void** listen_comm) {
  return net_listen(nullptr, dev, handle, listen_comm);
}
inline ncclResult_t net_connect_v10(int dev, ncclNetCommConfig_v10_t*, void* handle, void** send_comm,
                                    ncclNetDeviceHandle_v10_t** dev_comm) {
  return net_connect(nullptr, dev, handle, send_comm, dev_comm);
}
inline ncclResult_t coll_init_v10(ncclDebugLogger_t logger) { return coll_init(nullptr, 0, logger); }
inline ncclResult_t coll_listen_v10(int dev, void* handle, void** listen_comm) {
  return coll_listen(nullptr, dev, handle, listen_comm);
}

// ---- v9 and before: no profiler, no configuration ----
inline ncclResult_t net_init_v9(ncclDebugLogger_t logger) { return net_init_v10(logger, nullptr); }
inline ncclResult_t net_connect_v9(int dev, void* handle, void** send_comm,
                                   ncclNetDeviceHandle_v9_t** dev_comm) {
  return net_connect(nullptr, dev, handle, send_comm, dev_comm);
}
inline ncclResult_t net_isend_v9(void* send_comm, void* data, size_t size, int tag, void* mhandle,
                                 void** request) {
  return net_isend(send_comm, data, size, tag, mhandle, nullptr, request);
}
inline ncclResult_t net_irecv_v9(void* recv_comm, int n, void** data, size_t* sizes, int* tags,
                                 void** mhandles, void** request) {
  return net_irecv(recv_comm, n, data, sizes, tags, mhandles, nullptr, request);
}

// ---- v8 and before: int sizes ----
inline ncclResult_t net_isend_v8(void* send_comm, void* data, int size, int tag, void* mhandle,
                                 void** request) {
  if (size < 0) return report({"isend", true}, negative("size"));
  return net_isend(send_comm, data, static_cast<size_t>(size), tag, mhandle, nullptr, request);
}
inline ncclResult_t net_irecv_v8(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                                 void** request) {
  std::array<size_t, net::kMaxGroupedReceives> wide{};
  for (int i = 0; sizes && i < n && i < net::kMaxGroupedReceives; ++i) {
    if (sizes[i] < 0) return report({"irecv", true}, negative("a size"));
    wide[static_cast<size_t>(i)] = static_cast<size_t>(sizes[i]);
  }
  return net_irecv(recv_comm, n, data, sizes ? wide.data() : nullptr, tags, mhandles, nullptr, request);
}
inline ncclResult_t coll_iallreduce_v8(void* coll_comm, void* send, void* recv, int count,
                                       ncclDataType_t type, ncclRedOp_t op, void* send_mhandle,
                                       void* recv_mhandle, void** request) {
  if (count < 0) return report({"iallreduce", true}, negative("count"));
  return coll_iallreduce(coll_comm, send, recv, static_cast<size_t>(count), type, op, send_mhandle,
                         recv_mhandle, request);
}
inline ncclResult_t coll_iallgather_v8(void* coll_comm, void* send, int nparts, ncclNetSGE_v8_t* parts,
                                       size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                       void* send_mhandle, void** request) {
  ncclNetSGE_v12_t part{};
  if (parts) part = {parts->mhandle, parts->address, parts->size};
  return coll_iallgather(coll_comm, send, nparts, parts ? &part : nullptr, bytes_per_rank, window_offset,
                         window_bytes, send_mhandle, request);
}
inline ncclResult_t coll_ireducescatter_v8(void* coll_comm, int nparts, ncclNetSGE_v8_t* parts, void* recv,
                                           size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                           ncclDataType_t type, ncclRedOp_t op, void* recv_mhandle,
                                           void** request) {
  ncclNetSGE_v12_t part{};
  if (parts) part = {parts->mhandle, parts->address, parts->size};
  return coll_ireducescatter(coll_comm, nparts, parts ? &part : nullptr, recv, bytes_per_rank, window_offset,
                             window_bytes, type, op, recv_mhandle, request);
}

// ---- v7 and before: int registrations ----
inline ncclResult_t net_reg_mr_v7(void* comm, void* data, int size, int type, void** mhandle) {
  if (size < 0) return report({"regMr"}, negative("size"));
  return net_reg_mr(comm, data, static_cast<size_t>(size), type, mhandle);
}
inline ncclResult_t coll_reg_mr_v7(void* coll_comm, void* data, int size, int type, void** mhandle) {
  if (size < 0) return report({"collnet regMr"}, negative("size"));
  return coll_reg_mr(coll_comm, data, static_cast<size_t>(size), type, mhandle);
}

// ---- v6: no device offload ----
inline ncclResult_t net_connect_v6(int dev, void* handle, void** send_comm) {
  return net_connect(nullptr, dev, handle, send_comm, nullptr);
}
inline ncclResult_t net_accept_v6(void* listen_comm, void** recv_comm) {
  return net_accept(listen_comm, recv_comm, nullptr);
}

}  // namespace fanin::plugin::abi
