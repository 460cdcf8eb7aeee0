#include "perf/common/group.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

#include "transport/tcp/socket.h"

namespace fanin::perf {
namespace {

constexpr uint32_t kMagic = 0x50524546;
constexpr uint32_t kMaxBytes = 1 << 20;

struct Hail {
  uint32_t magic;
  int32_t rank, nranks;
};

// Waits until fd is ready for `events`, or the deadline.
Status wait_for(int fd, short events, Deadline deadline, const std::string& who) {
  for (;;) {
    pollfd p{fd, events, 0};
    int n = ::poll(&p, 1, deadline.poll_ms());
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return system_error("poll", errno);
    if (deadline.passed()) return Error(Errc::kRemote, who + " did not answer in time");
  }
}

Status send_all(int fd, const void* data, size_t bytes, Deadline deadline, const std::string& who) {
  auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t n = ::send(fd, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      p += n, bytes -= static_cast<size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      if (Status s = wait_for(fd, POLLOUT, deadline, who); !s) return s;
    } else if (n < 0 && errno != EINTR) {
      return Error(Errc::kRemote, who + " is gone");
    }
  }
  return {};
}

Status receive_all(int fd, void* data, size_t bytes, Deadline deadline, const std::string& who) {
  auto* p = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t n = ::recv(fd, p, bytes, MSG_DONTWAIT);
    if (n > 0) {
      p += n, bytes -= static_cast<size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      if (Status s = wait_for(fd, POLLIN, deadline, who); !s) return s;
    } else if (n == 0 || errno != EINTR) {
      return Error(Errc::kRemote, who + " is gone");
    }
  }
  return {};
}

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Result<Group> Group::host(const Fd& listener, int nranks, std::chrono::milliseconds patience) {
  Group g(0, nranks, patience);
  g.peers_.resize(static_cast<size_t>(nranks));
  Deadline deadline = Deadline::after(patience);
  for (int have = 1; have < nranks;) {
    std::string missing;
    for (int r = 1; r < nranks; r++)
      if (!g.peers_[static_cast<size_t>(r)]) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
    if (Status s = wait_for(listener.get(), POLLIN, deadline, "rank(s) " + missing); !s) return s.error();
    Result<Fd> fd = tcp::accept_from(listener.get());
    if (!fd) return fd.error();
    if (!*fd) continue;
    if (Status s = tcp::tune(fd->get()); !s) return s.error();
    Hail hail{};
    // A stranger must not hold the others up for long.
    Status s = receive_all(fd->get(), &hail, sizeof hail,
                           deadline.sooner(Deadline::after(std::chrono::seconds(2))), "");
    if (!s || hail.magic != kMagic) continue;
    if (hail.nranks != nranks)
      return Error(Errc::kInvalidUsage, rank_name(hail.rank) + " was started with " +
                                            std::to_string(hail.nranks) + " ranks, rank 0 with " +
                                            std::to_string(nranks));
    if (hail.rank < 1 || hail.rank >= nranks || g.peers_[static_cast<size_t>(hail.rank)])
      return Error(Errc::kInvalidUsage,
                   rank_name(hail.rank) + " joined twice or is outside 0 … " + std::to_string(nranks - 1));
    g.peers_[static_cast<size_t>(hail.rank)] = std::move(*fd);
    have++;
  }
  if (Status s = g.barrier(); !s) return s.error();
  return g;
}

Result<Group> Group::join(const std::vector<tcp::Address>& root, int rank, int nranks,
                          std::chrono::milliseconds patience) {
  Group g(rank, nranks, patience);
  Deadline deadline = Deadline::after(patience);
  for (size_t attempt = 0;; attempt++) {
    const tcp::Address& to = root[attempt % root.size()];
    Result<Fd> fd = tcp::start_connect(to);
    int err = ECONNREFUSED;
    if (fd) {
      if (Status s = wait_for(fd->get(), POLLOUT, deadline, "rank 0 at " + to.text()); !s) return s.error();
      err = tcp::finish_connect(fd->get()).err;
    } else if (fd.error().code() != Errc::kRemote) {
      return fd.error();
    }
    if (err == 0) {
      g.peers_.push_back(std::move(*fd));
      break;
    }
    if (deadline.passed()) return system_error("cannot reach rank 0 at " + to.text(), err, Errc::kRemote);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (Status s = tcp::tune(g.peers_[0].get()); !s) return s.error();
  Hail hail{kMagic, rank, nranks};
  if (Status s = send_all(g.peers_[0].get(), &hail, sizeof hail, deadline, "rank 0"); !s) return s.error();
  if (Status s = g.barrier(); !s) return s.error();
  return g;
}

Result<std::vector<std::string>> Group::all_gather(const std::string& mine) {
  Deadline deadline = Deadline::after(patience_);
  size_t each = mine.size();
  std::string all(each * static_cast<size_t>(size_), '\0');
  if (rank_ == 0) {
    memcpy(all.data(), mine.data(), each);
    for (int r = 1; r < size_; r++) {
      int fd = peers_[static_cast<size_t>(r)].get();
      uint32_t bytes = 0;
      if (Status s = receive_all(fd, &bytes, sizeof bytes, deadline, rank_name(r)); !s) return s.error();
      if (bytes != each || bytes > kMaxBytes)
        return Error(Errc::kInvalidUsage, rank_name(r) + " runs with other options than rank 0");
      if (Status s =
              receive_all(fd, all.data() + static_cast<size_t>(r) * each, each, deadline, rank_name(r));
          !s)
        return s.error();
    }
    for (int r = 1; r < size_; r++) {
      int fd = peers_[static_cast<size_t>(r)].get();
      if (Status s = send_all(fd, all.data(), all.size(), deadline, rank_name(r)); !s) return s.error();
    }
  } else {
    auto bytes = static_cast<uint32_t>(each);
    int fd = peers_[0].get();
    if (Status s = send_all(fd, &bytes, sizeof bytes, deadline, "rank 0"); !s) return s.error();
    if (Status s = send_all(fd, mine.data(), each, deadline, "rank 0"); !s) return s.error();
    if (Status s = receive_all(fd, all.data(), all.size(), deadline, "rank 0"); !s) return s.error();
  }
  std::vector<std::string> out;
  for (size_t r = 0; r < static_cast<size_t>(size_); r++) out.push_back(all.substr(r * each, each));
  return out;
}

Status Group::barrier() {
  auto all = all_gather("b");
  return all ? Status() : Status(all.error());
}

}  // namespace fanin::perf
