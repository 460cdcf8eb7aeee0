// The short form of the soak: every kind of fault from fixed seeds, under fanin-perf's engine, and some under the real
// NCCL. One run is one test; a failure prints what everybody said and the command that repeats it.
#include <gtest/gtest.h>

#include <memory>

#include "tests/faults/nccl_trial.h"
#include "tests/faults/pools.h"
#include "tests/faults/trial.h"

namespace fanin::faults {
namespace {

// Made before the first run and used by all, as in a soak. A pool in which a run went wrong is replaced.
struct Ground {
  Network network;
  Pools pools{UINT64_MAX};
};
Ground& ground() {
  static Ground* const g = new Ground;
  return *g;
}

class Environment : public testing::Environment {
  void TearDown() override { EXPECT_EQ(ground().pools.end(), ""); }
};
[[maybe_unused]] testing::Environment* const g_environment =
    testing::AddGlobalTestEnvironment(new Environment);

void expect_good(const Findings& f, bool nccl) {
  std::string bad;
  for (const std::string& b : f.bad) bad += b + "\n";
  EXPECT_EQ(bad, "") << f.scenario.text() << "\n"
                     << f.story << "again: fault-soak -n 1 -s " << f.scenario.seed << " -k "
                     << facts(f.scenario.kind).name << " -N " << (nccl ? 100 : 0) << " -v";
  if (!f.bad.empty()) ground().pools.discard(f.scenario);
}

struct Run {
  Kind kind;
  uint64_t seed;
};
std::string run_name(const testing::TestParamInfo<Run>& info) {
  std::string name = std::string(facts(info.param.kind).name) + "_" + std::to_string(info.param.seed);
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

class Faults : public testing::TestWithParam<Run> {};

TEST_P(Faults, EndWellForEverybodyElse) {
  const Scenario s = draw(GetParam().seed, GetParam().kind);
  if (facts(s.kind).links && !ground().network.links())
    GTEST_SKIP() << "no network namespaces: " << ground().network.why_not();
  const auto once = [&] {
    const Findings f = try_job(s, ground().network, ground().pools.of(s));
    expect_good(f, false);
    return f;
  };
  Findings f = once();
#ifndef FANIN_CHECKED
  // What the design promises; some run finds the machine quiet enough.
  const auto late = [&] {
    return s.visible() && s.moment == Moment::kRun && f.noticed_s >= seconds(kPromise);
  };
  for (int i = 0; i < 4 && late() && !HasFailure(); ++i) f = once();
  EXPECT_FALSE(late()) << s.text() << ": noticed after " << f.noticed_s << " s";
#endif
}

// Each kind once; those that are noticed at once a second time, at another moment.
std::vector<Run> runs() {
  std::vector<Run> out;
  for (Kind k : kinds(true)) {
    out.push_back({k, 1});
    if (!facts(k).silent && !facts(k).links) out.push_back({k, 2});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Perf, Faults, testing::ValuesIn(runs()), run_name);

class NcclFaults : public testing::TestWithParam<Run> {};

TEST_P(NcclFaults, EndWellForEverybodyElse) {
  if (!nccl_built()) GTEST_SKIP() << "no nccl-ranks: it needs NCCL 2.28 and CUDA's headers";
  ground();  // in its network
  Scenario s = draw(GetParam().seed, GetParam().kind);
  ASSERT_TRUE(nccl_allows(s));
  expect_good(try_nccl(s, ground().pools.of(s)), true);
}

// The first seed from there on with which NCCL can be asked.
Run allowed(Kind kind, uint64_t seed) {
  while (!nccl_allows(draw(seed, kind))) ++seed;
  return {kind, seed};
}
INSTANTIATE_TEST_SUITE_P(Nccl, NcclFaults,
                         testing::Values(allowed(Kind::kKillWorker, 3), allowed(Kind::kKillReducer, 1),
                                         allowed(Kind::kRestartReducer, 2), allowed(Kind::kCut, 1),
                                         allowed(Kind::kCrumbs, 1)),
                         run_name);

// As `FANIN_SECRET=… FANIN_CHECKSUM=1 fault-soak` has it.
TEST(FaultsEnvironment, HoldsUnderBothEngines) {
  ground();
  setenv("FANIN_SECRET", "0123456789abcdef-of-the-soak", 1);
  setenv("FANIN_CHECKSUM", "1", 1);
  EXPECT_EQ(ground().pools.end(), "");
  const Scenario cut = draw(1, Kind::kCut);
  expect_good(try_job(cut, ground().network, ground().pools.of(cut)), false);
  if (nccl_built()) {
    const auto run = allowed(Kind::kCut, 1);
    const Scenario s = draw(run.seed, run.kind);
    const Findings f = try_nccl(s, ground().pools.of(s));
    expect_good(f, true);
    EXPECT_GT(f.errors, 0) << "it did not use the reducers: " << f.story;
  }
  unsetenv("FANIN_SECRET");
  unsetenv("FANIN_CHECKSUM");
  EXPECT_EQ(ground().pools.end(), "");
}

}  // namespace
}  // namespace fanin::faults
