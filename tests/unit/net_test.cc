// Point-to-point semantics as NCCL relies on them, through the net's own interface, three data sockets a
// connection.
#include "plugin/net/net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "nccl/types.h"
#include "tests/support/net_pair.h"

namespace fanin::test {
namespace {

class Net : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_loopback("3"); }
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(pair.connect()); }

  net::Request* send(const std::vector<char>& data, int tag = 0) {
    auto r = net::isend(pair.send, data.data(), data.size(), tag, nullptr);
    EXPECT_TRUE(r) << r.error().text();
    return r ? *r : nullptr;
  }
  net::Request* receive(std::vector<char>& data, int tag = 0) {
    auto r = post(pair.recv, data.data(), data.size(), tag);
    EXPECT_TRUE(r) << r.error().text();
    return r ? *r : nullptr;
  }
  NetPair pair;
};

TEST_F(Net, EverySizeArrivesWhole) {
  for (size_t bytes : {size_t{1}, size_t{31}, size_t{4000}, size_t{4064}, size_t{4097}, size_t{65536},
                       size_t{100001}, size_t{786433}, size_t{4} << 20, size_t{32} << 20}) {
    std::vector<char> in = pattern(bytes, static_cast<uint32_t>(bytes)), out(bytes);
    std::vector<size_t> sizes;
    net::Request* r = receive(out);
    net::Request* s = send(in);
    Status st = finish({r, s}, &sizes);
    ASSERT_TRUE(st) << st.error().text();
    EXPECT_EQ(sizes, (std::vector<size_t>{bytes, bytes}));
    ASSERT_TRUE(in == out) << bytes << " bytes differ";
  }
}

TEST_F(Net, SendBeforeItsReceiveIsPosted) {
  std::vector<char> in = pattern(300000, 1), out(in.size());
  net::Request* s = send(in);
  ASSERT_NE(s, nullptr);
  for (int i = 0; i < 3; i++) ASSERT_FALSE(*net::test(s, nullptr));
  ASSERT_TRUE(finish({receive(out), s}));
  EXPECT_TRUE(in == out);
}

TEST_F(Net, ZeroBytes) {
  std::vector<char> none, out(16, 'x');
  std::vector<size_t> sizes;
  void* null = nullptr;
  size_t zero = 0;
  int tag = 0;
  auto r = net::irecv(pair.recv, 1, &null, &zero, &tag, &null);
  ASSERT_TRUE(r);
  ASSERT_TRUE(finish({*r, receive(out), send(none), send(none)}, &sizes));
  EXPECT_EQ(sizes, (std::vector<size_t>{0, 0, 0, 0}));
  EXPECT_EQ(out, std::vector<char>(16, 'x'));
}

TEST_F(Net, AReceiveMayBeLarger) {
  std::vector<char> in = pattern(1000, 2), out(5000, 'x');
  std::vector<size_t> sizes;
  ASSERT_TRUE(finish({receive(out), send(in)}, &sizes));
  EXPECT_EQ(sizes[0], 1000u);
  EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
  EXPECT_TRUE(std::all_of(out.begin() + 1000, out.end(), [](char c) { return c == 'x'; }));
}

TEST_F(Net, ASendThatDoesNotFitIsAnErrorOnBothSides) {
  std::vector<char> in = pattern(5001, 3), out(5000, 'x');
  net::Request* r = receive(out, 17);
  net::Request* s = nullptr;
  Result<net::Request*> sent = net::isend(pair.send, in.data(), in.size(), 17, nullptr);
  for (net::Request* side : {s, r}) {
    Status st = side ? finish({side}) : sent ? finish({*sent}) : Status(sent.error());
    ASSERT_FALSE(st);
    EXPECT_EQ(st.error().code(), Errc::kInvalidUsage);
    for (const char* word : {"5001", "5000", "tag 17", "127.0.0.1"})
      EXPECT_NE(st.error().text().find(word), std::string::npos) << word << " in: " << st.error().text();
  }
  EXPECT_EQ(out, std::vector<char>(5000, 'x'));
}

