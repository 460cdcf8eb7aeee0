// One rank's collnet communicator in an end-to-end test: the built plugin, connected, and collectives driven
// as NCCL's proxy does and checked element by element.
//
// Methods return "" or what went wrong, for the body of a RankProcesses. One thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fanin/dtype.h"
#include "perf/common/coll_comm.h"
#include "perf/common/group.h"
#include "perf/common/plugin.h"
#include "perf/fanin_perf/collnet_engine.h"
#include "perf/fanin_perf/memory.h"
#include "tests/support/process.h"

namespace fanin::test {

class CollnetRank {
 public:
  // Room for collectives of up to this many bytes.
  explicit CollnetRank(size_t capacity = 4 << 20) : capacity_(capacity) {}

  // Loads the plugin and connects. expect_reducers: a null communicator is a failure (else see usable()).
  std::string connect(perf::Group& group, bool expect_reducers = true);
  bool usable() const { return engine_ != nullptr; }

  struct Case {
    Coll coll = Coll::kAllReduce;
    DType type = DType::kF32;
    RedOp op = RedOp::kSum;
    size_t bytes = 1 << 20;
    bool in_place = false;
    uint64_t seed = 0;  // shifts the values
  };
  // One collective on fresh input, every element checked.
  std::string run(const Case& c);
  // All-reduces until one fails; "" and *why on an error, a failure when that takes longer than patience.
  // say_running is called after the first.
  std::string run_until_error(std::chrono::milliseconds patience, const std::function<void()>& say_running,
                              Error* why);
  // Of the result of the last run.
  uint64_t digest() const { return digest_; }
  std::string close();

 private:
  perf::Work work(const Case& c) const;

  size_t capacity_;
  int rank_ = 0, nranks_ = 0;
  std::optional<perf::Plugin> plugin_;  // outlives the engine
  perf::Memory send_, recv_;
  std::unique_ptr<perf::CollnetEngine> engine_;
  uint64_t digest_ = 0;
};

// connect, one collective after the other, close.
std::string run_cases(Rank& rank, const std::vector<CollnetRank::Case>& cases);

}  // namespace fanin::test
