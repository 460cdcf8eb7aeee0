#include "reducer/reducer.h"

#include <unordered_map>
#include <vector>

#include "fanin/wire.h"
#include "reducer/acceptor.h"
#include "reducer/lane.h"
#include "reducer/session_table.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

using namespace reducer;

class ReducerImpl final : public Reducer {
 public:
  explicit ReducerImpl(const ReducerConfig& config)
      : config_(config),
        table_({config.lanes, config.block_bytes, config.memory, config.max_connections, config.max_sessions,
                config.max_session_memory, config.max_job_memory}),
        secrets_(config.secrets) {}

  Status start() {
    Result<Fd> listener = tcp::listen_on(config_.listen);
    if (!listener) return listener.error();
    Result<tcp::Address> at = tcp::local_address(listener->get());
    if (!at) return at.error();
    address_ = *at;
    for (uint32_t i = 0; i < config_.lanes; ++i) {
      Result<std::unique_ptr<Lane>> lane = Lane::start(config_, table_, i);
      if (!lane) return lane.error();
      lanes_.push_back(*std::move(lane));
    }
    Result<std::unique_ptr<Acceptor>> acceptor =
        Acceptor::start(config_, *std::move(listener), table_, secrets_, [this](Arrival a) {
          Lane& lane = *lanes_[a.lane];
          lane.post(std::move(a));
        });
    if (!acceptor) return acceptor.error();
    acceptor_ = *std::move(acceptor);
    return {};
  }

  tcp::Address address() const override { return address_; }
  void drain() override { table_.drain(); }
  bool wait_drained(Deadline deadline) override { return table_.wait_drained(deadline); }

  void set_secrets(std::vector<NamedSecret> secrets) override {
    if (!secrets.empty()) secrets_.replace(std::move(secrets));
  }

  ReducerStats stats() const override {
    ReducerStats s;
    SessionTable::Counts c = table_.counts();
    s.sessions_open = c.open;
    s.sessions_total = c.total;
    s.connections_open = c.connections;
    s.memory_used = c.memory_used;
    s.draining = c.draining;
    s.sessions_aborted = c.aborted;
    s.guests = acceptor_->counts();
    s.refused = s.guests[GuestEnd::kRefused];
    s.strangers = s.guests.strangers();
    for (auto& lane : lanes_) {
      const LaneCounters& k = lane->counters();
      s.bytes_in += k.bytes_in.load(std::memory_order_relaxed);
      s.bytes_out += k.bytes_out.load(std::memory_order_relaxed);
      s.bytes_reduced += k.bytes_reduced.load(std::memory_order_relaxed);
      s.messages += k.slices.load(std::memory_order_relaxed);
      s.aborted += k.aborted.load(std::memory_order_relaxed);
    }
    return s;
  }

  std::vector<LaneStats> lanes() const override {
    std::vector<LaneStats> out;
    for (auto& lane : lanes_) {
      const LaneCounters& k = lane->counters();
      LaneStats s;
      s.bytes_in = k.bytes_in.load(std::memory_order_relaxed);
      s.bytes_out = k.bytes_out.load(std::memory_order_relaxed);
      s.bytes_reduced = k.bytes_reduced.load(std::memory_order_relaxed);
      s.slices = k.slices.load(std::memory_order_relaxed);
      s.aborted = k.aborted.load(std::memory_order_relaxed);
      s.cpu_seconds = lane->cpu_seconds();
      s.silent = lane->looks().silent();
      out.push_back(s);
    }
    return out;
  }

  std::vector<SessionView> sessions(Deadline deadline) override {
    std::vector<uint64_t> asked;
    for (auto& lane : lanes_) asked.push_back(lane->ask());
    std::vector<SessionView> out = table_.views();
    std::unordered_map<uint64_t, size_t> at;
    for (size_t i = 0; i < out.size(); ++i) at[out[i].serial] = i;
    for (size_t l = 0; l < lanes_.size(); ++l)
      for (LaneLooks::Seen& seen : lanes_[l]->looks().answer(asked[l], deadline))
        if (auto found = at.find(seen.serial); found != at.end())
          out[found->second].lanes.push_back(std::move(seen.view));
    return out;
  }

 private:
  const ReducerConfig config_;
  tcp::Address address_;
  SessionTable table_;
  SecretBook secrets_;
  // Destroyed in reverse: first nobody is let in any more, then the lanes end their sessions.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Acceptor> acceptor_;
};

Status check(const ReducerConfig& c) {
  auto bad = [](std::string text) { return Status(Error(Errc::kInvalidUsage, std::move(text))); };
  if (c.lanes < 1 || c.lanes > wire::kMaxLanes)
    return bad("lanes is " + std::to_string(c.lanes) + "; give 1 to " + std::to_string(wire::kMaxLanes));
  if (c.block_bytes < wire::kMinBlockBytes || c.block_bytes > wire::kMaxBlockBytes || c.block_bytes % 64 != 0)
    return bad("block is " + std::to_string(c.block_bytes) + " bytes; give a multiple of 64 from " +
               std::to_string(wire::kMinBlockBytes) + " to " + std::to_string(wire::kMaxBlockBytes));
  const uint64_t least = SessionTable::least_memory(c.lanes, c.block_bytes);
  auto part = [](uint64_t limit) { return limit == 0 ? UINT64_MAX : limit; };
  const struct {
    const char* name;
    uint64_t bytes;
  } limits[] = {{"memory", c.memory},
                {"max-session-memory", part(c.max_session_memory)},
                {"max-job-memory", part(c.max_job_memory)}};
  for (auto& l : limits)
    if (l.bytes < least)
      return bad(std::string(l.name) + " is " + std::to_string(l.bytes) +
                 " bytes; a session of two ranks on " + std::to_string(c.lanes) + " lanes with blocks of " +
                 std::to_string(c.block_bytes) + " bytes needs at least " + std::to_string(least) +
                 "; raise " + l.name + " or lower lanes");
  return {};
}

}  // namespace

Result<std::unique_ptr<Reducer>> Reducer::start(const ReducerConfig& config) {
  if (Status s = check(config); !s) return s.error();
  auto r = std::make_unique<ReducerImpl>(config);
  if (Status s = r->start(); !s) return s.error();
  return std::unique_ptr<Reducer>(std::move(r));
}

}  // namespace fanin
