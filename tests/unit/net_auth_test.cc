// The job's secret on point-to-point connections: both sides prove it, and nothing heard, guessed or sent back opens one.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "nccl/types.h"
#include "plugin/job_secret.h"
#include "plugin/net/connector.h"
#include "plugin/net/handle.h"
#include "plugin/net/listen_comm.h"
#include "plugin/net/proof.h"
#include "tests/support/log_capture.h"
#include "tests/support/net_pair.h"
#include "tests/support/tcp_pair.h"

namespace fanin::test {
namespace {

using namespace std::chrono_literals;
using net::Connector;
using net::Credit;
using net::CreditPart;
using net::Ends;
using net::Hello;
using net::HelloProof;
using net::ListenComm;

const std::string kText = "secret-of-the-job-0123456789abcdef";
const Secret kSecret = *Secret::make(kText), kOther = *Secret::make("secret-of-another-0123456789abcdef");

class NetAuth : public testing::Test {
 protected:
  // What the ABI's calls use; tests of the parts bring their own secrets.
  static void SetUpTestSuite() {
    use_loopback("2");
    setenv("FANIN_SECRET", kText.c_str(), 1);
  }
};

std::unique_ptr<ListenComm> open_listener(const std::optional<Secret>& secret, const char* host = "127.0.0.1",
                                          std::chrono::milliseconds hello_timeout = 10000ms) {
  auto l = ListenComm::open(*tcp::Address::numeric(host, 0), hello_timeout, secret);
  return l ? std::move(*l) : nullptr;
}

Connector::Plan plan_for(const ListenComm& l, const std::optional<Secret>& secret) {
  tcp::Address source = l.address();
  source.set_port(0);
  return {l.address(), source, l.nonce(), 2, 10000ms, secret};
}

// A sender of which the test says every byte.
struct RawSender {
  Fd fd;
  Hello hello;
  HelloProof proof;
  Ends ends;
  explicit RawSender(const ListenComm& l, uint16_t index = 0, uint64_t connection = 7)
      : fd(dial(l.address())) {
    hello.index = index;
    hello.count = 2;
    hello.proved = 1;
    hello.nonce = l.nonce();
    hello.connection = connection;
    proof.nonce = *fresh_nonce();
    ends = {l.address(), *tcp::local_address(fd.get())};
    prove(kSecret);
  }
  void prove(const Secret& secret) { proof.proof = sender_proof(secret, hello, proof.nonce, ends); }
  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(&hello), sizeof hello) +
           std::string(reinterpret_cast<const char*>(&proof), sizeof proof);
  }
  void say(const std::string& bytes) {
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void say() { say(bytes()); }
};

// Polls the listener until it has closed this connection.
void expect_dropped(ListenComm& l, const Fd& fd, const std::string& what) {
  char byte;
  for (ssize_t n; (n = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT)) != 0; breathe()) {
    ASSERT_LT(n, 0) << what << " was answered";
    if (errno == ECONNRESET) return;
    auto r = l.accept();
    ASSERT_TRUE(r);
    ASSERT_EQ(*r, nullptr) << what << " was accepted";
  }
}

TEST_F(NetAuth, BothSidesProveTheSecret) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    auto l = open_listener(kSecret, host);
    if (!l) continue;  // no IPv6 here
    Connector c(plan_for(*l, kSecret));
    auto s = finish_connect(c);  // before the first accept
    auto r = finish_accept(*l);
    ASSERT_TRUE(s && r);
    expect_they_talk(*s, *r);
  }
}

TEST_F(NetAuth, StrangersAreDroppedAndDisturbNobody) {
  LogCapture log;
  auto l = open_listener(kSecret);
  std::vector<std::unique_ptr<RawSender>> strangers;
  auto stranger = [&]() -> RawSender& {
    return *strangers.emplace_back(std::make_unique<RawSender>(*l, 0, 100 + strangers.size()));
  };
  {  // knows the handle, as one who listens at NCCL's bootstrap, and has no secret
    RawSender& s = stranger();
    s.hello.proved = 0;
    s.say();
  }
  {  // has another job's
    RawSender& s = stranger();
    s.prove(kOther);
    s.say();
  }
  {  // sends back what the listener would say
    RawSender& s = stranger();
    s.proof.proof = receiver_proof(kSecret, s.hello, s.proof.nonce, s.ends);
    s.say();
  }
  // Every field is under the proof.
  for (int field = 0; field < 5; ++field) {
    RawSender& s = stranger();
    if (field == 0) s.hello.index = 1;
    if (field == 1) s.hello.count = 3;
    if (field == 2) s.hello.connection++;
    if (field == 3) s.proof.nonce[31] ^= 1;
    if (field == 4) s.proof.proof[31] ^= 1;
    s.say();
  }
  {  // of another listener
    auto other = open_listener(kSecret);
    RawSender& s = stranger();
    s.hello.nonce = other->nonce();
    s.prove(kSecret);
    s.hello.nonce = l->nonce();
    s.say();
  }
  {  // what another connection has just said, heard on the network and repeated first
    RawSender genuine(*l, 0, 55);
    RawSender& s = stranger();
    s.say(genuine.bytes());
  }
  for (size_t i = 0; i < strangers.size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expect_dropped(*l, strangers[i]->fd, "stranger " + std::to_string(i)));
  EXPECT_EQ(log.count(NCCL_LOG_WARN), 1u) << log.all();  // and only that
  EXPECT_EQ(log.count(NCCL_LOG_WARN, "it has not the job's secret"), 1u) << log.all();

  Connector c(plan_for(*l, kSecret));
  auto s = finish_connect(c);
  auto r = finish_accept(*l);
  ASSERT_TRUE(s && r);
  expect_they_talk(*s, *r);
}

