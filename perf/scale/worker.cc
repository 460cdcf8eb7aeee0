#include "perf/scale/worker.h"

#include <string>
#include <utility>

#include "perf/common/plugin_log.h"

namespace fanin::perf {

ScaleRank::ScaleRank(ScaleRank&& o) noexcept
    : table_(o.table_),
      rank_(o.rank_),
      context_(std::exchange(o.context_, nullptr)),
      listener_(std::exchange(o.listener_, nullptr)),
      comm_(std::exchange(o.comm_, nullptr)) {}

ScaleRank::~ScaleRank() {
  if (comm_) {
    if (send_mhandle_) table_->deregMr(comm_, send_mhandle_);
    if (recv_mhandle_) table_->deregMr(comm_, recv_mhandle_);
    table_->closeColl(comm_);
  }
  if (listener_) table_->closeListen(listener_);
  if (context_) table_->finalize(context_);
}

Status ScaleRank::listen(char* handle) {
  int devices = 0;
  if (ncclResult_t rc = table_->init(&context_, 0, plugin_logger()); rc != ncclSuccess)
    return call_failed("init", rc);
  if (ncclResult_t rc = table_->devices(&devices); rc != ncclSuccess) return call_failed("devices", rc);
  if (devices < 1) return Error(Errc::kInvalidUsage, "the plugin found no network interface");
  if (ncclResult_t rc = table_->listen(context_, 0, handle, &listener_); rc != ncclSuccess)
    return call_failed("listen", rc);
  return {};
}

Status ScaleRank::connect(const std::vector<void*>& handles) {
  ncclResult_t rc = table_->connect(const_cast<void**>(handles.data()), static_cast<int>(handles.size()),
                                    static_cast<int>(rank_), listener_, &comm_);
  if (rc != ncclSuccess) return call_failed("connect", rc);
  if (!comm_) return Error(Errc::kInvalidUsage, "the reducer cannot be used: " + last_plugin_line());
  return {};
}

Status ScaleRank::attach(void* send, void* recv, size_t bytes) {
  send_ = send, recv_ = static_cast<std::byte*>(recv), bytes_ = bytes;
  if (ncclResult_t rc = table_->regMr(comm_, send, bytes, NCCL_PTR_HOST, &send_mhandle_); rc != ncclSuccess)
    return call_failed("regMr", rc);
  if (ncclResult_t rc = table_->regMr(comm_, recv, kInFlight * bytes, NCCL_PTR_HOST, &recv_mhandle_);
      rc != ncclSuccess)
    return call_failed("regMr", rc);
  return {};
}

Status ScaleRank::progress(bool* moved) {
  while (posted_ < wanted_ && posted_ < done_ + kInFlight) {
    void*& request = requests_[posted_ % kInFlight];
    request = nullptr;
    std::byte* recv = recv_ + posted_ % kInFlight * bytes_;
    ncclResult_t rc = table_->iallreduce(comm_, send_, recv, bytes_ / sizeof(float), ncclFloat32, ncclSum,
                                         send_mhandle_, recv_mhandle_, &request);
    if (rc != ncclSuccess) return call_failed("iallreduce", rc);
    blocked_ = !request;
    if (blocked_) break;
    posted_++;
    *moved = true;
  }
  while (done_ < posted_) {
    int done = 0, size = 0;
    if (ncclResult_t rc = table_->test(requests_[done_ % kInFlight], &done, &size); rc != ncclSuccess)
      return call_failed("test", rc);
    if (!done) break;
    done_++;
    *moved = true;
  }
  return {};
}

}  // namespace fanin::perf
