// Driving collnet requests in tests as NCCL's progress thread does, and inputs whose sums are exact.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "plugin/collnet/collnet.h"

namespace fanin::test {

// What rank contributes at index i of message m: small integers, so that float sums are exact.
inline float input(int rank, size_t m, size_t i) {
  return static_cast<float>((i * 7 + m * 13 + static_cast<size_t>(rank) * 31) % 251);
}
inline float expected_sum(int nranks, size_t m, size_t i) {
  float s = 0;
  for (int r = 0; r < nranks; ++r) s += input(r, m, i);
  return s;
}

// Calls until the window takes it.
template <class Call>
plugin::collnet::Request* accepted(Call call) {
  for (;;) {
    Result<plugin::collnet::Request*> r = call();
    if (!r) {
      ADD_FAILURE() << r.error().text();
      return nullptr;
    }
    if (*r) return *r;
    std::this_thread::yield();
  }
}

inline size_t finish(plugin::collnet::Request* request) {
  size_t bytes = 0;
  while (request) {
    Result<bool> done = plugin::collnet::test(request, &bytes);
    if (!done) {
      ADD_FAILURE() << done.error().text();
      return 0;
    }
    if (*done) break;
    std::this_thread::yield();
  }
  return bytes;
}

// Polls until the comm fails; the error's text, or "" after the limit.
inline std::string wait_for_error(plugin::collnet::Request* request, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    Result<bool> done = plugin::collnet::test(request, nullptr);
    if (!done) {
      EXPECT_EQ(done.error().code(), Errc::kRemote);
      return done.error().text();
    }
    if (*done) return "";
    std::this_thread::yield();
  }
  return "";
}

}  // namespace fanin::test
