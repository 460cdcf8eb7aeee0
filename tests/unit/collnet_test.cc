// Collectives end to end: ranks as threads, real reducers in this process, sums checked element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "tests/support/collnet_calls.h"
#include "tests/support/collnet_world.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using cn::Comm;
using cn::Part;
using cn::Request;
using cn::Window;
using test::accepted;
using test::CollnetWorld;
using test::each_rank;
using test::expected_sum;
using test::finish;
using test::input;

struct Shape {
  int nranks, reducers;
  unsigned lanes;
};
std::ostream& operator<<(std::ostream& o, const Shape& s) {
  return o << s.nranks << "ranks_" << s.reducers << "reducers_" << s.lanes << "lanes";
}

class Collectives : public testing::TestWithParam<Shape> {
 protected:
  const int n = GetParam().nranks;
  CollnetWorld world{GetParam().reducers, GetParam().lanes};
  std::vector<std::unique_ptr<Comm>> comms = world.connect_all(n);
};

void check_all_reduce(Comm* comm, int nranks, size_t m, size_t count, bool in_place) {
  const int rank = static_cast<int>(comm->rank());
  std::vector<float> send(count), recv(count, -1);
  for (size_t i = 0; i < count; ++i) send[i] = input(rank, m, i);
  float* to = in_place ? send.data() : recv.data();
  Request* r =
      accepted([&] { return cn::iallreduce(comm, send.data(), to, count, DType::kF32, RedOp::kSum); });
  ASSERT_EQ(finish(r), count * sizeof(float));
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(to[i], expected_sum(nranks, m, i)) << "element " << i << " of " << count;
}

TEST_P(Collectives, AllReduce) {
  each_rank(n, [&](int rank) {
    size_t m = 0;
    for (size_t count : {1, 17, 1024, 8192, 40000, 300001, 2 << 20})
      for (bool in_place : {false, true})
        check_all_reduce(comms[static_cast<size_t>(rank)].get(), n, m++, count, in_place);
  });
}

// A window of the concatenation, as NCCL walks it: rising offsets, straddling ranks, own part maybe empty.
TEST_P(Collectives, AllGather) {
  each_rank(n, [&](int rank) {
    Comm* comm = comms[static_cast<size_t>(rank)].get();
    size_t m = 0;
    for (size_t per_rank : {1, 100, 5000, 60000})
      for (bool in_place : {false, true}) {
        ++m;
        const size_t total = per_rank * static_cast<size_t>(n);
        const size_t step = std::max<size_t>(total / 3 + 1, 1);
        std::vector<float> all(total, -1), mine(per_rank);
        for (size_t i = 0; i < per_rank; ++i) mine[i] = input(rank, m, i);
        for (size_t begin = 0; begin < total; begin += step) {
          const size_t end = std::min(begin + step, total);
          const size_t own = per_rank * static_cast<size_t>(rank);
          const size_t b = std::clamp(own, begin, end), e = std::clamp(own + per_rank, begin, end);
          const float* send = e > b ? mine.data() + (b - own) : nullptr;
          if (in_place && e > b) {
            std::copy_n(send, e - b, all.data() + b);
            send = all.data() + b;
          }
          Part part{nullptr, all.data() + begin, (end - begin) * 4};
          Window w{per_rank * 4, begin * 4, (end - begin) * 4};
          ASSERT_EQ(finish(accepted([&] { return cn::iallgather(comm, send, part, w); })), (end - begin) * 4);
        }
        for (size_t i = 0; i < total; ++i)
          ASSERT_EQ(all[i], input(static_cast<int>(i / per_rank), m, i % per_rank)) << i << " of " << total;
      }
  });
}

