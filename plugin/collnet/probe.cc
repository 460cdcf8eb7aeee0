#include "plugin/collnet/probe.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace fanin::plugin::collnet {
namespace {

using Clock = std::chrono::steady_clock;

// As NCCL does it: at most 8 messages in flight, here of 512 KiB. The first of each kind find cold caches and TCP's small windows.
constexpr int kInFlight = 8, kTimes = 9, kRounds = 3;
constexpr size_t kSmall = 256, kChunk = 32 << 10, kLarge = 512 << 10;
// Where links are so slow, or ranks so many, that 32 KiB take this long, one large message says as much as 8; and no more rounds
// follow one that took so long.
constexpr double kSlowChunk = 20e3, kLongRound = 300e3;

class Prober {
 public:
  Prober(Comm& comm, Deadline deadline)
      : comm_(comm), deadline_(deadline), buffer_(std::make_unique<std::byte[]>(kInFlight * kLarge)) {}

  // Microseconds from the first posted to the last done, the least of so many times until one takes as long as `enough`: what
  // disturbs a host while jobs start makes messages slower, never faster. Null when the session is over.
  std::optional<double> least(size_t bytes, int messages, int times, std::optional<double> enough = {}) {
    std::optional<double> best;
    for (int i = 0; i < times; ++i) {
      const std::optional<double> t = run(bytes, messages);
      if (!t) return std::nullopt;
      best = std::min(best.value_or(*t), *t);
      if (!enough || i + 1 == times) continue;
      const std::optional<double> longest = longest_of_all(*t);
      if (!longest) return std::nullopt;
      if (*longest >= *enough) break;
    }
    return best;
  }

  // The same on all ranks, so that they do the same after it.
  std::optional<double> longest_of_all(double us) {
    float longest = static_cast<float>(us);
    memcpy(buffer_.get(), &longest, sizeof longest);
    if (!run(sizeof longest, 1, RedOp::kMax)) return std::nullopt;
    memcpy(&longest, buffer_.get(), sizeof longest);
    memset(buffer_.get(), 0, sizeof longest);
    return longest;
  }

 private:
  // Null: the session is over; else no buffer is in use any more.
  std::optional<double> run(size_t bytes, int messages, RedOp redop = RedOp::kSum) {
    const Clock::time_point start = Clock::now();
    std::vector<Request*> posted;
    posted.reserve(static_cast<size_t>(messages));
    while (static_cast<int>(posted.size()) < messages) {
      Op op;
      op.coll = Coll::kAllReduce;
      op.dtype = DType::kF32;
      op.redop = redop;
      op.bytes = bytes;
      op.own = {0, bytes};
      op.measuring = true;
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
  const std::optional<double> small = p.least(kSmall, 1, kTimes);
  const std::optional<double> chunk = small ? p.least(kChunk, 1, kTimes) : std::nullopt;
  const std::optional<double> slowest = chunk ? p.longest_of_all(*chunk) : std::nullopt;
  if (!slowest) return std::nullopt;
  const int messages = *slowest < kSlowChunk ? kInFlight : 1;
  const std::optional<double> large = p.least(kLarge, messages, kRounds, kLongRound);
  if (!large) return std::nullopt;
  const double rate =
      static_cast<double>(messages) * static_cast<double>(kLarge) / std::max(*large - *small, *large / 10);
  return figures_of(*small, *chunk, rate, reducers, comm.nranks(), nic_mbps);
}

}  // namespace fanin::plugin::collnet
