// The status server as a door for strangers: bounded in connections, time and bytes; and what it answers.
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "reducer/http/client.h"
#include "reducer/http/server.h"
#include "tests/support/reducer_fixture.h"
#include "tests/support/soon.h"
#include "transport/tcp/socket.h"

namespace fanin::reducer::http {
namespace {

using std::chrono::milliseconds;
using test::eventually;
using test::has;

Response echo(const Request& r, const ServerCounts&) { return {200, r.method + " " + r.path + "\n"}; }

std::unique_ptr<Server> start(ServerConfig c = {}, Server::Handler handler = echo) {
  c.listen = tcp::Address::loopback(0);
  Result<std::unique_ptr<Server>> s = Server::start(c, std::move(handler));
  if (!s) {
    ADD_FAILURE() << s.error().text();
    abort();
  }
  return *std::move(s);
}

Answer ask_it(const Server& s, const std::string& method, const std::string& path) {
  Result<Answer> a = ask(s.address(), method, path, Deadline::after(milliseconds(10000)));
  EXPECT_TRUE(a) << a.error().text();
  return a ? *a : Answer{};
}

// A connection that has been made.
Fd connection(const Server& s) {
  Result<Fd> fd = tcp::start_connect(s.address());
  EXPECT_TRUE(fd);
  pollfd p{fd->get(), POLLOUT, 0};
  EXPECT_EQ(::poll(&p, 1, 10000), 1);
  EXPECT_EQ(tcp::finish_connect(fd->get()).err, 0);
  return *std::move(fd);
}

void say(const Fd& fd, const std::string& text) {
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// All that comes until the connection ends; "(still open)" if it does not.
std::string rest(const Fd& fd, int patience_ms = 10000) {
  std::string all;
  char bytes[4096];
  for (;;) {
    pollfd p{fd.get(), POLLIN, 0};
    if (::poll(&p, 1, patience_ms) != 1) return "(still open)";
    const ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) return all;
    all.append(bytes, static_cast<size_t>(n));
  }
}

TEST(HttpServer, AnswersAndSaysWhatItMay) {
  auto s = start();
  const Answer a = ask_it(*s, "GET", "/metrics?x");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, "GET /metrics\n");
  EXPECT_TRUE(has(a.head, "Content-Length: 13\r\n")) << a.head;
  EXPECT_TRUE(has(a.head, "Content-Security-Policy: default-src 'none'")) << a.head;
  const Answer head = ask_it(*s, "HEAD", "/");
  EXPECT_TRUE(has(head.head, "Content-Length: 6\r\n")) << head.head;
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(ask_it(*s, "POST", "/x").body, "POST /x\n");
  EXPECT_EQ(ask_it(*s, "DELETE", "/x").status, 405);
  EXPECT_TRUE(eventually([&] { return s->counts().open == 0; }));
  EXPECT_EQ(s->counts().answered, 4u);
  EXPECT_EQ(s->counts().dropped, 0u);
}

TEST(HttpServer, LargeAnswersArriveWhole) {
  const std::string large(8 << 20, 'x');
  auto s = start({}, [&](const Request&, const ServerCounts&) { return Response{200, large}; });
  EXPECT_EQ(ask_it(*s, "GET", "/").body, large);
}

TEST(HttpServer, TellsWhatIsNoRequest) {
  auto s = start();
  Fd tls = connection(*s);
  say(tls, "\x16\x03\x01\x02");
  EXPECT_TRUE(has(rest(tls), "HTTP/1.1 400 "));
  Fd endless = connection(*s);
  say(endless, "GET / HTTP/1.1\r\nx: " + std::string(kMaxHead, 'y'));
  EXPECT_TRUE(has(rest(endless), "HTTP/1.1 431 "));
}

TEST(HttpServer, TimeIsForAllOfARequestHoweverItTrickles) {
  ServerConfig c;
  c.time = milliseconds(200);
  auto s = start(c);
  Fd silent = connection(*s), busy = connection(*s);
  const auto began = Deadline::Clock::now();
  bool open = true;
  const std::string line = "GET / HTTP/1.1\r\na:b\r\n";
  for (size_t i = 0; open && Deadline::Clock::now() - began < 2 * test::kSoon; ++i) {
    open = ::send(busy.get(), &line[std::min(i, line.size() - 5 + i % 5)], 1, MSG_NOSIGNAL) == 1;
    pollfd p{busy.get(), POLLIN, 0};
    ::poll(&p, 1, 5);
    char byte;
    if (p.revents && ::recv(busy.get(), &byte, 1, MSG_DONTWAIT) == 0) open = false;
  }
  EXPECT_FALSE(open);
  EXPECT_LT(Deadline::Clock::now() - began, test::kSoon);
  EXPECT_EQ(rest(silent), "");
  EXPECT_TRUE(eventually([&] { return s->counts().dropped == 2; })) << s->counts().dropped;
}

// One who asks and does not read its answer is gone by the deadline too.
TEST(HttpServer, TimeIsForTheAnswerToo) {
  ServerConfig c;
  c.time = milliseconds(200);
  const std::string large(32 << 20, 'x');
  auto s = start(c, [&](const Request&, const ServerCounts&) { return Response{200, large}; });
  Fd fd = connection(*s);
  say(fd, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return s->counts().dropped == 1; }));
}

