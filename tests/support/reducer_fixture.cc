#include "tests/support/reducer_fixture.h"

#include <algorithm>
#include <latch>

namespace fanin::test {
namespace {

// The part of a message that a lane takes: equal parts of whole elements, maybe none.
std::pair<size_t, size_t> lane_range(size_t bytes, uint32_t lane, uint32_t lanes) {
  size_t elements = bytes / 4, per = (elements + lanes - 1) / lanes;
  size_t begin = std::min(elements, per * lane), end = std::min(elements, per * (lane + 1));
  return {begin * 4, end * 4};
}

std::vector<float> window_of(const Call& c, uint64_t message, uint32_t rank) {
  std::vector<float> w(c.bytes / 4);
  for (size_t i = 0; i < w.size(); ++i) w[i] = value(rank, message, i);
  return w;
}

std::vector<float> expected(const Call& c, uint64_t message, uint32_t nranks) {
  std::vector<float> out(c.bytes / 4);
  for (size_t i = 0; i < out.size(); ++i) {
    if (c.coll == Coll::kAllGather) {
      out[i] = value(static_cast<uint32_t>((c.window_offset + i * 4) / c.bytes_per_rank), message, i);
    } else {
      double sum = 0;
      for (uint32_t r = 0; r < nranks; ++r) sum += value(r, message, i);
      out[i] = static_cast<float>(sum);
    }
  }
  return out;
}

void run_lane(const tcp::Address& reducer, uint8_t tag, uint32_t rank, uint32_t nranks, uint32_t lane,
              uint32_t lanes, uint64_t window_bytes, const std::vector<Call>& calls, std::latch& joined) {
  RawWorker w(reducer);
  wire::Welcome welcome = w.join(RawWorker::hello(RawWorker::session(tag), rank, nranks, lane, window_bytes));
  // As ranks do: a lane that is done before another one has come would leave that one to open a second session.
  joined.arrive_and_wait();
  std::vector<Bytes> blocks;
  std::vector<wire::ResultHeader> want;
  for (size_t m = 0; m < calls.size(); ++m) {
    const Call& c = calls[m];
    auto [begin, end] = lane_range(c.bytes, lane, lanes);
    if (begin == end) continue;
    wire::SliceHeader h = RawWorker::all_reduce(m, c.bytes);
    h.coll = c.coll;
    h.offset = begin;
    h.length = end - begin;
    h.bytes_per_rank = c.bytes_per_rank;
    h.window_offset = c.window_offset;
    std::vector<float> window = window_of(c, m, rank);
    w.append(&blocks, h, reinterpret_cast<const std::byte*>(window.data()));
    for (size_t at = begin; at < end; at += welcome.block_bytes) {
      size_t from = at, to = std::min<size_t>(end, at + welcome.block_bytes);
      if (c.coll == Coll::kReduceScatter) {
        size_t own = rank * c.bytes_per_rank, base = c.window_offset;
        size_t f = std::max(from + base, own), t = std::min(to + base, own + c.bytes_per_rank);
        to = f < t ? t - base : from;
        from = f < t ? f - base : from;
      }
      want.push_back({wire::FrameType::kResult, 0, {}, static_cast<uint32_t>(to - from), m, from, 0});
    }
  }
  std::vector<Frame> got = w.exchange(blocks);
  ASSERT_EQ(got.size(), want.size());
  std::vector<float> sums;
  size_t sums_of = SIZE_MAX;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(memcmp(&got[i].head, &want[i], sizeof want[i]), 0)
        << "rank " << rank << " lane " << lane << " frame " << i << ": message " << got[i].head.message
        << " offset " << got[i].head.offset << " bytes " << got[i].head.payload_bytes << ", expected message "
        << want[i].message << " offset " << want[i].offset << " bytes " << want[i].payload_bytes;
    if (sums_of != want[i].message) {
      sums_of = want[i].message;
      sums = expected(calls[sums_of], sums_of, nranks);
    }
    if (want[i].payload_bytes == 0) continue;
    ASSERT_EQ(memcmp(got[i].payload.data(), reinterpret_cast<std::byte*>(sums.data()) + want[i].offset,
                     want[i].payload_bytes),
              0)
        << "rank " << rank << " lane " << lane << " message " << want[i].message << " offset "
        << want[i].offset;
  }
  w.send(RawWorker::goodbye());
  w.expect_closed();
}

}  // namespace

void run_session(const tcp::Address& reducer, uint8_t tag, uint32_t nranks, uint32_t lanes,
                 uint64_t window_bytes, const std::vector<Call>& calls) {
  std::vector<std::thread> threads;
  std::latch joined(static_cast<std::ptrdiff_t>(nranks) * lanes);
  for (uint32_t rank = 0; rank < nranks; ++rank)
    for (uint32_t lane = 0; lane < lanes; ++lane)
      threads.emplace_back([=, &calls, &joined] {
        run_lane(reducer, tag, rank, nranks, lane, lanes, window_bytes, calls, joined);
      });
  for (auto& t : threads) t.join();
}

}  // namespace fanin::test
