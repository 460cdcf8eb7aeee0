#include "perf/nccl_perf/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "transport/tcp/socket.h"

namespace fanin::nccl_perf {
namespace {

struct Hello {
  char magic[8];
  uint32_t process, processes;
  uint64_t run;
};
constexpr char kMagic[8] = {'f', 'a', 'n', 'i', 'n', 'n', 'p', '1'};
enum class Answer : uint32_t { kWelcome = 1, kOtherRun = 2, kTaken = 3 };

constexpr std::chrono::milliseconds kIntroduction{5000}, kRetry{100}, kNotice{5000};

// A connection whose hello is still arriving.
struct Caller {
  Fd fd;
  Hello hello{};
  size_t have = 0;
  Deadline deadline = Deadline::after(kIntroduction);
};

// True once the hello is whole; an empty fd means the caller is to be dropped.
bool hello_is_whole(Caller& c) {
  const ssize_t n =
      ::recv(c.fd.get(), reinterpret_cast<char*>(&c.hello) + c.have, sizeof c.hello - c.have, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    c.fd.reset();
    return false;
  }
  c.have += static_cast<size_t>(n);
  if (memcmp(c.hello.magic, kMagic, std::min(c.have, sizeof kMagic)) != 0) c.fd.reset();
  return c.fd && c.have == sizeof c.hello;
}

void notice(const std::vector<std::optional<Peer>>& seats, size_t seated) {
  std::string missing;
  for (size_t i = 0; i < seats.size() && missing.size() < 60; i++)
    if (!seats[i]) missing += (missing.empty() ? "" : ", ") + std::to_string(i + 1);
  fprintf(stderr, "fanin-nccl-perf: waiting for %zu of %zu processes: %s\n", seats.size() - seated,
          seats.size() + 1, missing.c_str());
}

// Seats a caller or sends it away; an error when it belongs to this run but contradicts it.
Status seat(Caller& c, const Membership& self, std::vector<std::optional<Peer>>& seats, size_t& seated) {
  Answer answer = Answer::kWelcome;
  const uint32_t p = c.hello.process;
  if (c.hello.processes != self.processes || c.hello.run != self.run || p == 0 || p >= self.processes) {
    answer = Answer::kOtherRun;
  } else if (seats[p - 1]) {
    answer = Answer::kTaken;
  }
  const Status sent = write_all(c.fd.get(), &answer, sizeof answer, Deadline::after(kIntroduction));
  if (answer == Answer::kOtherRun)
    return Error(Errc::kInvalidUsage,
                 "process " + std::to_string(p) + " of " + std::to_string(c.hello.processes) +
                     " was started with other options or another number of processes than process 0");
  if (answer == Answer::kTaken)
    return Error(Errc::kInvalidUsage, "two processes say they are process " + std::to_string(p));
  if (!sent) return {};  // it will come again
  seats[p - 1].emplace(std::move(c.fd));
  seated++;
  return {};
}

Result<Fd> connect_once(const tcp::Address& to, Deadline deadline) {
  Result<Fd> fd = tcp::start_connect(to);
  if (!fd) return fd;
  pollfd p{fd->get(), POLLOUT, 0};
  if (::poll(&p, 1, deadline.poll_ms()) <= 0) return Error(Errc::kRemote, "no answer from " + to.text());
  const tcp::ConnectOutcome outcome = tcp::finish_connect(fd->get());
  if (outcome.err) return system_error("connect to " + to.text(), outcome.err, Errc::kRemote);
  return fd;
}

}  // namespace

Result<Fd> listen_at(const tcp::HostPort& meet) {
  Result<std::vector<tcp::Address>> addresses = tcp::resolve(meet);
  if (!addresses) return addresses.error();
  tcp::Address at = addresses->front();
  // A name may resolve to a loopback address on its own host only (Debian's /etc/hosts): then listen
  // everywhere.
  const bool local = meet.host == "localhost" || (at.is_loopback() && tcp::Address::numeric(meet.host, 0));
  if (!local) at = tcp::Address::any(at.family(), meet.port);
  Result<Fd> fd = tcp::listen_on(at);
  if (!fd)
    return fd.error().in("process 0 cannot wait for the others at " + meet.host + ":" +
                         std::to_string(meet.port) + " (choose another with --rendezvous or MASTER_PORT)");
  return fd;
}

Result<std::vector<Peer>> await_peers(const Fd& listener, const Membership& self, Deadline deadline) {
  std::vector<std::optional<Peer>> seats(self.processes - 1);
  std::vector<Caller> callers;
  size_t seated = 0;
  Deadline next_notice = Deadline::after(kNotice);
  while (seated < seats.size()) {
    if (deadline.passed()) {
      notice(seats, seated);
      return Error(Errc::kRemote, std::to_string(seats.size() - seated) + " of " +
                                      std::to_string(self.processes) + " processes did not come");
    }
    if (next_notice.passed()) {
      notice(seats, seated);
      next_notice = Deadline::after(kNotice * 6);
    }
    std::vector<pollfd> fds{{listener.get(), POLLIN, 0}};
    for (const Caller& c : callers) fds.push_back({c.fd.get(), POLLIN, 0});
    ::poll(fds.data(), fds.size(), Deadline::after(kRetry * 5).sooner(deadline).poll_ms());
    for (size_t i = 0; i < callers.size(); i++) {
      Caller& c = callers[i];
      if (fds[i + 1].revents != 0 && hello_is_whole(c)) {
        if (Status s = seat(c, self, seats, seated); !s) return s.error();
        c.fd.reset();
      }
      if (c.deadline.passed()) c.fd.reset();
    }
    std::erase_if(callers, [](const Caller& c) { return !c.fd; });
    if (fds[0].revents != 0) {
      Result<Fd> fd = tcp::accept_from(listener.get());
      if (!fd) return fd.error();
      if (*fd) callers.emplace_back().fd = *std::move(fd);
    }
  }
  std::vector<Peer> peers;
  for (auto& s : seats) peers.push_back(*std::move(s));
  for (const Peer& p : peers)
    if (Status s = tcp::tune(p.fd()); !s) return s.error();
  return peers;
}

Result<Peer> join(const tcp::HostPort& meet, const Membership& self, Deadline deadline) {
  Hello hello{{}, self.process, self.processes, self.run};
  memcpy(hello.magic, kMagic, sizeof kMagic);
  const std::string where = meet.host + ":" + std::to_string(meet.port);
  Error last(Errc::kRemote, "not tried");
  Deadline next_notice = Deadline::after(kNotice);
  while (!deadline.passed()) {
    if (next_notice.passed()) {
      fprintf(stderr, "fanin-nccl-perf: process %u waits for process 0 at %s: %s\n", self.process,
              where.c_str(), last.text().c_str());
      next_notice = Deadline::after(kNotice * 6);
    }
    Result<std::vector<tcp::Address>> addresses = tcp::resolve(meet);
    if (!addresses) {
      last = addresses.error();  // DNS of a starting job may lag
    } else {
      for (const tcp::Address& to : *addresses) {
        Result<Fd> fd = connect_once(to, deadline.sooner(Deadline::after(kIntroduction)));
        if (!fd) {
          last = fd.error();
          continue;
        }
        Answer answer{};
        const Deadline soon = deadline.sooner(Deadline::after(kIntroduction));
        Status s = write_all(fd->get(), &hello, sizeof hello, soon);
        if (s) s = read_all(fd->get(), &answer, sizeof answer, soon);
        if (s && answer == Answer::kOtherRun)
          return Error(Errc::kInvalidUsage,
                       "process 0 at " + where + " runs with other options or another number of processes");
        if (s && answer == Answer::kTaken)
          return Error(Errc::kInvalidUsage, "process 0 at " + where + " has a process " +
                                                std::to_string(self.process) + " already");
        if (s && answer == Answer::kWelcome) {
          if (Status t = tcp::tune(fd->get()); !t) return t.error();
          return Peer(*std::move(fd));
        }
        last = s ? Error(Errc::kRemote, "what listens there is not fanin-nccl-perf") : s.error();
      }
    }
    ::poll(nullptr, 0, static_cast<int>(kRetry.count()));
  }
  return last.in("process " + std::to_string(self.process) + " cannot reach process 0 at " + where);
}

}  // namespace fanin::nccl_perf
