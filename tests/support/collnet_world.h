// A whole small world in one process: reducers, and ranks that connect to them as threads.
//
// Ranks use the collnet code below the ABI (plugin/collnet/connect.h), so that every rank may have its own
// options. The world owns reducers and listeners; comms belong to the test.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "plugin/collnet/collnet.h"
#include "plugin/collnet/connect.h"
#include "reducer/reducer.h"

namespace fanin::test {

using plugin::Options;
using plugin::collnet::Comm;
using plugin::collnet::Handle;
using plugin::collnet::Listener;

using CommResult = Result<std::unique_ptr<Comm>>;

inline std::unique_ptr<Reducer> make_reducer(unsigned lanes = 2, uint32_t block_bytes = 16 << 10) {
  ReducerConfig c;
  c.listen = tcp::Address::loopback(0);
  c.lanes = lanes;
  c.block_bytes = block_bytes;
  Result<std::unique_ptr<Reducer>> r = Reducer::start(c);
  if (!r) {
    ADD_FAILURE() << r.error().text();
    abort();
  }
  return std::move(*r);
}

inline plugin::NetDevice loopback_device() {
  plugin::NetDevice d;
  d.name = "lo";
  d.speed_mbps = 10000;
  d.address = tcp::Address::loopback(0);
  return d;
}

// Runs body(rank) on a thread per rank.
inline void each_rank(int nranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < nranks; ++r) threads.emplace_back(body, r);
  for (std::thread& t : threads) t.join();
}

// As FANIN_REDUCERS would.
inline PoolSource named(const std::string& spec) { return {"FANIN_REDUCERS", spec}; }

class CollnetWorld {
 public:
  explicit CollnetWorld(int n_reducers, unsigned lanes = 2, uint32_t block_bytes = 16 << 10) {
    for (int i = 0; i < n_reducers; ++i) reducers.push_back(make_reducer(lanes, block_bytes));
  }

  // The FANIN_REDUCERS that names all reducers, and short deadlines.
  Options options() const {
    Options o;
    std::string pool;
    for (auto& r : reducers) pool += (pool.empty() ? "" : ",") + r->address().text();
    if (!pool.empty()) o.pool = named(pool);
    o.connect_timeout = std::chrono::milliseconds(8000);
    o.timeout = std::chrono::milliseconds(20000);
    o.window = 16 << 20;
    o.min_slice = 4096;
    o.poll_us = 0;
    return o;
  }

  // All ranks connect; the result per rank. options_of: each rank's own.
  std::vector<CommResult> connect(int nranks, const std::function<Options(int)>& options_of) {
    std::vector<std::unique_ptr<Listener>> listeners;
    std::vector<Handle> handles(static_cast<size_t>(nranks));
    for (Handle& h : handles) {
      auto l = plugin::collnet::open_listener(options_of(static_cast<int>(listeners.size())),
                                              loopback_device(), h);
      if (!l) abort();
      listeners.push_back(std::move(*l));
    }
    std::vector<void*> pointers;
    for (Handle& h : handles) pointers.push_back(&h);
    std::vector<CommResult> out;
    for (int i = 0; i < nranks; ++i) out.emplace_back(Error(Errc::kInternal, "not run"));
    each_rank(nranks, [&](int rank) {
      const auto r = static_cast<size_t>(rank);
      out[r] =
          plugin::collnet::connect_session(options_of(rank), pointers.data(), nranks, rank, *listeners[r]);
    });
    return out;
  }

  // All ranks connect and must get a communicator.
  std::vector<std::unique_ptr<Comm>> connect_all(int nranks, const Options& o) {
    std::vector<std::unique_ptr<Comm>> comms;
    for (CommResult& r : connect(nranks, [&](int) { return o; })) {
      EXPECT_TRUE(r) << r.error().text();
      EXPECT_TRUE(r && *r != nullptr);
      comms.push_back(r ? std::move(*r) : nullptr);
    }
    return comms;
  }
  std::vector<std::unique_ptr<Comm>> connect_all(int nranks) { return connect_all(nranks, options()); }

  std::vector<std::unique_ptr<Reducer>> reducers;
};

}  // namespace fanin::test
