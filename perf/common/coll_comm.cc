#include "perf/common/coll_comm.h"

#include "perf/common/plugin_log.h"

namespace fanin::perf {

CollComm::CollComm(CollComm&& o) noexcept
    : table_(o.table_),
      context_(std::exchange(o.context_, nullptr)),
      comm_(std::exchange(o.comm_, nullptr)),
      initialized_(std::exchange(o.initialized_, false)),
      mhandles_(std::move(o.mhandles_)) {}

Result<CollComm> CollComm::make(const Plugin& plugin, Group& group, int dev) {
  CollComm c(&plugin.collnet());
  const ncclCollNet_v12_t& t = *c.table_;
  int devices = 0;
  const char* call = "init";
  ncclResult_t rc = t.init(&c.context_, 0, plugin_logger());
  c.initialized_ = rc == ncclSuccess;
  if (rc == ncclSuccess) call = "devices", rc = t.devices(&devices);
  if (rc == ncclSuccess && dev >= devices)
    return Error(Errc::kInvalidUsage,
                 "the plugin has " + std::to_string(devices) + " devices, no device " + std::to_string(dev));
  std::string handle(NCCL_NET_HANDLE_MAXSIZE, '\0');
  void* listener = nullptr;
  if (rc == ncclSuccess) call = "listen", rc = t.listen(c.context_, dev, handle.data(), &listener);

  // Whatever ends this before connect leaves no listener behind.
  auto given_up = [&](Error why) {
    if (listener) (void)t.closeListen(listener);
    return why;
  };
  // A rank whose listen failed still takes part in the exchange, so that nobody waits for it in connect.
  auto results = group.all_gather_value(static_cast<int>(rc));
  if (rc != ncclSuccess) return call_failed(call, rc);
  if (!results) return given_up(results.error());
  for (size_t r = 0; r < results->size(); r++)
    if ((*results)[r] != ncclSuccess)
      return given_up(Error(Errc::kRemote, "rank " + std::to_string(r) + " could not listen"));
  auto handles = group.all_gather(handle);
  if (!handles) return given_up(handles.error());
  std::vector<void*> pointers;
  for (std::string& h : *handles) pointers.push_back(h.data());
  rc = t.connect(pointers.data(), group.size(), group.rank(), listener, &c.comm_);
  ncclResult_t closed = t.closeListen(listener);
  if (rc != ncclSuccess) return call_failed("connect", rc);
  if (closed != ncclSuccess) return call_failed("closeListen", closed);
  return c;
}

Result<void*> CollComm::register_memory(void* data, size_t bytes) {
  void* mhandle = nullptr;
  ncclResult_t rc = table_->regMr(comm_, data, bytes, NCCL_PTR_HOST, &mhandle);
  if (rc != ncclSuccess) return call_failed("regMr", rc);
  mhandles_.push_back(mhandle);
  return mhandle;
}

Status CollComm::close() {
  Status first;
  auto note = [&](const char* call, ncclResult_t rc) {
    if (rc != ncclSuccess && first) first = call_failed(call, rc);
  };
  if (comm_) {
    for (void* m : mhandles_) note("deregMr", table_->deregMr(comm_, m));
    note("closeColl", table_->closeColl(std::exchange(comm_, nullptr)));
  }
  mhandles_.clear();
  if (std::exchange(initialized_, false))
    note("finalize", table_->finalize(std::exchange(context_, nullptr)));
  return first;
}

}  // namespace fanin::perf
