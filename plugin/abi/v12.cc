// ABI v12 (NCCL 2.30), the newest: every entry is the implementation itself.
#include "plugin/abi/collnet_calls.h"
#include "plugin/abi/net_calls.h"
#include "plugin/abi/tables.h"

using namespace fanin::plugin::abi;

const ncclNet_v12_t ncclNetPlugin_v12 = {
    .name = kName,
    .init = net_init,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v12_t>,
    .listen = net_listen,
    .connect = net_connect,
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
    .finalize = net_finalize,
    .setNetAttr = nullptr,  // no use for the hints
};

const ncclCollNet_v12_t ncclCollNetPlugin_v12 = {
    .name = kName,
    .init = coll_init,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v12_t>,
    .listen = coll_listen,
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
    .finalize = coll_finalize,
};
