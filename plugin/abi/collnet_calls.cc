#include "plugin/abi/collnet_calls.h"

#include <algorithm>
#include <climits>

#include "plugin/abi/net_calls.h"
#include "plugin/collnet/collnet.h"
#include "plugin/collnet/enable.h"
#include "plugin/collnet/measured.h"
#include "plugin/log.h"

namespace fanin::plugin::abi {
namespace {

constexpr Call progress(const char* name) { return {name, true}; }

// NCCL asked reduceSupport first, so that another type or operator is a bug somewhere.
Status reducible(ncclDataType_t type, ncclRedOp_t op) {
  if (collnet::reduce_supported(type, op)) [[likely]]
    return {};
  return Error(Errc::kInvalidArgument, "element type " + std::to_string(static_cast<int>(type)) +
                                           " with operator " + std::to_string(static_cast<int>(op)) +
                                           " is not supported");
}

Result<collnet::Part> only_part(int nparts, const ncclNetSGE_v12_t* parts) {
  if (nparts != 1 || !parts)
    return Error(Errc::kInvalidArgument,
                 "a window in " + std::to_string(nparts) + " parts; NCCL has always passed one");
  return collnet::Part{parts->mhandle, parts->address, parts->size};
}

}  // namespace

ncclResult_t coll_init(void** ctx, uint64_t, ncclDebugLogger_t logger) {
  return at_edge({"collnet init"}, [&]() -> Status {
    set_logger(logger);
    collnet::enable_or_warn(logger);
    if (!ctx) return {};
    *ctx = nullptr;
    collnet::expect_questions();  // v11 came with ncclTuner v5
    return {};
  });
}

ncclResult_t coll_finalize(void*) { return ncclSuccess; }

ncclResult_t coll_listen(void*, int dev, void* handle, void** listen_comm) {
  return at_edge({"collnet listen"}, [&]() -> Status {
    if (Status s = all_given({{handle, "handle"}, {listen_comm, "listenComm"}}); !s) return s;
    if (const Result<const NetDevice*> device = device_at(dev); !device) return device.error();
    return hand_out(collnet::listen(dev, handle), listen_comm);
  });
}

ncclResult_t coll_connect(void* handles[], int nranks, int rank, void* listen_comm, void** coll_comm) {
  return at_edge({"collnet connect"}, [&]() -> Status {
    if (Status s = all_given({{handles, "handles"}, {listen_comm, "listenComm"}, {coll_comm, "collComm"}});
        !s)
      return s;
    if (nranks < 1 || rank < 0 || rank >= nranks)
      return Error(Errc::kInvalidArgument,
                   "rank " + std::to_string(rank) + " of " + std::to_string(nranks) + " does not exist");
    return hand_out(collnet::connect(handles, nranks, rank, static_cast<collnet::Listener*>(listen_comm)),
                    coll_comm);
  });
}

ncclResult_t coll_reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported) {
  return at_edge({"reduceSupport"}, [&]() -> Status {
    if (Status s = all_given({{supported, "supported"}}); !s) return s;
    *supported = collnet::reduce_supported(type, op);
    return {};
  });
}

ncclResult_t coll_reg_mr(void* coll_comm, void* data, size_t size, int type, void** mhandle) {
  return at_edge({"collnet regMr"}, [&]() -> Status {
    if (Status s = all_given({{coll_comm, "collComm"}, {mhandle, "mhandle"}}); !s) return s;
    return hand_out(collnet::register_memory(static_cast<collnet::Comm*>(coll_comm), data, size, type),
                    mhandle);
  });
}

ncclResult_t coll_dereg_mr(void* coll_comm, void* mhandle) {
  return at_edge({"collnet deregMr"}, [&]() -> Status {
    if (Status s = all_given({{coll_comm, "collComm"}, {mhandle, "mhandle"}}); !s) return s;
    return collnet::deregister_memory(static_cast<collnet::Comm*>(coll_comm), mhandle);
  });
}

ncclResult_t coll_iallreduce(void* coll_comm, void* send, void* recv, size_t count, ncclDataType_t type,
                             ncclRedOp_t op, void*, void*, void** request) {
  return at_edge(progress("iallreduce"), [&]() -> Status {
    if (Status s = all_given({{coll_comm, "collComm"}, {request, "request"}}); !s) return s;
    if (Status s = reducible(type, op); !s) return s;
    return hand_out(collnet::iallreduce(static_cast<collnet::Comm*>(coll_comm), send, recv, count,
                                        static_cast<DType>(type), static_cast<RedOp>(op)),
                    request);
  });
}

ncclResult_t coll_iallgather(void* coll_comm, void* send, int nparts, ncclNetSGE_v12_t* parts,
                             size_t bytes_per_rank, size_t window_offset, size_t window_bytes, void*,
                             void** request) {
  return at_edge(progress("iallgather"), [&]() -> Status {
    if (Status s = all_given({{coll_comm, "collComm"}, {request, "request"}}); !s) return s;
    const Result<collnet::Part> window = only_part(nparts, parts);
    if (!window) return window.error();
    return hand_out(collnet::iallgather(static_cast<collnet::Comm*>(coll_comm), send, *window,
                                        {bytes_per_rank, window_offset, window_bytes}),
                    request);
  });
}

ncclResult_t coll_ireducescatter(void* coll_comm, int nparts, ncclNetSGE_v12_t* parts, void* recv,
                                 size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                                 ncclDataType_t type, ncclRedOp_t op, void*, void** request) {
  return at_edge(progress("ireducescatter"), [&]() -> Status {
    if (Status s = all_given({{coll_comm, "collComm"}, {request, "request"}}); !s) return s;
    if (Status s = reducible(type, op); !s) return s;
    const Result<collnet::Part> window = only_part(nparts, parts);
    if (!window) return window.error();
    return hand_out(collnet::ireducescatter(static_cast<collnet::Comm*>(coll_comm), *window, recv,
                                            {bytes_per_rank, window_offset, window_bytes},
                                            static_cast<DType>(type), static_cast<RedOp>(op)),
                    request);
  });
}

ncclResult_t coll_iflush(void* coll_comm, void*, int, void*, void** request) {
  return at_edge(progress("collnet iflush"), [&]() -> Status {
    if (Status s = all_given({{coll_comm, "collComm"}, {request, "request"}}); !s) return s;
    return hand_out(collnet::iflush(static_cast<collnet::Comm*>(coll_comm)), request);
  });
}

ncclResult_t coll_test(void* request, int* done, int* size) {
  return at_edge(progress("collnet test"), [&]() -> Status {
    if (Status s = all_given({{request, "request"}, {done, "done"}}); !s) return s;
    size_t bytes = 0;
    const Result<bool> finished = collnet::test(static_cast<collnet::Request*>(request), &bytes);
    if (!finished) return finished.error();
    *done = *finished;
    if (*finished && size) *size = static_cast<int>(std::min(bytes, size_t{INT_MAX}));
    return {};
  });
}

ncclResult_t coll_close(void* coll_comm) {
  return at_edge({"closeColl"}, [&] { return collnet::close(static_cast<collnet::Comm*>(coll_comm)); });
}

ncclResult_t coll_close_listen(void* listen_comm) {
  return at_edge({"collnet closeListen"},
                 [&] { return collnet::close_listener(static_cast<collnet::Listener*>(listen_comm)); });
}

}  // namespace fanin::plugin::abi
