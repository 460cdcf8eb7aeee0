#include "tests/support/name_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace fanin::test {
namespace {

constexpr size_t kHeader = 12;
constexpr int kA = 1, kAaaa = 28;

int u16(const std::string& s, size_t at) {
  return static_cast<unsigned char>(s[at]) << 8 | static_cast<unsigned char>(s[at + 1]);
}
std::string u16(unsigned v) { return {static_cast<char>(v >> 8), static_cast<char>(v)}; }

// The question's name with dots, and where it ends; "" for what is no question.
std::string name_in(const std::string& query, size_t* end) {
  std::string name;
  size_t at = kHeader;
  while (at < query.size() && query[at] != 0) {
    const size_t n = static_cast<unsigned char>(query[at]);
    if (n > 63 || at + 1 + n >= query.size()) return "";
    name += (name.empty() ? "" : ".") + query.substr(at + 1, n);
    at += 1 + n;
  }
  *end = at + 1;
  return *end + 4 <= query.size() ? name : "";
}

}  // namespace

NameServer::NameServer(const tcp::Address& at)
    : socket_(::socket(at.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (::bind(socket_.get(), at.sa(), at.length()) != 0) {
    perror("a name server's port");
    abort();
  }
  thread_ = std::thread([this] { run(); });
}

NameServer::~NameServer() {
  const uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) abort();
  thread_.join();
}

void NameServer::set(const std::string& name, const std::vector<std::string>& addresses) {
  Name n;
  for (const std::string& a : addresses) n.addresses.push_back(tcp::Address::numeric(a, 0).value());
  std::lock_guard guard(lock_);
  names_[name] = std::move(n);
}

void NameServer::slow_down(std::chrono::milliseconds each) { delay_ms_ = static_cast<int>(each.count()); }

bool NameServer::wait_asked(const std::string& name) {
  std::unique_lock guard(lock_);
  return asked_.wait_for(guard, std::chrono::seconds(10), [&] { return names_[name].asked > 0; });
}

std::string NameServer::answer(std::string query) {
  size_t end = 0;
  if (query.size() < kHeader) return "";
  const std::string name = name_in(query, &end);
  if (name.empty()) return "";
  const int type = u16(query, end);
  std::string records;
  unsigned count = 0;
  std::lock_guard guard(lock_);
  Name& known = names_[name];
  const size_t n = known.addresses.size();
  for (size_t i = 0; i < n; ++i) {
    const tcp::Address& a = known.addresses[(i + known.asked) % n];
    if (type != (a.family() == AF_INET ? kA : kAaaa)) continue;
    const auto bytes = a.bytes();
    const std::string ip(bytes.begin() + (type == kA ? 12 : 0), bytes.end());
    // The name is the question's; class IN, to be kept for no time.
    records += u16(0xc000 | kHeader) + u16(static_cast<unsigned>(type)) + u16(1) + std::string(4, '\0') +
               u16(static_cast<unsigned>(ip.size())) + ip;
    ++count;
  }
  ++known.asked;
  asked_.notify_all();
  constexpr unsigned kAnswer = 0x8580, kNoSuchName = 3;
  return query.substr(0, 2) + u16(kAnswer | (n == 0 ? kNoSuchName : 0)) + u16(1) + u16(count) + u16(0) +
         u16(0) + query.substr(kHeader, end + 4 - kHeader) + records;
}

void NameServer::run() {
  for (;;) {
    pollfd fds[] = {{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 || fds[1].revents != 0) return;
    char buf[1024];
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const ssize_t n =
        ::recvfrom(socket_.get(), buf, sizeof buf, 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (n <= 0) continue;
    const std::string reply = answer(std::string(buf, static_cast<size_t>(n)));
    pollfd stop{stop_.get(), POLLIN, 0};
    if (delay_ms_ > 0) ::poll(&stop, 1, delay_ms_);
    if (!reply.empty())
      ::sendto(socket_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
  }
}

}  // namespace fanin::test
