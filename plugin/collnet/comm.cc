#include "plugin/collnet/comm.h"

#include <unistd.h>

#include <algorithm>

#include "plugin/host_name.h"
#include "plugin/log.h"
#include "plugin/stats_file.h"

namespace fanin::plugin::collnet {

Comm::Comm(const CommConfig& config, std::vector<uint32_t> weights)
    : config_(config),
      plan_(std::move(weights), config.min_slice),
      stall_log_("rank " + std::to_string(config.rank) + " of " + std::to_string(config.nranks),
                 config.tuning.stall, config.tuning.timeout),
      requests_(new Request[kMaxRequests]) {
  free_.reserve(kMaxRequests);
  for (uint32_t i = kMaxRequests; i-- > 0;) {
    requests_[i].comm = this;
    free_.push_back(&requests_[i]);
  }
}

std::unique_ptr<Comm> Comm::start(const CommConfig& config, std::vector<LaneConnection> connections,
                                  std::vector<uint32_t> weights) {
  std::unique_ptr<Comm> comm(new Comm(config, std::move(weights)));
  for (LaneConnection& c : connections) comm->lanes_.push_back(std::make_unique<Lane>(std::move(c)));
  if (Status s = comm->start_io(); !s) {
    comm->fail(s.error(), wire::AbortCode::kInternal);
    comm->stop_io();
    for (auto& lane : comm->lanes_)
      lane->close(wire::FrameType::kAbort, wire::AbortCode::kInternal, comm->failure_.error().text());
  }
  return comm;
}

Status Comm::start_io() {
  const size_t n_threads = std::clamp<size_t>(config_.io_threads, 1, std::min(lanes_.size(), kMaxIoThreads));
  for (size_t t = 0; t < n_threads; ++t) {
    std::vector<Lane*> mine;
    for (size_t i = t; i < lanes_.size(); i += n_threads) mine.push_back(lanes_[i].get());
    std::rotate(mine.begin(), mine.begin() + config_.rank % mine.size(), mine.end());
    Result<std::unique_ptr<IoThread>> thread = IoThread::make(*this, std::move(mine), config_.tuning);
    if (!thread) return thread.error();
    threads_.push_back(std::move(*thread));
  }
  // All of them exist before the first runs: fail() walks the list.
  for (size_t t = 0; t < n_threads; ++t) {
    io_running_.fetch_add(1, std::memory_order_relaxed);
    if (Status s = threads_[t]->start(static_cast<int>(t)); !s) {
      io_ended();
      return s;
    }
  }
  return {};
}

Comm::~Comm() {
  stop_io();
  const uint64_t outstanding = kMaxRequests - free_.size();
  const bool clean = !failure_.is_set() &&
                     std::none_of(lanes_.begin(), lanes_.end(), [](auto& l) { return l->outstanding(); });
  const std::string why = "rank " + std::to_string(config_.rank) + " closed its communicator with " +
                          std::to_string(outstanding) + " messages in flight";
  for (auto& lane : lanes_)
    lane->close(clean ? wire::FrameType::kGoodbye : wire::FrameType::kAbort, wire::AbortCode::kRankLeft, why);
  const CommStats stats = this->stats();
  FANIN_INFO(NCCL_INIT | NCCL_NET, "rank %u of %u closed session %s after %.1f s: %s", config_.rank,
             config_.nranks, stats.session.c_str(), static_cast<double>(stats.life.count()) * 1e-9,
             summary_of(stats).c_str());
  if (config_.stats_file.empty()) return;
  const int pid = static_cast<int>(::getpid());
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string host = host_name();
  if (Status s = append_line(stats_path(config_.stats_file, host, pid), json_of(stats, now, host, pid)); !s)
    log_error("FANIN_STATS_FILE", s.error());
}

CommStats Comm::stats() const {
  CommStats s;
  s.session = config_.session;
  s.rank = config_.rank;
  s.nranks = config_.nranks;
  s.life = std::chrono::steady_clock::now() - born_;
  s.messages = messages_;
  s.completed = times_.count();
  s.bytes = bytes_done_.load(std::memory_order_relaxed);
  s.mean = times_.mean();
  s.p50 = times_.quantile(0.5);
  s.p99 = times_.quantile(0.99);
  s.most = times_.most();
  for (const auto& lane : lanes_) {
    auto r = std::find_if(s.reducers.begin(), s.reducers.end(),
                          [&](auto& r) { return r.name == lane->reducer(); });
    if (r == s.reducers.end()) r = s.reducers.insert(r, {lane->reducer(), 0, 0});
    ++r->lanes;
    r->last += lane->ended_last;
  }
  if (failure_.is_set()) s.failure = failure_.error().text();
  return s;
}

void Comm::stop_io() {
  std::lock_guard lock(stop_mutex_);
  for (auto& t : threads_) t->stop();
}

Status Comm::deregister_memory(void* handle) {
  Result<MemoryRegistry::Region> region = memory_.remove(handle);
  if (!region) return region.error();
  const auto used = [&](const Request& r) { return r.uses(region->begin, region->end); };
  if (std::none_of(requests_.get(), requests_.get() + kMaxRequests, used)) return {};
  const std::string why =
      "rank " + std::to_string(config_.rank) + " gave up its communicator with messages in flight";
  if (failure_.set(Error(Errc::kRemote, why), wire::AbortCode::kRankLeft))
    FANIN_INFO(NCCL_NET, "%s (memory they use was deregistered)", why.c_str());
  stop_io();
  for (auto& lane : lanes_) lane->close(wire::FrameType::kAbort, wire::AbortCode::kRankLeft, why);
  return {};
}

Result<Request*> Comm::post(const Op& wanted) {
  if (failure_.is_set()) [[unlikely]] {
    if (over()) return failure_.error();
    return static_cast<Request*>(nullptr);
  }
  const uint64_t busy = outstanding_.load(std::memory_order_relaxed);
  if (free_.empty() || (busy != 0 && busy + wanted.bytes > config_.window))
    return static_cast<Request*>(nullptr);
  Request* r = free_.back();
  free_.pop_back();
  r->op = wanted;
  r->op.message = next_message_++;
  messages_ += wanted.measuring ? 0 : 1;
  r->op.base = bytes_posted_;
  bytes_posted_ += wanted.bytes;
  outstanding_.fetch_add(wanted.bytes, std::memory_order_relaxed);
  // The extra count keeps the request alive until the last slice is posted and, maybe, sent from here.
  r->set_memory();
  r->posted = std::chrono::steady_clock::now();
  r->remaining.store(1, std::memory_order_release);
  if (wanted.bytes > 0) {
    // Threads are woken once all lanes have their slice: one that runs at once would send a whole slice to the first lane.
    uint64_t to_wake = 0;
    plan_.split(r->op.message, wanted.bytes, [&](size_t lane, uint64_t offset, uint64_t length) {
      r->remaining.fetch_add(1, std::memory_order_relaxed);
      Lane& l = *lanes_[lane];
      const bool idle = l.nothing_to_send();
      l.post({r, {offset, offset + length}});
      const bool gone = wanted.bytes <= kInlineBytes && idle && l.try_send() == Lane::SendOutcome::kMoved &&
                        l.nothing_to_send();
      if (!gone) to_wake |= uint64_t{1} << lane % threads_.size();
    });
    for (size_t t = 0; to_wake != 0; ++t, to_wake >>= 1)
      if (to_wake & 1) threads_[t]->wake();
  }
  slice_done(r, nullptr);
  return r;
}

Result<bool> Comm::test(Request* r, size_t* bytes) {
  if (failure_.is_set()) [[unlikely]] {
    if (over()) return failure_.error();
    return false;
  }
  if (r->remaining.load(std::memory_order_acquire) != 0) return false;
  if (bytes) *bytes = r->op.receives({0, r->op.bytes}).size();
  if (!r->op.measuring) [[likely]]
    times_.add(std::chrono::steady_clock::now() - r->posted);
  free_.push_back(r);
  return true;
}

void Comm::slice_done(Request* r, Lane* lane) {
  // The request may be another's once the count is zero.
  const uint64_t bytes = r->op.bytes;
  const bool measuring = r->op.measuring;
  if (r->remaining.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  outstanding_.fetch_sub(bytes, std::memory_order_relaxed);
  if (measuring) return;
  if (lane && plan_.lanes_for(bytes) > 1) ++lane->ended_last;
  bytes_done_.fetch_add(bytes, std::memory_order_relaxed);
}

void Comm::fail(Error error, wire::AbortCode code) {
  Error mine = error.in("rank " + std::to_string(config_.rank) + " of " + std::to_string(config_.nranks));
  if (!failure_.set(mine, code)) return;
  log_error(("session " + config_.session + " lost").c_str(), mine);
  for (auto& t : threads_) t->interrupt();
}

}  // namespace fanin::plugin::collnet
