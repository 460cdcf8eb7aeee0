#include "perf/common/net_link.h"

#include <thread>

#include "perf/common/plugin_log.h"

namespace fanin::perf {

Result<NetContext> NetContext::make(const Plugin& plugin) {
  NetContext c;
  ncclNetCommConfig_v12_t config{-1};
  ncclResult_t rc = plugin.net().init(&c.context_, 0, &config, plugin_logger(), nullptr);
  if (rc != ncclSuccess) return call_failed("init", rc);
  c.table_ = &plugin.net();
  return c;
}

NetLink::NetLink(NetLink&& o) noexcept
    : table_(o.table_),
      send_(std::exchange(o.send_, nullptr)),
      recv_(std::exchange(o.recv_, nullptr)),
      registrations_(std::move(o.registrations_)) {}

Result<NetLink> NetLink::make(const Plugin& plugin, void* context, Group& group,
                              std::chrono::milliseconds patience, int dev) {
  NetLink link(&plugin.net());
  const ncclNet_v12_t& t = *link.table_;
  std::string handle(NCCL_NET_HANDLE_MAXSIZE, '\0');
  void* listener = nullptr;
  ncclResult_t rc = t.listen(context, dev, handle.data(), &listener);
  auto results = group.all_gather_value(static_cast<int>(rc));
  if (rc != ncclSuccess) return call_failed("listen", rc);
  // The listener ends with this function, however it ends.
  struct Closer {
    const ncclNet_v12_t& t;
    void* listener;
    ~Closer() { (void)t.closeListen(listener); }
  } closer{t, listener};
  if (!results) return results.error();
  for (size_t r = 0; r < results->size(); r++)
    if ((*results)[r] != ncclSuccess)
      return Error(Errc::kRemote, "rank " + std::to_string(r) + " could not listen");
  auto handles = group.all_gather(handle);
  if (!handles) return handles.error();
  std::string& next = (*handles)[static_cast<size_t>((group.rank() + 1) % group.size())];

  Deadline deadline = Deadline::after(patience);
  while (!link.send_ || !link.recv_) {
    ncclNetDeviceHandle_v12_t* device = nullptr;
    if (!link.send_ && (rc = t.connect(context, dev, next.data(), &link.send_, &device)) != ncclSuccess)
      return call_failed("connect", rc);
    if (!link.recv_ && (rc = t.accept(listener, &link.recv_, &device)) != ncclSuccess)
      return call_failed("accept", rc);
    if (deadline.passed()) return Error(Errc::kRemote, "the ring did not connect in time");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return link;
}

Result<void*> NetLink::add(void* comm, void* data, size_t bytes) {
  void* mhandle = nullptr;
  ncclResult_t rc = table_->regMr(comm, data, bytes, NCCL_PTR_HOST, &mhandle);
  if (rc != ncclSuccess) return call_failed("regMr", rc);
  registrations_.push_back({comm, mhandle});
  return mhandle;
}

Status NetLink::close() {
  Status first;
  auto note = [&](const char* call, ncclResult_t rc) {
    if (rc != ncclSuccess && first) first = call_failed(call, rc);
  };
  for (Registration& r : registrations_) note("deregMr", table_->deregMr(r.comm, r.mhandle));
  registrations_.clear();
  if (send_) note("closeSend", table_->closeSend(std::exchange(send_, nullptr)));
  if (recv_) note("closeRecv", table_->closeRecv(std::exchange(recv_, nullptr)));
  return first;
}

}  // namespace fanin::perf
