// Every type, operator and SIMD level against the reference, over lengths, alignments, numbers of inputs, in
// place and cut into pieces; nothing outside [out, out + bytes) may change and nothing outside the inputs may
// be read (ASan).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "reducer/kernels/reduce.h"
#include "tests/support/reduce_reference.h"

namespace fanin {
namespace {

using namespace test;

constexpr uint8_t kGuard = 0xa5;
constexpr size_t kGuardBytes = 80;

// n inputs of count elements, each in its own allocation that ends with the data, at its own misalignment.
struct Inputs {
  Inputs(DType type, size_t n, size_t count, std::mt19937& random) {
    for (size_t r = 0; r < n; r++) {
      const std::vector<uint8_t> data = sample(type, count, random);
      const size_t shift = random() % 67;
      std::vector<uint8_t> whole(shift + data.size());
      std::copy(data.begin(), data.end(), whole.begin() + static_cast<ptrdiff_t>(shift));
      buffers.push_back(std::move(whole));
      pointers.push_back(buffers.back().data() + shift);
    }
  }
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<const void*> pointers;
};

std::string label(const ReduceLevel& level, DType type, RedOp op, size_t n, size_t count) {
  return level.name + " " + dtype_name(type) + " " + redop_name(op) + " n=" + std::to_string(n) +
         " count=" + std::to_string(count);
}

// Where got first differs from want, or "".
std::string difference(DType type, const uint8_t* got, const std::vector<uint8_t>& want) {
  for (size_t i = 0; i < want.size(); i++) {
    if (got[i] != want[i]) return "first difference in element " + std::to_string(i / dtype_size(type));
  }
  return "";
}

class ReduceShapes : public testing::TestWithParam<int> {
 protected:
  DType type() const { return dtype_at(GetParam()); }
  size_t size() const { return dtype_size(type()); }
  std::mt19937 random_{static_cast<unsigned>(GetParam()) + 1};
  const std::vector<ReduceLevel> levels_ = reduce_levels();
};

TEST_P(ReduceShapes, LengthsAlignmentsAndInputs) {
  struct Case {
    size_t n;
    std::vector<size_t> counts;
  };
  const std::vector<size_t> many = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  17,  29,
                                    31, 32, 33, 63, 64, 65, 97, 127, 129, 251, 257, 509, 1021};
  const Case cases[] = {{1, many},           {2, many},     {3, many}, {5, {1, 13, 64, 333}},
                        {16, {3, 65, 1031}}, {64, {5, 515}}};
  for (const Case& c : cases) {
    for (size_t count : c.counts) {
      const Inputs in(type(), c.n, count, random_);
      for (int o = 0; o < kNumRedOps; o++) {
        std::vector<uint8_t> want(count * size());
        reduce_reference(type(), redop_at(o), want.data(), in.pointers.data(), c.n, count);
        for (const ReduceLevel& level : levels_) {
          std::vector<uint8_t> room(want.size() + 2 * kGuardBytes, kGuard);
          const size_t before = kGuardBytes - random_() % 67;
          uint8_t* out = room.data() + before;
          level.fn(type(), redop_at(o))(out, in.pointers.data(), c.n, count);
          ASSERT_EQ(difference(type(), out, want), "") << label(level, type(), redop_at(o), c.n, count);
          const auto after = static_cast<ptrdiff_t>(before + want.size());
          const auto intact =
              std::count(room.begin(), room.begin() + static_cast<ptrdiff_t>(before), kGuard) +
              std::count(room.begin() + after, room.end(), kGuard);
          ASSERT_EQ(static_cast<size_t>(intact), 2 * kGuardBytes)
              << "wrote outside: " << label(level, type(), redop_at(o), c.n, count);
        }
      }
    }
  }
}

TEST_P(ReduceShapes, ThousandsOfElementsAndOfInputs) {
  for (auto [n, count] : {std::pair<size_t, size_t>{3, 4099}, {2, 8192}, {4096, 9}}) {
    const Inputs in(type(), n, count, random_);
    for (RedOp op : {RedOp::kSum, RedOp::kMin}) {
      std::vector<uint8_t> want(count * size()), got(count * size());
      reduce_reference(type(), op, want.data(), in.pointers.data(), n, count);
      for (const ReduceLevel& level : levels_) {
        std::fill(got.begin(), got.end(), kGuard);
        level.fn(type(), op)(got.data(), in.pointers.data(), n, count);
        ASSERT_EQ(difference(type(), got.data(), want), "") << label(level, type(), op, n, count);
      }
    }
  }
}

TEST_P(ReduceShapes, InPlaceOverAnyInput) {
  const size_t n = 5;
  for (size_t count : {1, 61, 517}) {
    const Inputs in(type(), n, count, random_);
    for (int o = 0; o < kNumRedOps; o++) {
      std::vector<uint8_t> want(count * size());
      reduce_reference(type(), redop_at(o), want.data(), in.pointers.data(), n, count);
      for (const ReduceLevel& level : levels_) {
        for (size_t k = 0; k < n; k++) {
          std::vector<uint8_t> own(want.size());
          memcpy(own.data(), in.pointers[k], own.size());
          std::vector<const void*> pointers = in.pointers;
          pointers[k] = own.data();
          level.fn(type(), redop_at(o))(own.data(), pointers.data(), n, count);
          ASSERT_EQ(difference(type(), own.data(), want), "")
              << "in place over " << k << ": " << label(level, type(), redop_at(o), n, count);
        }
      }
    }
  }
}

TEST_P(ReduceShapes, PiecesGiveTheBitsOfTheWhole) {
  const size_t n = 4, count = 1500;
  const Inputs in(type(), n, count, random_);
  for (int o = 0; o < kNumRedOps; o++) {
    std::vector<uint8_t> want(count * size()), got(count * size());
    reduce_fn(type(), redop_at(o))(want.data(), in.pointers.data(), n, count);
    for (const ReduceLevel& level : levels_) {
      std::fill(got.begin(), got.end(), kGuard);
      for (size_t at = 0; at < count;) {
        const size_t piece = std::min<size_t>(count - at, random_() % (random_() % 4 == 0 ? 400 : 20));
        std::vector<const void*> pointers;
        for (const void* p : in.pointers) pointers.push_back(static_cast<const uint8_t*>(p) + at * size());
        level.fn(type(), redop_at(o))(got.data() + at * size(), pointers.data(), n, piece);
        at += piece;
      }
      ASSERT_EQ(difference(type(), got.data(), want), "") << label(level, type(), redop_at(o), n, count);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ReduceShapes, testing::Range(0, kNumDTypes),
                         [](const auto& info) { return std::string(dtype_name(dtype_at(info.param))); });

TEST(ReduceLevels, AreNamedOnceAndComplete) {
  const std::vector<ReduceLevel> levels = reduce_levels();
  ASSERT_GE(levels.size(), 1u);
  std::set<std::string> names;
  for (const ReduceLevel& level : levels) {
    EXPECT_TRUE(names.insert(level.name).second) << level.name << " twice";
    for (int t = 0; t < kNumDTypes; t++) {
      for (int o = 0; o < kNumRedOps; o++)
        EXPECT_NE(level.fn(dtype_at(t), redop_at(o)), nullptr) << level.name;
    }
  }
  EXPECT_TRUE(names.contains("Scalar") || names.contains("SCALAR") || names.contains("EMU128") ||
              names.contains("Emu128"))
      << "no fallback to compare with";
#if defined(__x86_64__)
  EXPECT_EQ(names.contains("SSE4"), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(names.contains("AVX2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(names.contains("AVX3"), __builtin_cpu_supports("avx512bw") != 0);
#endif
  for (int t = 0; t < kNumDTypes; t++) {
    for (int o = 0; o < kNumRedOps; o++) {
      EXPECT_EQ(reduce_fn(dtype_at(t), redop_at(o)), levels.front().fn(dtype_at(t), redop_at(o)));
    }
  }
}

}  // namespace
}  // namespace fanin