// One that has been taken cannot be had again, not even from the very same address and port.
TEST_F(NetAuth, AConnectionIsTakenOnce) {
  auto l = open_listener(kSecret);
  RawSender control(*l, 0), data(*l, 1);
  control.say();
  data.say();
  ASSERT_NE(finish_accept(*l), nullptr);
  for (uint16_t index : {0, 1}) {
    RawSender again(*l, index);  // proved for its own address
    again.say();
    expect_dropped(*l, again.fd, "a repetition");
  }
  // Nor its sockets while it waits for the others.
  RawSender first(*l, 1, 8), second(*l, 1, 8), last(*l, 0, 8);
  first.say();
  ASSERT_TRUE(l->accept());
  second.say();
  expect_dropped(*l, second.fd, "a second socket of the same index");
  last.say();
  EXPECT_NE(finish_accept(*l), nullptr);
}

TEST_F(NetAuth, SlowlyIsFineAndHalfIsDroppedInTime) {
  auto l = open_listener(kSecret);
  RawSender control(*l, 0), data(*l, 1);
  data.say();
  for (char c : control.bytes()) {
    auto r = l->accept();
    ASSERT_TRUE(r && !*r);
    control.say(std::string(1, c));
  }
  EXPECT_NE(finish_accept(*l), nullptr);

  auto hasty = open_listener(kSecret, "127.0.0.1", 20ms);
  RawSender half(*hasty);
  half.say(half.bytes().substr(0, sizeof(Hello) + 10));
  expect_dropped(*hasty, half.fd, "half a greeting");
}

