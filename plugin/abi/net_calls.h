// ncclNet in its newest form (v12) over plugin/net/. Older tables reach these functions through
// plugin/abi/older.h.
//
// Contracts are net.h's and include/nccl/net_v12.h's. The context is always NULL: nothing differs per
// communicator. Results go out through the pointers only on success.
#pragma once
#include "nccl/net_v12.h"
#include "plugin/abi/edge.h"
#include "plugin/abi/properties.h"

namespace fanin::plugin::abi {

inline constexpr char kName[] = "fanin";  // of both tables; ncclConfig_t.netName names it

ncclResult_t net_init(void** ctx, uint64_t comm_id, ncclNetCommConfig_v12_t* config, ncclDebugLogger_t logger,
                      ncclProfilerCallback_t profiler);
ncclResult_t net_finalize(void* ctx);
ncclResult_t net_listen(void* ctx, int dev, void* handle, void** listen_comm);
ncclResult_t net_connect(void* ctx, int dev, void* handle, void** send_comm,
                         ncclNetDeviceHandle_v12_t** dev_comm);
ncclResult_t net_accept(void* listen_comm, void** recv_comm, ncclNetDeviceHandle_v12_t** dev_comm);
ncclResult_t net_reg_mr(void* comm, void* data, size_t size, int type, void** mhandle);
ncclResult_t net_dereg_mr(void* comm, void* mhandle);
ncclResult_t net_isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void* phandle,
                       void** request);
ncclResult_t net_irecv(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                       void** phandles, void** request);
ncclResult_t net_iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request);
ncclResult_t net_test(void* request, int* done, int* sizes);
ncclResult_t net_close_send(void* send_comm);
ncclResult_t net_close_recv(void* recv_comm);
ncclResult_t net_close_listen(void* listen_comm);

// devices and getProperties serve both networks.
ncclResult_t devices(int* ndev);
Result<const NetDevice*> device_at(int dev);
template <class Properties>
ncclResult_t get_properties(int dev, Properties* props) {
  return at_edge({"getProperties"}, [&]() -> Status {
    if (Status s = all_given({{props, "props"}}); !s) return s;
    const Result<const NetDevice*> device = device_at(dev);
    if (!device) return device.error();
    describe(**device, dev, props);
    return {};
  });
}

}  // namespace fanin::plugin::abi
