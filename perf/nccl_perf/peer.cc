#include "perf/nccl_perf/peer.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace fanin::nccl_perf {
namespace {

struct Header {
  uint32_t kind, size;
};
constexpr uint32_t kMaxBody = 16 << 20;
constexpr std::chrono::seconds kSilence{60};

Status wait_for(int fd, short events, Deadline deadline) {
  pollfd p{fd, events, 0};
  if (deadline.passed() || ::poll(&p, 1, deadline.poll_ms()) == 0)
    return Error(Errc::kRemote, "no progress within the time allowed");
  return {};
}

bool would_block(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

}  // namespace

Status write_all(int fd, const void* data, size_t size, Deadline deadline) {
  auto* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(fd, p, size, MSG_NOSIGNAL);
    if (n > 0) {
      p += n;
      size -= static_cast<size_t>(n);
    } else if (would_block(errno)) {
      if (Status s = wait_for(fd, POLLOUT, deadline); !s) return s;
    } else {
      return system_error("send", errno, Errc::kRemote);
    }
  }
  return {};
}

Status read_all(int fd, void* data, size_t size, Deadline deadline) {
  auto* p = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::recv(fd, p, size, 0);
    if (n > 0) {
      p += n;
      size -= static_cast<size_t>(n);
    } else if (n == 0) {
      return Error(Errc::kRemote, "connection closed");
    } else if (would_block(errno)) {
      if (Status s = wait_for(fd, POLLIN, deadline); !s) return s;
    } else {
      return system_error("recv", errno, Errc::kRemote);
    }
  }
  return {};
}

Status Peer::send(MessageKind kind, const std::string& body) {
  const Header header{static_cast<uint32_t>(kind), static_cast<uint32_t>(body.size())};
  std::string whole(reinterpret_cast<const char*>(&header), sizeof header);
  whole += body;
  return write_all(fd_.get(), whole.data(), whole.size(), Deadline::after(kSilence));
}

Result<Message> Peer::receive() {
  Header header;
  const Deadline deadline = Deadline::after(kSilence);
  if (Status s = read_all(fd_.get(), &header, sizeof header, deadline); !s) return s.error();
  if (header.size > kMaxBody || header.kind < 1 || header.kind > 3)
    return Error(Errc::kRemote, "not a message of fanin-nccl-perf");
  Message m{static_cast<MessageKind>(header.kind), std::string(header.size, '\0')};
  if (Status s = read_all(fd_.get(), m.body.data(), m.body.size(), deadline); !s) return s.error();
  return m;
}

}  // namespace fanin::nccl_perf
