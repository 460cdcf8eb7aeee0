// ABI v8 (NCCL 2.20 - 2.23): v9 with int sizes and no virtual devices.
#include "plugin/abi/older.h"
#include "plugin/abi/tables.h"

using namespace fanin::plugin::abi;

const ncclNet_v8_t ncclNetPlugin_v8 = {
    .name = kName,
    .init = net_init_v9,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v8_t>,
    .listen = net_listen_v10,
    .connect = net_connect_v9,
    .accept = net_accept,
    .regMr = net_reg_mr,
    .regMrDmaBuf = nullptr,  // host memory only
    .deregMr = net_dereg_mr,
    .isend = net_isend_v8,
    .irecv = net_irecv_v8,
    .iflush = net_iflush,
    .test = net_test,
    .closeSend = net_close_send,
    .closeRecv = net_close_recv,
    .closeListen = net_close_listen,
    .getDeviceMr = nullptr,    // nothing runs on the device
    .irecvConsumed = nullptr,  // likewise
};

const ncclCollNet_v8_t ncclCollNetPlugin_v8 = {
    .name = kName,
    .init = coll_init_v10,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v8_t>,
    .listen = coll_listen_v10,
    .connect = coll_connect,
    .reduceSupport = coll_reduce_support,
    .regMr = coll_reg_mr,
    .regMrDmaBuf = nullptr,  // host memory only
    .deregMr = coll_dereg_mr,
    .iallreduce = coll_iallreduce_v8,
    .iallgather = coll_iallgather_v8,
    .ireducescatter = coll_ireducescatter_v8,
    .iflush = coll_iflush,
    .test = coll_test,
    .closeColl = coll_close,
    .closeListen = coll_close_listen,
};
