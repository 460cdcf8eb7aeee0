// A worker with a secret among reducers that are not what they seem: it joins none that does not prove the secret, and
// says why. Raw bytes on the reducers' side.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "fanin/proof.h"
#include "plugin/collnet/connector.h"
#include "tests/support/reducer_fixture.h"
#include "transport/tcp/socket.h"

namespace fanin {
namespace {

using plugin::collnet::Joined;
using plugin::collnet::JoinRequest;
using test::has;
using test::start_reducer;
using wire::Refusal;

const Secret kSecret = *Secret::make("secret-of-the-job-0123456789abcdef"),
             kOther = *Secret::make("secret-of-another-0123456789abcdef");

// A thread that plays a reducer for one connection.
class Impostor {
 public:
  explicit Impostor(std::function<void(Impostor&)> play)
      : listener_(*tcp::listen_on(tcp::Address::loopback(0))) {
    thread_ = std::thread([this, play = std::move(play)] {
      pollfd p{listener_.get(), POLLIN, 0};
      if (::poll(&p, 1, 10000) != 1) return;
      fd_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      listener_.reset();  // no second try
      play(*this);
      ::shutdown(fd_.get(), SHUT_WR);
      char sink[256];
      while (::recv(fd_.get(), sink, sizeof sink, 0) > 0) {
      }
    });
    address_ = *tcp::local_address(listener_.get());
  }
  ~Impostor() { thread_.join(); }
  const tcp::Address& address() const { return address_; }