TEST_P(Collectives, ReduceScatter) {
  each_rank(n, [&](int rank) {
    Comm* comm = comms[static_cast<size_t>(rank)].get();
    size_t m = 0;
    for (size_t per_rank : {1, 100, 5000, 60000})
      for (bool in_place : {false, true}) {
        ++m;
        const size_t total = per_rank * static_cast<size_t>(n);
        const size_t step = std::max<size_t>(total / 3 + 1, 1);
        const size_t own = per_rank * static_cast<size_t>(rank);
        std::vector<float> send(total), out(per_rank, -1);
        for (size_t i = 0; i < total; ++i) send[i] = input(rank, m, i);
        for (size_t begin = 0; begin < total; begin += step) {
          const size_t end = std::min(begin + step, total);
          const size_t b = std::clamp(own, begin, end), e = std::clamp(own + per_rank, begin, end);
          float* recv = e == b ? nullptr : in_place ? send.data() + b : out.data() + (b - own);
          Part part{nullptr, send.data() + begin, (end - begin) * 4};
          Window w{per_rank * 4, begin * 4, (end - begin) * 4};
          Request* r =
              accepted([&] { return cn::ireducescatter(comm, part, recv, w, DType::kF32, RedOp::kSum); });
          ASSERT_EQ(finish(r), (e - b) * 4);
        }
        const float* result = in_place ? send.data() + own : out.data();
        for (size_t i = 0; i < per_rank; ++i) ASSERT_EQ(result[i], expected_sum(n, m, own + i)) << i;
      }
  });
}

TEST_P(Collectives, EightInFlight) {
  constexpr size_t kMessages = 40, kCount = 16384 + 5, kDepth = 8;
  each_rank(n, [&](int rank) {
    Comm* comm = comms[static_cast<size_t>(rank)].get();
    std::vector<std::vector<float>> buf(kMessages, std::vector<float>(kCount));
    std::vector<Request*> requests(kMessages);
    for (size_t m = 0; m < kMessages; ++m)
      for (size_t i = 0; i < kCount; ++i) buf[m][i] = input(rank, m, i);
    for (size_t m = 0; m < kMessages + kDepth; ++m) {
      if (m >= kDepth) {
        ASSERT_EQ(finish(requests[m - kDepth]), kCount * 4);
      }
      if (m < kMessages)
        requests[m] = accepted([&] {
          return cn::iallreduce(comm, buf[m].data(), buf[m].data(), kCount, DType::kF32, RedOp::kSum);
        });
    }
    for (size_t m = 0; m < kMessages; ++m)
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(buf[m][i], expected_sum(n, m, i)) << m << "[" << i << "]";
  });
}

// Messages of a few bytes beside messages of many blocks, on two communicators at once: most take one lane, some all, and each
// ends with its own sums.
TEST_P(Collectives, SizesThatDifferWildlyInARow) {
  constexpr size_t kMessages = 60, kDepth = 12;
  constexpr size_t kCounts[] = {1, 700'001, 3, 16, 4096, 2, 90'000, 1025, 1, 250'003, 17};
  std::vector<std::unique_ptr<Comm>> more = world.connect_all(n);
  each_rank(2 * n, [&](int thread) {
    const int rank = thread % n;
    const size_t shift = thread < n ? 0 : 5;
    Comm* comm = (thread < n ? comms : more)[static_cast<size_t>(rank)].get();
    std::vector<std::vector<float>> buf(kMessages);
    std::vector<Request*> requests(kMessages);
    for (size_t m = 0; m < kMessages + kDepth; ++m) {
      if (m >= kDepth) {
        const size_t done = m - kDepth;
        ASSERT_EQ(finish(requests[done]), buf[done].size() * 4);
        for (size_t i = 0; i < buf[done].size(); ++i)
          ASSERT_EQ(buf[done][i], expected_sum(n, done + shift, i)) << done << "[" << i << "]";
        buf[done] = {};
      }
      if (m >= kMessages) continue;
      buf[m].resize(kCounts[(m + shift) % std::size(kCounts)]);
      for (size_t i = 0; i < buf[m].size(); ++i) buf[m][i] = input(rank, m + shift, i);
      requests[m] = accepted([&] {
        return cn::iallreduce(comm, buf[m].data(), buf[m].data(), buf[m].size(), DType::kF32, RedOp::kSum);
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Collectives,
                         testing::Values(Shape{1, 1, 1}, Shape{1, 2, 3}, Shape{2, 1, 1}, Shape{2, 1, 4},
                                         Shape{2, 2, 2}, Shape{2, 5, 1}, Shape{5, 1, 2}, Shape{5, 2, 1},
                                         Shape{5, 5, 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace fanin