TEST_F(Net, EightTagsInAnyOrder) {
  std::vector<int> order(8);
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < 4; round++) {
    std::vector<char> in[8], out[8];
    void *data[8], *mhandles[8] = {};
    size_t sizes[8];
    int tags[8];
    for (int i = 0; i < 8; i++) {
      size_t bytes = i == 3 ? 0 : static_cast<size_t>(1) << (3 * i);
      in[i] = pattern(bytes, static_cast<uint32_t>(round * 8 + i));
      out[i].assign(bytes + 10, 'x');
      data[i] = out[i].data();
      sizes[i] = out[i].size();
      tags[i] = 100 + i;
    }
    auto r = net::irecv(pair.recv, 8, data, sizes, tags, mhandles);
    ASSERT_TRUE(r);
    std::vector<net::Request*> sends;
    for (int i : order) sends.push_back(send(in[i], tags[i]));
    size_t got[8] = {};
    bool done = false;
    while (!done) {
      for (net::Request*& s : sends)
        if (s && *net::test(s, nullptr)) s = nullptr;
      auto d = net::test(*r, got);
      ASSERT_TRUE(d) << d.error().text();
      done = *d;
    }
    std::erase(sends, nullptr);
    ASSERT_TRUE(finish(sends));
    for (int i = 0; i < 8; i++) {
      EXPECT_EQ(got[i], in[i].size());
      EXPECT_TRUE(std::equal(in[i].begin(), in[i].end(), out[i].begin())) << "part " << i;
      EXPECT_EQ(out[i].back(), 'x');
    }
    std::reverse(order.begin() + round, order.end());
  }
}

TEST_F(Net, GroupSizesOutOfRange) {
  void* data[9] = {};
  size_t sizes[9] = {};
  int tags[9] = {};
  for (int n : {0, -1, 9}) {
    auto r = net::irecv(pair.recv, n, data, sizes, tags, data);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::kInvalidArgument);
  }
}

TEST_F(Net, ThirtyTwoInFlightAndNullBeyond) {
  for (int round = 0; round < 2; round++) {
    std::vector<std::vector<char>> in, out;
    std::vector<net::Request*> all;
    for (int i = 0; i < net::kMaxRequests; i++) {
      in.push_back(pattern(2000 + static_cast<size_t>(i), static_cast<uint32_t>(i)));
      out.emplace_back(in.back().size());
    }
    for (int i = 0; i < net::kMaxRequests; i++) {
      all.push_back(send(in[static_cast<size_t>(i)]));
      ASSERT_NE(all.back(), nullptr);
    }
    EXPECT_EQ(send(in[0]), nullptr);
    for (int i = 0; i < net::kMaxRequests; i++) {
      all.push_back(receive(out[static_cast<size_t>(i)]));
      ASSERT_NE(all.back(), nullptr);
    }
    EXPECT_EQ(receive(out[0]), nullptr);
    ASSERT_TRUE(finish(all));
    EXPECT_TRUE(in == out) << "equal tags must be matched in order";
  }
}

TEST_F(Net, BothDirectionsAtOnce) {
  NetPair back;
  ASSERT_NO_FATAL_FAILURE(back.connect());
  constexpr size_t kBytes = 16 << 20;
  std::vector<char> a = pattern(kBytes, 1), b = pattern(kBytes, 2), a_out(kBytes), b_out(kBytes);
  auto rb = post(back.recv, b_out.data(), kBytes, 0);
  auto sb = net::isend(back.send, b.data(), kBytes, 0, nullptr);
  ASSERT_TRUE(rb && sb);
  ASSERT_TRUE(finish({receive(a_out), send(a), *rb, *sb}));
  EXPECT_TRUE(a == a_out);
  EXPECT_TRUE(b == b_out);
}

TEST_F(Net, TestedInAnyOrder) {
  std::vector<char> in1 = pattern(200000, 1), in2 = pattern(3, 2), out1(in1.size()), out2(in2.size());
  net::Request *r1 = receive(out1, 1), *r2 = receive(out2, 2);
  net::Request *s2 = send(in2, 2), *s1 = send(in1, 1);
  ASSERT_TRUE(finish({s1, s2, r2, r1}));
  EXPECT_TRUE(in1 == out1 && in2 == out2);
}

TEST_F(Net, ADoneRequestCannotBeTestedAgain) {
  std::vector<char> in(8), out(8);
  net::Request *r = receive(out), *s = send(in);
  ASSERT_TRUE(finish({r, s}));
  EXPECT_EQ(net::test(r, nullptr).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(net::test(s, nullptr).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(net::test(nullptr, nullptr).error().code(), Errc::kInvalidArgument);
}

TEST_F(Net, FlushHasNothingToWaitFor) {
  int size = 8;
  void* data = &size;
  auto r = net::iflush(pair.recv, 1, &data, &size, &data);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, nullptr);
}

TEST_F(Net, Registration) {
  char buffer[64];
  for (int i = 0; i < 3; i++) {
    auto m = net::register_memory(buffer, sizeof buffer, NCCL_PTR_HOST);
    ASSERT_TRUE(m);
    EXPECT_NE(*m, nullptr);
    EXPECT_TRUE(net::deregister_memory(*m));
  }
  EXPECT_FALSE(net::register_memory(buffer, sizeof buffer, NCCL_PTR_CUDA));
  EXPECT_FALSE(net::deregister_memory(buffer));
}

}  // namespace
}  // namespace fanin::test
