#include "plugin/abi/net_calls.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

#include "plugin/log.h"
#include "plugin/options.h"
#include "plugin/strict.h"
#include "plugin/tuner/reopen.h"

namespace fanin::plugin::abi {
namespace {

constexpr Call progress(const char* name) { return {name, true}; }

}  // namespace

ncclResult_t net_init(void** ctx, uint64_t, ncclNetCommConfig_v12_t*, ncclDebugLogger_t logger,
                      ncclProfilerCallback_t) {
  return at_edge({"init"}, [&]() -> Status {
    set_logger(logger);
    tuner::reopen_for_tuner(logger);
    options();  // warns about misspelt variables now, where the user looks for it
    if (ctx) *ctx = nullptr;
    return {};
  });
}

ncclResult_t net_finalize(void*) { return ncclSuccess; }

ncclResult_t devices(int* ndev) {
  return at_edge({"devices"}, [&]() -> Status {
    if (Status s = all_given({{ndev, "ndev"}}); !s) return s;
    const Result<std::span<const NetDevice>> list = net_devices();
    if (!list) return list.error();
    *ndev = static_cast<int>(list->size());
    return {};
  });
}

Result<const NetDevice*> device_at(int dev) {
  const Result<std::span<const NetDevice>> list = net_devices();
  if (!list) return list.error();
  if (dev < 0 || static_cast<size_t>(dev) >= list->size())
    return Error(Errc::kInvalidArgument,
                 "device " + std::to_string(dev) + " of " + std::to_string(list->size()) + " does not exist");
  return &(*list)[static_cast<size_t>(dev)];
}

ncclResult_t net_listen(void*, int dev, void* handle, void** listen_comm) {
  return at_edge({"listen"}, [&]() -> Status {
    if (Status s = all_given({{handle, "handle"}, {listen_comm, "listenComm"}}); !s) return s;
    if (Status s = service_refused(); !s) [[unlikely]]
      return s;
    if (const Result<const NetDevice*> device = device_at(dev); !device) return device.error();
    return hand_out(net::listen(dev, handle), listen_comm);
  });
}

ncclResult_t net_connect(void*, int dev, void* handle, void** send_comm, ncclNetDeviceHandle_v12_t**) {
  return at_edge({"connect"}, [&]() -> Status {
    if (Status s = all_given({{handle, "handle"}, {send_comm, "sendComm"}}); !s) return s;
    if (Status s = service_refused(); !s) [[unlikely]]
      return s;
    if (const Result<const NetDevice*> device = device_at(dev); !device) return device.error();
    return hand_out(net::connect(dev, handle), send_comm);
  });
}

ncclResult_t net_accept(void* listen_comm, void** recv_comm, ncclNetDeviceHandle_v12_t**) {
  return at_edge({"accept"}, [&]() -> Status {
    if (Status s = all_given({{listen_comm, "listenComm"}, {recv_comm, "recvComm"}}); !s) return s;
    return hand_out(net::accept(static_cast<net::ListenComm*>(listen_comm)), recv_comm);
  });
}

ncclResult_t net_reg_mr(void* comm, void* data, size_t size, int type, void** mhandle) {
  return at_edge({"regMr"}, [&]() -> Status {
    if (Status s = all_given({{comm, "comm"}, {mhandle, "mhandle"}}); !s) return s;
    return hand_out(net::register_memory(data, size, type), mhandle);
  });
}

ncclResult_t net_dereg_mr(void* comm, void* mhandle) {
  return at_edge({"deregMr"}, [&]() -> Status {
    if (Status s = all_given({{comm, "comm"}, {mhandle, "mhandle"}}); !s) return s;
    return net::deregister_memory(mhandle);
  });
}

ncclResult_t net_isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void*,
                       void** request) {
  return at_edge(progress("isend"), [&]() -> Status {
    if (Status s = all_given({{send_comm, "sendComm"}, {request, "request"}}); !s) return s;
    if (Status s = service_refused(); !s) [[unlikely]]
      return s;
    return hand_out(net::isend(static_cast<net::SendComm*>(send_comm), data, size, tag, mhandle), request);
  });
}

ncclResult_t net_irecv(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles, void**,
                       void** request) {
  // *request may say on entry that NCCL will not look at the sizes; they are known anyway, so nothing is
  // saved by it.
  return at_edge(progress("irecv"), [&]() -> Status {
    if (Status s = all_given({{recv_comm, "recvComm"},
                              {data, "data"},
                              {sizes, "sizes"},
                              {tags, "tags"},
                              {mhandles, "mhandles"},
                              {request, "request"}});
        !s)
      return s;
    if (Status s = service_refused(); !s) [[unlikely]]
      return s;
    if (n < 1 || n > net::kMaxGroupedReceives)
      return Error(Errc::kInvalidArgument, "a receive of " + std::to_string(n) + " parts; 1 to " +
                                               std::to_string(net::kMaxGroupedReceives) + " are possible");
    return hand_out(net::irecv(static_cast<net::RecvComm*>(recv_comm), n, data, sizes, tags, mhandles),
                    request);
  });
}

ncclResult_t net_iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request) {
  return at_edge(progress("iflush"), [&]() -> Status {
    if (Status s = all_given({{recv_comm, "recvComm"}, {request, "request"}}); !s) return s;
    return hand_out(net::iflush(static_cast<net::RecvComm*>(recv_comm), n, data, sizes, mhandles), request);
  });
}

ncclResult_t net_test(void* request, int* done, int* sizes) {
  return at_edge(progress("test"), [&]() -> Status {
    if (Status s = all_given({{request, "request"}, {done, "done"}}); !s) return s;
    // net::test writes as many sizes as the request has parts, which only it knows, and NCCL's array may be
    // no longer.
    std::array<size_t, net::kMaxGroupedReceives> got;
    got.fill(SIZE_MAX);
    const Result<bool> finished =
        net::test(static_cast<net::Request*>(request), sizes ? got.data() : nullptr);
    if (!finished) return finished.error();
    *done = *finished;
    if (*finished && sizes)
      for (size_t i = 0; i < got.size() && got[i] != SIZE_MAX; ++i)
        sizes[i] = static_cast<int>(std::min(got[i], size_t{INT_MAX}));
    return {};
  });
}

ncclResult_t net_close_send(void* send_comm) {
  return at_edge({"closeSend"}, [&] { return net::close_send(static_cast<net::SendComm*>(send_comm)); });
}

ncclResult_t net_close_recv(void* recv_comm) {
  return at_edge({"closeRecv"}, [&] { return net::close_recv(static_cast<net::RecvComm*>(recv_comm)); });
}

ncclResult_t net_close_listen(void* listen_comm) {
  return at_edge({"closeListen"},
                 [&] { return net::close_listen(static_cast<net::ListenComm*>(listen_comm)); });
}

}  // namespace fanin::plugin::abi
