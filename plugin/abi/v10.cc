// ABI v10 (NCCL 2.26, 2.27): v11 with one init per process instead of one per communicator.
#include "plugin/abi/older.h"
#include "plugin/abi/tables.h"

using namespace fanin::plugin::abi;

const ncclNet_v10_t ncclNetPlugin_v10 = {
    .name = kName,
    .init = net_init_v10,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v10_t>,
    .listen = net_listen_v10,
    .connect = net_connect_v10,
    .accept = net_accept,
    .regMr = net_reg_mr,
    .regMrDmaBuf = nullptr,  // host memory only
    .deregMr = net_dereg_mr,
    .isend = net_isend,
    .irecv = net_irecv,
    .iflush = net_iflush,
    .test = net_test,
    .closeSend = net_close_send,
    .closeRecv = net_close_recv,
    .closeListen = net_close_listen,
    .getDeviceMr = nullptr,    // nothing runs on the device
    .irecvConsumed = nullptr,  // likewise
    .makeVDevice = nullptr,    // NICs are not merged
};

const ncclCollNet_v10_t ncclCollNetPlugin_v10 = {
    .name = kName,
    .init = coll_init_v10,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v10_t>,
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
