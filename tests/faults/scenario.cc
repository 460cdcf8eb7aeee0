#include "tests/faults/scenario.h"

#include <array>
#include <cstdio>

#include "tests/faults/dice.h"

namespace fanin::faults {
namespace {

// Connecting takes some 10 ms on loopback, with the relay's and scheduling delays up to 100; a round of the job
// a few; closing less than one.
microseconds draw_wait(Dice& dice, Moment moment) {
  switch (moment) {
    case Moment::kConnect:
      return microseconds(dice.octaves(100, 60'000));
    case Moment::kRun:
      return microseconds(dice.octaves(1'000, 150'000));
    case Moment::kClose:
      return microseconds(dice.octaves(10, 3'000));
  }
  return {};
}

}  // namespace

bool Scenario::has_rank_victim() const {
  switch (kind) {
    case Kind::kKillWorker:
    case Kind::kExitWorker:
    case Kind::kAbortWorker:
    case Kind::kStopWorker:
    case Kind::kPauseWorker:
    case Kind::kShutSocket:
      return true;
    default:
      return facts(kind).links;
  }
}

bool Scenario::has_reducer_victim() const {
  switch (kind) {
    case Kind::kKillReducer:
    case Kind::kRestartReducer:
    case Kind::kStopReducer:
    case Kind::kPauseReducer:
    case Kind::kDrainReducer:
      return true;
    default:
      return false;
  }
}

Kind draw_kind(uint64_t seed, const std::vector<Kind>& among) {
  return among[Dice(seed ^ 0x6b696e64).below(among.size())];
}

Scenario draw(uint64_t seed, Kind kind) {
  Dice dice(seed * 64 + static_cast<uint64_t>(kind));
  Scenario s;
  s.seed = seed;
  s.kind = kind;
  const uint64_t moment = dice.below(100);
  s.moment = moment < 35 ? Moment::kConnect : moment < 80 ? Moment::kRun : Moment::kClose;
  // These two are orders to a rank that runs.
  if (kind == Kind::kAbortWorker || (kind == Kind::kShutSocket && s.moment == Moment::kClose))
    s.moment = Moment::kRun;
  s.wait = draw_wait(dice, s.moment);
  s.lasts = milliseconds(dice.between(20, 500));
  s.proxied = facts(kind).proxied || (!facts(kind).links && dice.chance(25));
  s.nranks = static_cast<int>(dice.between(2, kMaxRanks));
  s.victim = static_cast<int>(dice.below(static_cast<uint64_t>(s.nranks)));
  s.connection = static_cast<uint32_t>(dice.below(1 << 20));
  s.flow = dice.chance(50) ? Flow::kUp : Flow::kDown;
  // A handshake is 48 bytes or a few more each way.
  s.at_byte = s.moment == Moment::kConnect ? dice.below(200) : dice.octaves(1, 1 << 20) - 1;
  s.delay = microseconds(dice.octaves(100, 20'000));
  s.channels = kind == Kind::kAbortWorker || dice.chance(50) ? 1 : 10;
  s.coll =
      std::array{Coll::kAllReduce, Coll::kAllReduce, Coll::kAllGather, Coll::kReduceScatter}[dice.below(4)];
  if (kind == Kind::kAbortWorker) s.coll = Coll::kAllReduce;
  s.type = std::array{DType::kF32, DType::kBF16, DType::kI32, DType::kF16}[dice.below(4)];
  s.bytes = dice.octaves(4096, 3 << 20);
  // Small pieces are slow: as many of them as keep the run short.
  if (kind == Kind::kCrumbs || kind == Kind::kDelay) s.bytes = dice.octaves(1024, 64 << 10);
  s.bytes -= s.bytes % (static_cast<size_t>(s.nranks) * 8);
  return s;
}

std::string Scenario::text() const {
  char text[300];
  snprintf(text, sizeof text,
           "seed %llu: %s during %s after %.2f ms%s; %d ranks, %s of %zu bytes of %s over %zu channels%s",
           static_cast<unsigned long long>(seed), facts(kind).name, moment_name(moment),
           static_cast<double>(wait.count()) / 1000,
           has_rank_victim() ? (", rank " + std::to_string(victim)).c_str()
           : has_reducer_victim()
               ? ", last reducer"
               : (", connection " + std::to_string(connection) + (flow == Flow::kUp ? " up" : " down") +
                  " at byte " + std::to_string(at_byte))
                     .c_str(),
           nranks, coll_name(coll), bytes, dtype_name(type), channels, proxied ? ", relayed" : "");
  return text;
}

}  // namespace fanin::faults
