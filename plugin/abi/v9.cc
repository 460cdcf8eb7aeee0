// ABI v9 (NCCL 2.24, 2.25): v10 without profiler handles and connect configuration.
#include "plugin/abi/older.h"
#include "plugin/abi/tables.h"

using namespace fanin::plugin::abi;

const ncclNet_v9_t ncclNetPlugin_v9 = {
    .name = kName,
    .init = net_init_v9,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v9_t>,
    .listen = net_listen_v10,
    .connect = net_connect_v9,
    .accept = net_accept,
    .regMr = net_reg_mr,
    .regMrDmaBuf = nullptr,  // host memory only
    .deregMr = net_dereg_mr,
    .isend = net_isend_v9,
    .irecv = net_irecv_v9,
    .iflush = net_iflush,
    .test = net_test,
    .closeSend = net_close_send,
    .closeRecv = net_close_recv,
    .closeListen = net_close_listen,
    .getDeviceMr = nullptr,    // nothing runs on the device
    .irecvConsumed = nullptr,  // likewise
    .makeVDevice = nullptr,    // NICs are not merged
};

const ncclCollNet_v9_t ncclCollNetPlugin_v9 = {
    .name = kName,
    .init = coll_init_v10,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v9_t>,
    .listen = coll_listen_v10,
    .connect = coll_connect,
    .reduceSupport = coll_reduce_support,
    .regMr = coll_reg_mr,
    .regMrDmaBuf = nullptr,  // host memory only
    .deregMr = coll_dereg_mr,
    .iallreduce = coll_iallreduce,
    .iallgather = coll_iallgather,
    .ireducescatter = coll_ireducescatter,
    .iflush = coll_iflush,
    .test = coll_test,
    .closeColl = coll_close,
    .closeListen = coll_close_listen,
    .makeVDevice = nullptr,  // NICs are not merged
};
