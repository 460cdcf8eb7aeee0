// Shared by the reducer's unit tests: a reducer on a free loopback port, waiting without sleeping, and a
// session of raw workers that run collectives over all lanes and check every byte against sums computed here.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "reducer/reducer.h"
#include "tests/support/raw_worker.h"

namespace fanin::test {

inline ReducerConfig reducer_config(unsigned lanes = 1, uint32_t block_bytes = 4096) {
  ReducerConfig c;
  c.listen = tcp::Address::loopback(0);
  c.lanes = lanes;
  c.block_bytes = block_bytes;
  c.memory = 256 << 20;
  return c;
}

inline std::unique_ptr<Reducer> start_reducer(const ReducerConfig& config) {
  auto r = Reducer::start(config);
  if (!r) {
    fprintf(stderr, "cannot start a reducer: %s\n", r.error().text().c_str());
    abort();
  }
  return *std::move(r);
}

template <class F>
bool eventually(F f) {
  for (Deadline d = Deadline::after(std::chrono::milliseconds(10000)); !d.passed(); std::this_thread::yield())
    if (f()) return true;
  return false;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One collective call, the same on all ranks. Elements are float, with values whose sums are exact.
struct Call {
  Coll coll;
  size_t bytes;  // of the window
  size_t bytes_per_rank = 0, window_offset = 0;
};

inline float value(uint32_t rank, uint64_t message, size_t element) {
  return static_cast<float>((element * 31 + message * 7 + rank * 1001) % 4096) - 100.f;
}

// Runs `calls` on nranks ranks over all lanes, one thread and connection per rank and lane, as many blocks in
// flight as the window lets through; then says goodbye.
void run_session(const tcp::Address& reducer, uint8_t tag, uint32_t nranks, uint32_t lanes,
                 uint64_t window_bytes, const std::vector<Call>& calls);

}  // namespace fanin::test
