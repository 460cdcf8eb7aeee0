// A ring over the plugin's point-to-point network through its C ABI: what a job without reducers gets, as the
// yardstick.
//
// One ring of connections per channel, all driven by one progress thread; up to kInFlight messages a channel
// each way, received chunks are reduced by the CPU as they come (in a job, the GPU does that). Contract:
// work.h.
#pragma once
#include <memory>
#include <vector>

#include "perf/common/backoff.h"
#include "perf/common/net_link.h"
#include "perf/fanin_perf/work.h"

namespace fanin::perf {

class RingEngine final : public Engine {
 public:
  static constexpr size_t kInFlight = 8;  // messages per channel and direction, as NCCL_STEPS

  // Connects `channels` rings; collective over the group.
  static Result<std::unique_ptr<Engine>> make(const Plugin& plugin, Group& group, size_t channels,
                                              bool crowded, std::chrono::milliseconds patience);
  ~RingEngine() override;
  size_t touched_bytes(size_t bytes) const override { return bytes; }
  Status attach(const Regions& regions) override;
  Status run(const Work& work, std::chrono::milliseconds patience) override;
  Status close() override;

 private:
  struct Channel;
  RingEngine(NetContext context, int rank, int nranks, bool crowded);
  // One round over a channel; *idle becomes false when something moved.
  Status progress(Channel& channel, const Work& work, bool* idle);

  NetContext context_;  // outlives the channels' links
  size_t rank_, nranks_;
  Backoff backoff_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace fanin::perf
