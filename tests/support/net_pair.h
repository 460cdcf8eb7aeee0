// Connections of plugin/net/ within one thread, for tests: over loopback, from listen to a SendComm and a
// RecvComm.
//
// use_loopback() must come before the first use of the net in the process (the device list is made once).
#pragma once
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "plugin/net/connector.h"
#include "plugin/net/listen_comm.h"
#include "plugin/net/net.h"

namespace fanin::test {

namespace net = fanin::plugin::net;

inline void use_loopback(const char* data_sockets) {
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("FANIN_NET_SOCKETS", data_sockets, 1);
}

// Lets other threads and processes work; not a synchronisation: callers loop on a condition.
inline void breathe() { ::sched_yield(); }

struct NetPair {
  net::ListenComm* listener = nullptr;
  net::SendComm* send = nullptr;
  net::RecvComm* recv = nullptr;
  char handle[net::kHandleBytes] = {};

  NetPair() = default;
  NetPair(const NetPair&) = delete;
  NetPair& operator=(const NetPair&) = delete;
  ~NetPair() {
    EXPECT_TRUE(net::close_send(send));
    EXPECT_TRUE(net::close_recv(recv));
    EXPECT_TRUE(net::close_listen(listener));
  }
  // The connect is finished before the first accept, as NCCL's loopback probe needs it.
  void connect() {
    auto l = net::listen(0, handle);
    ASSERT_TRUE(l) << l.error().text();
    listener = *l;
    connect_to(handle);
    accept();
  }
  void connect_to(void* bytes) {
    while (!send) {
      auto s = net::connect(0, bytes);
      ASSERT_TRUE(s) << s.error().text();
      send = *s;
      if (!send) breathe();
    }
  }
  void accept() {
    while (!recv) {
      auto r = net::accept(listener);
      ASSERT_TRUE(r) << r.error().text();
      recv = *r;
      if (!recv) breathe();
    }
  }
  void close_send() {
    EXPECT_TRUE(net::close_send(send));
    send = nullptr;
  }
  void close_recv() {
    EXPECT_TRUE(net::close_recv(recv));
    recv = nullptr;
  }
};

inline Result<net::Request*> post(net::RecvComm* c, void* data, size_t bytes, int tag) {
  void* mhandle = nullptr;
  return net::irecv(c, 1, &data, &bytes, &tag, &mhandle);
}

// Tests all requests until each is done; sizes[i] is what request i moved (first part).
inline Status finish(std::vector<net::Request*> requests, std::vector<size_t>* sizes = nullptr) {
  if (sizes) sizes->assign(requests.size(), 0);
  for (size_t left = requests.size(); left;) {
    bool moved = false;
    for (size_t i = 0; i < requests.size(); i++) {
      if (!requests[i]) continue;
      size_t bytes[net::kMaxGroupedReceives] = {};
      auto done = net::test(requests[i], bytes);
      if (!done) return done.error();
      if (!*done) continue;
      if (sizes) (*sizes)[i] = bytes[0];
      requests[i] = nullptr;
      left--;
      moved = true;
    }
    if (!moved && left) breathe();
  }
  return {};
}

// Bytes that differ by position and seed.
inline std::vector<char> pattern(size_t bytes, uint32_t seed) {
  std::vector<char> v(bytes);
  uint32_t x = seed * 2654435761u + 1;
  for (char& c : v) {
    x = x * 1664525u + 1013904223u;
    c = static_cast<char>(x >> 24);
  }
  return v;
}

// Until the connection is there; null after a failure.
inline std::unique_ptr<net::SendComm> finish_connect(net::Connector& c) {
  for (;; breathe()) {
    auto s = c.progress();
    EXPECT_TRUE(s) << s.error().text();
    if (!s || *s) return s ? std::move(*s) : nullptr;
  }
}

inline std::unique_ptr<net::RecvComm> finish_accept(net::ListenComm& l) {
  for (;; breathe()) {
    auto r = l.accept();
    EXPECT_TRUE(r) << r.error().text();
    if (!r || *r) return r ? std::move(*r) : nullptr;
  }
}

// A message from one end arrives whole at the other.
inline void expect_they_talk(net::SendComm& s, net::RecvComm& r) {
  std::vector<char> in = pattern(300000, 5), out(in.size());
  void* data = out.data();
  size_t bytes = out.size();
  int tag = 1;
  auto rr = r.irecv(1, &data, &bytes, &tag);
  auto sr = s.isend(in.data(), in.size(), 1);
  ASSERT_TRUE(rr && sr);
  Status st = finish({*rr, *sr});
  ASSERT_TRUE(st) << st.error().text();
  EXPECT_TRUE(in == out);
}

}  // namespace fanin::test