  template <class T>
  T read() {
    T t{};
    EXPECT_EQ(::recv(fd_.get(), &t, sizeof t, MSG_WAITALL), static_cast<ssize_t>(sizeof t));
    return t;
  }
  void send(const wire::Welcome& w, const std::string& text = "") {
    std::string bytes(reinterpret_cast<const char*>(&w), sizeof w);
    bytes += text;
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The end of the worker's side, with nothing more said.
  bool heard_nothing_more() {
    char byte;
    return ::recv(fd_.get(), &byte, 1, 0) == 0;
  }

 private:
  Fd listener_, fd_;
  tcp::Address address_;
  std::thread thread_;
};

wire::Welcome admitted() {
  wire::Welcome w{};
  w.preamble = {wire::kMagic, wire::kVersion, sizeof w};
  w.lanes = 1;
  w.block_bytes = 65536;
  w.window_blocks = 4;
  w.reducer.fill(7);
  return w;
}
// What the first Hello asks for.
wire::Welcome answered() {
  wire::Welcome w = admitted();
  w.refusal = Refusal::kAnswer;
  return w;
}
wire::Welcome challenge(const Secret& s, const wire::Hello& h) {
  wire::Welcome c{};
  c.preamble = {wire::kMagic, wire::kVersion, sizeof c};
  c.refusal = Refusal::kChallenge;
  c.nonce = *fresh_nonce();
  c.proof = reducer_proof(s, h, c);
  return c;
}

Joined join(const tcp::Address& at, const std::optional<Secret>& secret, uint32_t rank = 0) {
  JoinRequest request;
  request.session.fill(1);
  request.rank = rank;
  request.nranks = 2;
  request.window = 1 << 20;
  request.secret = secret;
  auto joined = plugin::collnet::join_pool({{"the-reducer", {at}}}, request,
                                           Deadline::after(std::chrono::milliseconds(5000)));
  EXPECT_TRUE(joined && joined->size() == 1);
  return std::move(joined->front());
}

TEST(WorkerAuth, JoinsAReducerThatKnowsTheSecret) {
  ReducerConfig c = test::reducer_config(3);
  c.secrets = {{"other", kOther}, {"job", kSecret}};
  auto r = start_reducer(c);
  Joined j = join(r->address(), kSecret);
  EXPECT_EQ(j.lanes.size(), 3u) << j.why;
  plugin::collnet::leave(j.lanes);
}

// All ranks of a job on one host come at once: nobody is crowded out, refused or left waiting.
TEST(WorkerAuth, SixtyFourRanksOfEightLanesAtOnce) {
  for (const std::optional<Secret>& secret : {std::optional<Secret>(), std::optional<Secret>(kSecret)}) {
    ReducerConfig c = test::reducer_config(8);
    c.memory = 1ull << 30;
    if (secret) c.secrets = {{"job", *secret}};
    auto r = start_reducer(c);
    JoinRequest request;
    request.session.fill(1);
    request.nranks = 64;
    request.window = 1 << 20;
    request.secret = secret;
    std::vector<std::vector<Joined>> joined(64);
    const auto began = Deadline::Clock::now();
    std::vector<std::thread> ranks;
    for (uint32_t rank = 0; rank < 64; ++rank)
      ranks.emplace_back([&, rank] {
        JoinRequest mine = request;
        mine.rank = rank;
        auto j = plugin::collnet::join_pool({{"the-reducer", {r->address()}}}, mine,
                                            Deadline::after(std::chrono::milliseconds(20000)));
        if (j) joined[rank] = std::move(*j);
      });
    for (auto& t : ranks) t.join();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - began);
    RecordProperty(secret ? "with_secret_ms" : "without_secret_ms", static_cast<int>(took.count()));
    printf("512 connections %s a secret: %d ms\n", secret ? "with" : "without",
           static_cast<int>(took.count()));
    for (auto& j : joined) {
      ASSERT_EQ(j.size(), 1u);
      EXPECT_EQ(j[0].lanes.size(), 8u) << j[0].why;
      plugin::collnet::leave(j[0].lanes);
    }
    EXPECT_EQ(r->stats().strangers, 0u);
    EXPECT_EQ(r->stats().refused, 0u);
  }
}

TEST(WorkerAuth, BothSidesSayWhoLacksWhat) {
  ReducerConfig c = test::reducer_config();
  auto open = start_reducer(c);
  c.secrets = {{"other", kOther}};
  auto others = start_reducer(c);
  EXPECT_TRUE(has(join(open->address(), kSecret).why, "start the reducer with --secret-file"));
  EXPECT_TRUE(has(join(others->address(), kSecret).why, "not among this reducer's"));
  EXPECT_TRUE(has(join(others->address(), std::nullopt).why, "set FANIN_SECRET_FILE in the job"));
}

TEST(WorkerAuth, AReducerThatAsksForNoProof) {
  for (const wire::Welcome& w : {admitted(), answered()}) {
    Impostor impostor([&](Impostor& i) {
      EXPECT_EQ(i.read<wire::Hello>().capabilities, wire::kAsk);
      i.send(w);
      EXPECT_TRUE(i.heard_nothing_more());
    });
    const std::string why = join(impostor.address(), kSecret).why;
    EXPECT_TRUE(has(why, "without asking for the job's secret")) << why;
  }
}

TEST(WorkerAuth, AnAdmissionIsNoAnswer) {
  Impostor impostor([](Impostor& i) {
    i.read<wire::Hello>();
    i.send(admitted());
  });
  EXPECT_EQ(join(impostor.address(), std::nullopt).why, "sent an impossible handshake");
}

TEST(WorkerAuth, ChallengesThatProveNothing) {
  using Forge = wire::Welcome (*)(const wire::Hello&);
  const Forge forgeries[] = {
      [](const wire::Hello& h) { return challenge(kOther, h); },
      [](const wire::Hello& h) {
        wire::Welcome c = challenge(kSecret, h);
        c.proof = {};
        return c;
      },
      // Replayed: right for a Hello with another nonce.
      [](const wire::Hello& h) {
        wire::Hello earlier = h;
        earlier.nonce = *fresh_nonce();
        return challenge(kSecret, earlier);
      },
      // Reflected: what the worker itself would prove.
      [](const wire::Hello& h) {
        wire::Welcome c = challenge(kSecret, h);
        c.proof = worker_proof(kSecret, h, c);
        return c;
      },
      // Changed on the way: another rank, lane, window or capability in the Hello, another one in the challenge.
      [](const wire::Hello& h) {
        wire::Hello other = h;
        other.capabilities ^= 1;
        return challenge(kSecret, other);
      },
      [](const wire::Hello& h) {
        wire::Welcome c = challenge(kSecret, h);
        c.capabilities ^= 1;
        return c;
      },
  };
  for (Forge forge : forgeries) {
    Impostor impostor([forge](Impostor& i) {
      i.send(forge(i.read<wire::Hello>()));
      EXPECT_TRUE(i.heard_nothing_more());  // above all no proof of its own
    });
    const std::string why = join(impostor.address(), kSecret).why;
    EXPECT_TRUE(has(why, "did not prove that it knows the job's secret")) << why;
  }
}

TEST(WorkerAuth, ProvesItselfAndBindsTheWelcome) {
  for (int change = 0; change < 5; ++change) {
    Impostor impostor([change](Impostor& i) {
      const auto h = i.read<wire::Hello>();
      EXPECT_EQ(h.key, kSecret.id());
      EXPECT_NE(h.nonce, wire::Nonce{});
      const wire::Welcome c = challenge(kSecret, h);
      i.send(c);
      EXPECT_EQ(i.read<wire::HelloProof>().proof, worker_proof(kSecret, h, c));
      wire::Welcome w = answered();
      w.proof = welcome_proof(kSecret, h, c, w, "");
      if (change == 1) w.block_bytes = 4096;
      if (change == 2) w.proof = {};
      if (change == 3) w.proof = c.proof;
      if (change == 4) w.capabilities = 1;
      i.send(w);
    });
    Joined j = join(impostor.address(), kSecret);
    // The right one is believed: the worker comes again, to join, and finds nobody.
    EXPECT_EQ(j.why, change == 0 ? "Connection refused"
                                 : "did not prove that it knows the job's secret; it may be a stranger");
  }
}

TEST(WorkerAuth, AChallengeToAWorkerWithoutSecretIsNonsense) {
  Impostor impostor([](Impostor& i) { i.send(challenge(kOther, i.read<wire::Hello>())); });
  const std::string why = join(impostor.address(), std::nullopt).why;
  EXPECT_TRUE(has(why, "refused: reason 10") || has(why, "impossible")) << why;
}

// Whoever listens at a reducer's address does not write lines of its own into the job's log.
TEST(WorkerAuth, ARefusalsWordsAreOneLineOfText) {
  for (const bool secret : {false, true}) {
    Impostor impostor([](Impostor& i) {
      i.read<wire::Hello>();
      wire::Welcome w = answered();
      const std::string text = "no\n\x1b[2Jhost:1:2 [0] NCCL INFO all is well";
      w.refusal = Refusal::kTooMany;
      w.text_bytes = static_cast<uint32_t>(text.size());
      i.send(w, text);
    });
    const std::string why = join(impostor.address(), secret ? std::optional(kSecret) : std::nullopt).why;
    EXPECT_EQ(why, "refused: no??[2Jhost:1:2 [0] NCCL INFO all is well");
  }
}

TEST(WorkerVersions, SaysWhichSideToUpgrade) {
  for (int newer = 0; newer < 2; ++newer) {
    Impostor impostor([newer](Impostor& i) {
      // As any version must: eight bytes in common, the rest its own.
      i.read<wire::Preamble>();
      wire::Welcome w{};
      w.preamble = {wire::kMagic, static_cast<uint16_t>(newer ? wire::kVersion + 1 : 1), 48};
      i.send(w);
    });
    const std::string why = join(impostor.address(), std::nullopt).why;
    EXPECT_TRUE(has(why, newer ? "upgrade libnccl-net-fanin.so on this host" : "upgrade the reducer")) << why;
  }
}

}  // namespace
}  // namespace fanin
