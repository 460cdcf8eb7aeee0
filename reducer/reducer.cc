#include "reducer/reducer.h"

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
  uint64_t least = SessionTable::least_memory(c.lanes, c.block_bytes);
  if (c.memory < least)
    return bad("memory is " + std::to_string(c.memory) + " bytes; a session of two ranks on " +
               std::to_string(c.lanes) + " lanes with blocks of " + std::to_string(c.block_bytes) +
               " bytes needs at least " + std::to_string(least) + "; raise memory or lower lanes");
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
