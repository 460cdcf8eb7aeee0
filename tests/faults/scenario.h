// One run of the driver, drawn from a seed: the job, the fault, when and where it strikes.
//
// Everything the driver chooses is here, so that the same seed and kind repeat the run as far as processes and
// their scheduling can be repeated. Plain value.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "fanin/dtype.h"
#include "tests/faults/kind.h"

namespace fanin::faults {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Silence after which a session fails, in the driver's pools and jobs, and what is a hang. The reducer's comes first, since it
// knows which rank is late; both are long against what a loaded machine may delay a process.
struct Patience {
  milliseconds reducer, worker;
  milliseconds round;  // in a round of the job: longer than both, one after the other
  milliseconds hang;   // from the fault on
};
// Time-outs end the silent faults; pauses are short against them.
inline constexpr Patience kShort{milliseconds(2000), milliseconds(3000), milliseconds(30000),
                                 milliseconds(25000)};
// Where a connection visibly ends: who waited for a time-out instead is far too late.
inline constexpr Patience kLong{milliseconds(22000), milliseconds(25000), milliseconds(40000),
                                milliseconds(45000)};
inline constexpr milliseconds kConnectTimeout{4000};

inline constexpr int kReducers =
    2;  // the last one may be the victim, the first serves the bystander throughout
inline constexpr unsigned kLanes = 2;
inline constexpr int kMaxRanks = 4;

// Which direction of a worker's traffic.
enum class Flow : uint8_t { kUp, kDown };  // to the reducer, from the reducer

struct Scenario {
  uint64_t seed = 0;
  Kind kind = Kind::kKillWorker;
  Moment moment = Moment::kRun;
  microseconds wait{0};     // from the moment's beginning to the fault
  milliseconds lasts{0};    // of what ends by itself (pauses)
  bool proxied = false;     // traffic goes through the relay, also when the fault is elsewhere
  int victim = 0;           // the rank, where one is hit
  uint32_t connection = 0;  // which one is hit, modulo how many there are
  Flow flow = Flow::kUp;
  uint64_t at_byte =
      0;  // relay faults: of the connection from its start (connect) or from the order on (else)
  microseconds delay{0};
  // The job.
  int nranks = 2;
  size_t channels = 1;
  Coll coll = Coll::kAllReduce;
  DType type = DType::kF32;
  size_t bytes = 0;

  bool has_rank_victim() const;
  bool has_reducer_victim() const;
  // The job ends of it, and a connection ends with it.
  bool visible() const { return facts(kind).disturbs && !facts(kind).silent; }
  const Patience& patience() const { return visible() ? kLong : kShort; }
  std::string text() const;
};

Scenario draw(uint64_t seed, Kind kind);
// The kind of this seed among those.
Kind draw_kind(uint64_t seed, const std::vector<Kind>& among);

}  // namespace fanin::faults
