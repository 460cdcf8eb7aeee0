#include "plugin/collnet/collnet.h"

#include <cstring>

#include "plugin/collnet/comm.h"
#include "plugin/collnet/connect.h"

namespace fanin::plugin::collnet {
namespace {

static_assert(sizeof(Handle) == kHandleBytes);

Error invalid(std::string what) { return Error(Errc::kInvalidArgument, std::move(what)); }

// The window and this rank's part of it, of an all-gather or reduce-scatter.
Result<Op> windowed(const Comm& comm, Coll coll, const Window& w) {
  const uint64_t total = static_cast<uint64_t>(w.bytes_per_rank) * comm.nranks();
  if (w.bytes_per_rank > wire::kMaxMessageBytes || w.offset > total || w.bytes > total - w.offset)
    return invalid(std::string(coll_name(coll)) + ": window of " + std::to_string(w.bytes) + " bytes at " +
                   std::to_string(w.offset) + " is not within " + std::to_string(comm.nranks()) + " ranks' " +
                   std::to_string(w.bytes_per_rank) + " bytes");
  Op op;
  op.coll = coll;
  op.bytes = w.bytes;
  op.bytes_per_rank = w.bytes_per_rank;
  op.window_offset = w.offset;
  const uint64_t begin = w.bytes_per_rank * comm.rank();
  const Range own = Range{w.offset, w.offset + w.bytes}.cut({begin, begin + w.bytes_per_rank});
  op.own = {own.begin - w.offset, own.end - w.offset};
  return op;
}

bool known(DType type, RedOp op) {
  return dtype_size(type) != 0 && static_cast<unsigned>(op) < static_cast<unsigned>(kNumRedOps);
}

}  // namespace

Result<Listener*> listen(int dev, void* handle) {
  Result<std::span<const NetDevice>> devices = net_devices();
  if (!devices) return devices.error();
  if (dev < 0 || static_cast<size_t>(dev) >= devices->size())
    return invalid("device " + std::to_string(dev) + " of " + std::to_string(devices->size()));
  Handle h;
  Result<std::unique_ptr<Listener>> l =
      open_listener(options(), (*devices)[static_cast<size_t>(dev)], h, *devices);
  if (!l) return l.error();
  memcpy(handle, &h, sizeof h);
  return l->release();
}

Result<Comm*> connect(void* const* handles, int nranks, int rank, Listener* listener) {
  Result<std::unique_ptr<Comm>> comm = connect_session(options(), handles, nranks, rank, *listener);
  if (!comm) return comm.error();
  return comm->release();
}

bool reduce_supported(int nccl_type, int nccl_op) {
  return nccl_type >= 0 && nccl_type < kNumDTypes && nccl_op >= 0 && nccl_op < kNumRedOps;
}

Result<void*> register_memory(Comm* comm, const void* data, size_t bytes, int ptr_type) {
  return comm->register_memory(data, bytes, ptr_type);
}

Status deregister_memory(Comm* comm, void* handle) { return comm->deregister_memory(handle); }

Result<Request*> iallreduce(Comm* comm, const void* send, void* recv, size_t count, DType type, RedOp redop) {
  if (!known(type, redop)) return invalid("all-reduce of an unknown type or operator");
  if (count > wire::kMaxMessageBytes / dtype_size(type)) return invalid("all-reduce above 1 TiB");
  Op op;
  op.coll = Coll::kAllReduce;
  op.dtype = type;
  op.redop = redop;
  op.bytes = count * dtype_size(type);
  op.own = {0, op.bytes};
  op.send = static_cast<const std::byte*>(send);
  op.recv = static_cast<std::byte*>(recv);
  return comm->post(op);
}

Result<Request*> iallgather(Comm* comm, const void* send, const Part& recv, const Window& window) {
  Result<Op> op = windowed(*comm, Coll::kAllGather, window);
  if (!op) return op.error();
  if (recv.bytes < window.bytes) return invalid("all-gather: the receive part is smaller than the window");
  op->send = static_cast<const std::byte*>(send);
  op->recv = static_cast<std::byte*>(recv.address);
  return comm->post(*op);
}

Result<Request*> ireducescatter(Comm* comm, const Part& send, void* recv, const Window& window, DType type,
                                RedOp redop) {
  if (!known(type, redop)) return invalid("reduce-scatter of an unknown type or operator");
  Result<Op> op = windowed(*comm, Coll::kReduceScatter, window);
  if (!op) return op.error();
  if (send.bytes < window.bytes) return invalid("reduce-scatter: the send part is smaller than the window");
  const size_t element = dtype_size(type);
  if (window.bytes % element != 0 || window.offset % element != 0 || window.bytes_per_rank % element != 0)
    return invalid("reduce-scatter: the window cuts an element");
  op->dtype = type;
  op->redop = redop;
  op->send = static_cast<const std::byte*>(send.address);
  op->recv = static_cast<std::byte*>(recv);
  return comm->post(*op);
}

Result<Request*> iflush(Comm*) { return static_cast<Request*>(nullptr); }

Result<bool> test(Request* request, size_t* bytes) { return request->comm->test(request, bytes); }

Status close(Comm* comm) {
  delete comm;
  return {};
}

Status close_listener(Listener* listener) {
  delete listener;
  return {};
}

}  // namespace fanin::plugin::collnet
