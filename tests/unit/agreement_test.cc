// Ranks that do not call alike: whatever differs, in whichever lane it shows, every rank hears both ranks and both values,
// also amid messages in full flight over several reducers.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using cn::Comm;
using cn::Request;
using std::chrono::milliseconds;
using test::CollnetWorld;
using test::each_rank;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using CallOf = std::function<Result<Request*>(Comm*, std::vector<float>&)>;

Result<Request*> all_reduce(Comm* c, std::vector<float>& b, size_t count, DType type = DType::kF32,
                            RedOp op = RedOp::kSum) {
  return cn::iallreduce(c, b.data(), b.data(), count, type, op);
}

// Until it fails; the error.
std::string until_error(Comm* comm, std::vector<float>& buf, const CallOf& call) {
  const auto end = std::chrono::steady_clock::now() + milliseconds(20000);
  while (std::chrono::steady_clock::now() < end) {
    Result<Request*> r = call(comm, buf);
    if (!r) return r.error().text();
    if (!*r) continue;
    if (std::string e = test::wait_for_error(*r, milliseconds(20000)); !e.empty()) return e;
  }
  return "";
}

struct Difference {
  const char* name;
  CallOf odd;           // rank 2's call; the others reduce 20000 floats
  const char* says[2];  // in every rank's error
};

class Agreement : public testing::TestWithParam<Difference> {};

// A few rounds alike, then rank 2 does something else.
TEST_P(Agreement, EveryRankHearsBothRanksAndBothValues) {
  CollnetWorld world(2);
  auto comms = world.connect_all(4);
  each_rank(4, [&](int rank) {
    Comm* comm = comms[static_cast<size_t>(rank)].get();
    std::vector<float> buf(800000, 1);
    int round = 0;
    const std::string e = until_error(comm, buf, [&](Comm* c, std::vector<float>& b) {
      return rank == 2 && round++ >= 5 ? GetParam().odd(c, b) : all_reduce(c, b, 20000);
    });
    EXPECT_TRUE(has(e, "rank 2")) << rank << ": " << e;
    for (const char* part : GetParam().says) EXPECT_TRUE(has(e, part)) << rank << ": " << e;
  });
}

const Difference kDifferences[] = {
    {"Type",
     [](Comm* c, auto& b) { return all_reduce(c, b, 20000, DType::kI32); },
     {"all-reduce float sum of 80000 bytes", "all-reduce int32 sum of 80000 bytes"}},
    {"Operator",
     [](Comm* c, auto& b) { return all_reduce(c, b, 20000, DType::kF32, RedOp::kMax); },
     {"all-reduce float sum of 80000 bytes", "all-reduce float max of 80000 bytes"}},
    {"Less", [](Comm* c, auto& b) { return all_reduce(c, b, 19999); }, {"of 80000 bytes", "of 79996 bytes"}},
    // On one lane only, and on all lanes instead of some.
    {"OneElement", [](Comm* c, auto& b) { return all_reduce(c, b, 1); }, {"of 80000 bytes", "of 4 bytes"}},
    {"MuchMore",
     [](Comm* c, auto& b) { return all_reduce(c, b, 800000); },
     {"of 80000 bytes", "of 3200000 bytes"}},
};
INSTANTIATE_TEST_SUITE_P(All, Agreement, testing::ValuesIn(kDifferences),
                         [](const auto& info) { return std::string(info.param.name); });

// All lanes of all reducers are in mid-slice when one of them finds the difference: the others' connections break off
// amid a frame, and that must not be what a rank is told.
TEST(AgreementInFlight, TheCauseWinsOverItsConsequences) {
  for (int round = 0; round < 5; ++round) {
    CollnetWorld world(2);
    auto comms = world.connect_all(4);
    each_rank(4, [&](int rank) {
      Comm* comm = comms[static_cast<size_t>(rank)].get();
      std::vector<std::vector<float>> bufs(4, std::vector<float>(1 << 19, 1));
      Request* last = nullptr;
      std::string e;
      for (size_t m = 0; m < bufs.size() && e.empty();) {
        const RedOp op = rank == 3 && m == 2 ? RedOp::kMin : RedOp::kSum;
        Result<Request*> r = all_reduce(comm, bufs[m], 1 << 19, DType::kF32, op);
        if (!r) e = r.error().text();
        if (r && *r) last = *r, ++m;
      }
      if (e.empty()) e = test::wait_for_error(last, milliseconds(20000));
      EXPECT_TRUE(has(e, "rank 3 sent") && has(e, "float min of") && has(e, "float sum of"))
          << rank << ": " << e;
    });
  }
}

}  // namespace
}  // namespace fanin