// A listener that has the address and not the secret: hears hellos, and gets no data whatever it says.
TEST_F(NetAuth, NothingIsSentToAPeerThatDoesNotProveIt) {
  const Credit credit{0, 0, 1};
  const CreditPart part{1 << 20, 0, 0};
  std::string plain(reinterpret_cast<const char*>(&credit), sizeof credit);
  plain.append(reinterpret_cast<const char*>(&part), sizeof part);
  plain.resize(200);
  for (int kind = 0; kind < 4; ++kind) {
    Fd listener = std::move(*tcp::listen_on(tcp::Address::loopback(0)));
    const tcp::Address at = *tcp::local_address(listener.get());
    Connector c({at, tcp::Address::loopback(0), 1, 1, 10000ms, kSecret});
    auto s = finish_connect(c);
    Fd control, data;
    HelloProof said;
    Hello hello;
    while (!control || !data) {
      Fd fd = std::move(*tcp::accept_from(listener.get()));
      if (!fd) continue;
      char bytes[sizeof hello + sizeof said];
      for (ssize_t got = 0; got < static_cast<ssize_t>(sizeof bytes);) {
        const ssize_t n =
            ::recv(fd.get(), bytes + got, sizeof bytes - static_cast<size_t>(got), MSG_DONTWAIT);
        if (n > 0) got += n;
      }
      Hello h;
      memcpy(&h, bytes, sizeof h);
      if (h.index != 0) {
        data = std::move(fd);
        continue;
      }
      hello = h;
      memcpy(&said, bytes + sizeof hello, sizeof said);
      control = std::move(fd);
    }
    const Ends ends{at, *tcp::remote_address(control.get())};
    std::string words = plain;  // 0: credits, as without a secret
    if (kind == 1) words = std::string(32, '\0') + plain;
    if (kind == 2) {  // the sender's own
      memcpy(words.data(), said.proof.data(), sizeof said.proof);
    }
    if (kind == 3) {  // another secret's
      const wire::Proof p = receiver_proof(kOther, hello, said.nonce, ends);
      words = std::string(reinterpret_cast<const char*>(p.data()), p.size()) + plain;
    }
    ASSERT_GT(::send(control.get(), words.data(), words.size(), MSG_NOSIGNAL), 0);
    std::vector<char> secret_data(1000);
    auto r = s->isend(secret_data.data(), secret_data.size(), 0);
    Status st = r ? finish({*r}) : Status(r.error());
    ASSERT_FALSE(st) << kind;
    EXPECT_EQ(st.error().code(), Errc::kRemote);
    EXPECT_NE(st.error().text().find("did not prove that it knows the job's secret"), std::string::npos)
        << st.error().text();
    s.reset();
    char byte;
    for (Fd* fd : {&control, &data}) {
      while (::recv(fd->get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) breathe();
      EXPECT_LE(::recv(fd->get(), &byte, 1, MSG_DONTWAIT), 0) << "data went out";
    }
  }
}

TEST_F(NetAuth, TheProofMayComeInPieces) {
  auto [near_control, far_control] = tcp_pair();
  auto [near_data, far_data] = tcp_pair();
  std::vector<std::unique_ptr<Stream>> streams;
  streams.push_back(std::make_unique<tcp::TcpStream>(std::move(near_control)));
  streams.push_back(std::make_unique<tcp::TcpStream>(std::move(near_data)));
  wire::Proof proof;
  proof.fill(9);
  net::SendComm comm(std::move(streams), proof);
  const Credit credit{0, 0, 1};
  const CreditPart part{100, 0, 0};
  std::string words(reinterpret_cast<const char*>(proof.data()), proof.size());
  words.append(reinterpret_cast<const char*>(&credit), sizeof credit);
  words.append(reinterpret_cast<const char*>(&part), sizeof part);
  char data[100] = {};
  auto r = comm.isend(data, sizeof data, 0);
  ASSERT_TRUE(r && *r);
  for (char c : words) {
    ASSERT_FALSE(*net::test(*r, nullptr));
    ASSERT_EQ(::send(far_control.get(), &c, 1, MSG_NOSIGNAL), 1);
  }
  EXPECT_TRUE(finish({*r}));
}

// Through NCCL's calls: the handle says which secret it is about, so that the ranks' mistakes are told before anything is
// connected.
TEST_F(NetAuth, TheHandleNamesTheSecret) {
  NetPair p;
  ASSERT_NO_FATAL_FAILURE(p.connect());
  char out = 0, in = 7;
  auto r = post(p.recv, &out, 1, 0);
  auto s = net::isend(p.send, &in, 1, 0, nullptr);
  ASSERT_TRUE(r && s);
  ASSERT_TRUE(finish({*r, *s}));
  EXPECT_EQ(out, 7);

  auto handle = net::Handle::read(p.handle);
  ASSERT_TRUE(handle);
  EXPECT_EQ(handle->key, kSecret.id());
  for (const auto& [key, says] : {std::pair(wire::KeyId{}, "has no secret, this rank has one"),
                                  std::pair(kOther.id(), "has another secret than this rank")}) {
    net::Handle h = *handle;
    h.key = key;
    char bytes[net::kHandleBytes];
    h.write(bytes);
    auto c = net::connect(0, bytes);
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error().code(), Errc::kInvalidUsage);
    EXPECT_NE(c.error().text().find(says), std::string::npos) << c.error().text();
    EXPECT_NE(c.error().text().find(h.listener.text()), std::string::npos) << c.error().text();
    EXPECT_EQ(c.error().text().find(kText), std::string::npos);
  }
}

// A file may be renewed while a job runs: ranks that read it before and after still meet.
TEST_F(NetAuth, RanksMeetAcrossARenewal) {
  plugin::Options before, after, none;
  before.secret = "secret-before-the-renewal-01234";
  after.secret = "secret-after-the-renewal-012345";
  const wire::KeyId old_id = Secret::make(before.secret)->id(), new_id = Secret::make(after.secret)->id();
  EXPECT_FALSE(plugin::shared_secret(after, old_id, "the rank")) << "never heard of it";
  ASSERT_TRUE(plugin::job_secret(before));
  for (const wire::KeyId& id : {old_id, new_id}) {
    auto s = plugin::shared_secret(after, id, "the rank");
    ASSERT_TRUE(s && *s) << s.error().text();
    EXPECT_EQ((*s)->id(), id);
  }
  auto s = plugin::shared_secret(none, wire::KeyId{}, "the rank");
  EXPECT_TRUE(s && !*s);
  s = plugin::shared_secret(none, kOther.id(), "the rank at 10.0.0.7:4000");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().text(),
            "the rank at 10.0.0.7:4000 has a secret, this rank has none; set the same FANIN_SECRET_FILE on "
            "all ranks "
            "of a job");
  none.secret_file = "/no/such/file";
  EXPECT_FALSE(plugin::shared_secret(none, wire::KeyId{}, "the rank"))
      << "never without what it was told to use";
}

}  // namespace
}  // namespace fanin::test