// Many who ask for much and read nothing: what is kept for them all is bounded.
TEST(HttpServer, AnswersThatNobodyReadsMakeRoom) {
  ServerConfig c;
  c.time = milliseconds(600000);
  const std::string large(16 << 20, 'x');
  auto s = start(c, [&](const Request&, const ServerCounts&) { return Response{200, large}; });
  std::vector<Fd> held;
  for (uint64_t i = 0; i < 10; ++i) {
    held.push_back(connection(*s));
    say(held.back(), "GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return s->counts().answered == i + 1; }));
  }
  // Three of 16 MiB and their heads fit.
  EXPECT_TRUE(eventually([&] { return s->counts().dropped == 7; })) << s->counts().dropped;
  EXPECT_EQ(ask_it(*s, "GET", "/").body, large);
}

TEST(HttpServer, TheOldestMakesRoom) {
  ServerConfig c;
  c.max_connections = 3;
  c.time = milliseconds(600000);
  auto s = start(c);
  std::vector<Fd> held;
  for (int i = 0; i < 3; ++i) held.push_back(connection(*s));
  ASSERT_TRUE(eventually([&] { return s->counts().open == 3; }));
  EXPECT_EQ(ask_it(*s, "GET", "/").status, 200);
  EXPECT_EQ(rest(held[0]), "");
  EXPECT_EQ(rest(held[1], 0), "(still open)");
}

TEST(HttpServer, AllowedAreTheListAndLoopback) {
  ServerConfig c;
  c.allow = *tcp::NetworkList::parse("10.1.2.0/24");
  auto s = start(c);
  EXPECT_EQ(ask_it(*s, "GET", "/").status, 200);
}

TEST(HttpServer, OthersAreClosedUnread) {
  ifaddrs* list = nullptr;
  ASSERT_EQ(::getifaddrs(&list), 0);
  tcp::Address own;
  for (ifaddrs* i = list; i; i = i->ifa_next)
    if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
        !(i->ifa_flags & IFF_LOOPBACK))
      own = tcp::Address(i->ifa_addr, sizeof(sockaddr_in));
  ::freeifaddrs(list);
  if (own.family() != AF_INET) GTEST_SKIP() << "this host has no address but loopback's";
  own.set_port(0);
  for (const char* allowed : {"10.255.254.253", "0.0.0.0/0"}) {
    ServerConfig c;
    c.listen = own;
    c.allow = *tcp::NetworkList::parse(allowed);
    Result<std::unique_ptr<Server>> s = Server::start(c, echo);
    ASSERT_TRUE(s) << s.error().text();
    Result<Answer> a = ask((*s)->address(), "GET", "/", Deadline::after(milliseconds(10000)));
    EXPECT_EQ(a && a->status == 200, allowed == std::string("0.0.0.0/0")) << allowed;
  }
}

TEST(HttpServer, WithoutDescriptorsItWaitsAndDoesNotSpin) {
  auto s = start();
  std::vector<Fd> fds;
  Fd waiting = connection(*s);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(eventually([&] { return s->counts().open == 1; }));
  Fd newcomer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(newcomer.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  while (Fd more{::dup(0)}) fds.push_back(std::move(more));
  ASSERT_EQ(::connect(newcomer.get(), s->address().sa(), s->address().length()), 0);
  say(newcomer, "GET /late HTTP/1.1\r\n\r\n");
  timespec a{}, b{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  EXPECT_EQ(rest(newcomer, 300), "(still open)");
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  EXPECT_LT((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000, 100);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(has(rest(newcomer), "GET /late"));
}

TEST(HttpServer, AHandlerThatThrowsCostsItsConnection) {
  auto s = start({}, [](const Request& r, const ServerCounts&) -> Response {
    if (r.path == "/bad") throw std::bad_alloc();
    return {200, "well\n"};
  });
  Fd fd = connection(*s);
  say(fd, "GET /bad HTTP/1.1\r\n\r\n");
  EXPECT_EQ(rest(fd), "");
  EXPECT_EQ(ask_it(*s, "GET", "/").body, "well\n");
}

}  // namespace
}  // namespace fanin::reducer::http
