#include "plugin/collnet/probe.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace fanin::plugin::collnet {
namespace {

using Clock = std::chrono::steady_clock;

// As NCCL does it: at most 8 messages in flight, here of 512 KiB. The first of each kind find cold caches and TCP's small windows.
constexpr int kInFlight = 8, kTimes = 9, kRounds = 3;
constexpr size_t kSmall = 256, kChunk = 32 << 10, kLarge = 512 << 10;

class Prober {
 public:
  Prober(Comm& comm, Deadline deadline)
      : comm_(comm), deadline_(deadline), buffer_(std::make_unique<std::byte[]>(kInFlight * kLarge)) {}

  // Microseconds from the first posted to the last done; null when the session is over, or no buffer is in use any more.
  std::optional<double> run(size_t bytes, int messages) {
    const Clock::time_point start = Clock::now();
    std::vector<Request*> posted;
    posted.reserve(static_cast<size_t>(messages));
    while (static_cast<int>(posted.size()) < messages) {
      Op op;
      op.coll = Coll::kAllReduce;
      op.dtype = DType::kF32;
      op.bytes = bytes;
      op.own = {0, bytes};
      op.recv = buffer_.get() + posted.size() * kLarge;
      op.send = op.recv;
      Result<Request*> request = comm_.post(op);
      if (!request) return std::nullopt;
      if (*request)
        posted.push_back(*request);
      else
        wait();
    }
    for (Request* request : posted)
      for (;;) {
        const Result<bool> done = comm_.test(request, nullptr);
        if (!done) return std::nullopt;
        if (*done) break;
        wait();
      }
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

  std::optional<double> median(size_t bytes) {
    std::vector<double> times;
    for (int i = 0; i < kTimes; ++i) {
      const std::optional<double> t = run(bytes, 1);
      if (!t) return std::nullopt;
      times.push_back(*t);
    }
    std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
    return times[kTimes / 2];
  }

  std::optional<double> least(size_t bytes, int messages) {
    std::optional<double> best;
    for (int i = 0; i < kRounds; ++i) {
      const std::optional<double> t = run(bytes, messages);
      if (!t) return std::nullopt;
      best = std::min(best.value_or(*t), *t);
    }
    return best;
  }

 private:
  // Messages cannot be taken back, so that giving up is the end of the session, for all its ranks.
  void wait() {
    if (deadline_.passed() && !comm_.failure().is_set())
      comm_.fail(Error(Errc::kRemote,
                       "the reducers were too slow in measuring the pool (FANIN_TUNER=0: not measured)"),
                 wire::AbortCode::kTimeout);
    std::this_thread::yield();
  }

  Comm& comm_;
  const Deadline deadline_;
  const std::unique_ptr<std::byte[]> buffer_;  // zeroed
};

}  // namespace

wire::PoolFigures figures_of(double small_us, double chunk_us, double pool_rate, size_t reducers,
                             uint32_t nranks, int nic_mbps) {
  // k reducers with links like the workers' let n workers have k/n of a link.
  const double share = std::min(1.0, static_cast<double>(reducers) / nranks);
  double link = pool_rate / share;
  link = std::max(link, nic_mbps / 8.0 * 0.95);  // Mbit/s to bytes per microsecond, less headers
  return {static_cast<float>(small_us), static_cast<float>(std::max(small_us, chunk_us)),
          static_cast<float>(pool_rate), static_cast<float>(link)};
}

std::optional<wire::PoolFigures> probe(Comm& comm, size_t reducers, int nic_mbps, Deadline deadline) {
  Prober p(comm, deadline);
  const std::optional<double> small = p.median(kSmall);
  const std::optional<double> chunk = small ? p.median(kChunk) : std::nullopt;
  const std::optional<double> large = chunk ? p.least(kLarge, kInFlight) : std::nullopt;
  if (!large) return std::nullopt;
  const double rate = static_cast<double>(kInFlight * kLarge) / std::max(*large - *small, *large / 10);
  return figures_of(*small, *chunk, rate, reducers, comm.nranks(), nic_mbps);
}

}  // namespace fanin::plugin::collnet
