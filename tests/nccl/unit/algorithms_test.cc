#include <tuple>

#include "tests/nccl/unit/fabric.h"

namespace cpudev::test {
namespace {

int32_t value(int rank, size_t i) {
  return static_cast<int32_t>(i * 7 + static_cast<size_t>(rank) * 1000003);
}

// Ranks, protocol, elements.
class Algorithms : public testing::TestWithParam<std::tuple<int, int, size_t>> {
 protected:
  int n = std::get<0>(GetParam()), proto = std::get<1>(GetParam());
  size_t count = std::get<2>(GetParam()), ranks = static_cast<size_t>(n);
  std::vector<std::vector<int32_t>> in, out;

  void run(int coll, int algo, size_t in_count, size_t out_count, size_t per_channel, int root = 0) {
    Fabric fabric(n);
    in.assign(ranks, std::vector<int32_t>(in_count));
    out.assign(ranks, std::vector<int32_t>(out_count, -1));
    for (size_t r = 0; r < ranks; r++)
      for (size_t i = 0; i < in_count; i++) in[r][i] = value(static_cast<int>(r), i);
    const bool bytes = coll == kAllGather || coll == kBroadcast;  // NCCL moves bytes there
    for (int round = 0; round < 3; round++)                       // steps go on from one call to the next
      fabric.run(
          {coll, kSum, bytes ? kI8 : kI32, algo, proto}, per_channel * (bytes ? 4 : 1), 0, root,
          [&](int r) { return in[static_cast<size_t>(r)].data(); },
          [&](int r) { return out[static_cast<size_t>(r)].data(); });
  }
  int32_t sum(size_t i) const {
    uint32_t s = 0;
    for (size_t r = 0; r < ranks; r++) s += static_cast<uint32_t>(value(static_cast<int>(r), i));
    return static_cast<int32_t>(s);
  }
};
INSTANTIATE_TEST_SUITE_P(, Algorithms,
                         testing::Combine(testing::Values(2, 3, 5),
                                          testing::Values(abi::kProtoLL, abi::kProtoSimple),
                                          testing::Values(size_t{1}, size_t{1000}, size_t{40000})));

TEST_P(Algorithms, AllReduce) {
  for (int algo : {kRing, kTree}) {
    run(kAllReduce, algo, count, count, count);
    for (size_t r = 0; r < ranks; r++)
      for (size_t i = 0; i < count; i++)
        ASSERT_EQ(out[r][i], sum(i)) << "algorithm " << algo << " rank " << r << " at " << i;
  }
}

TEST_P(Algorithms, AllGather) {
  run(kAllGather, kRing, count, count * ranks, count);
  for (size_t r = 0; r < ranks; r++)
    for (size_t i = 0; i < count * ranks; i++)
      ASSERT_EQ(out[r][i], value(static_cast<int>(i / count), i % count));
}

TEST_P(Algorithms, ReduceScatter) {
  run(kReduceScatter, kRing, count * ranks, count, count);
  for (size_t r = 0; r < ranks; r++)
    for (size_t i = 0; i < count; i++) ASSERT_EQ(out[r][i], sum(r * count + i));
}

TEST_P(Algorithms, BroadcastAndReduce) {
  const int root = n - 1;
  run(kBroadcast, kRing, count, count, count, root);
  for (size_t r = 0; r < ranks; r++)
    for (size_t i = 0; i < count; i++) ASSERT_EQ(out[r][i], value(root, i));
  run(kReduce, kRing, count, count, count, root);
  for (size_t i = 0; i < count; i++) ASSERT_EQ(out[static_cast<size_t>(root)][i], sum(i));
  EXPECT_EQ(out[0][0], -1) << "only the root has a result";
}

TEST(Build, RefusesWhatIsNotWritten) {
  Work w{};
  Groups groups;
  w.function = {kAllReduce, kSum, kF32, kNvls, abi::kProtoSimple};
  EXPECT_FALSE(build_collective(w, &groups));
  w.function = {kAllReduce, kSum, kF32, kRing, 1};  // LL128
  EXPECT_FALSE(build_collective(w, &groups));
  w.function = {kAllReduce, kSumPostDiv, kF32, kRing, abi::kProtoSimple};
  EXPECT_FALSE(build_collective(w, &groups));
  w.function = {kAllReduce, kSum, kF32, kRing, abi::kProtoSimple};
  w.args.reg_used = 1;
  EXPECT_FALSE(build_collective(w, &groups));
}

}  // namespace
}  // namespace cpudev::test
