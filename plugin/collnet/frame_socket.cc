#include "plugin/collnet/frame_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace fanin::plugin::collnet {
namespace {

Error closed() { return Error(Errc::kRemote, "it closed the connection"); }

}  // namespace

Result<std::optional<FrameSocket::Frame>> FrameSocket::poll_frame() {
  for (;;) {
    RendezvousHeader h{};
    size_t want = sizeof h;
    if (in_.size() >= sizeof h) {
      memcpy(&h, in_.data(), sizeof h);
      if (h.magic != RendezvousHeader::kMagic) return Error(Errc::kRemote, "it is not a fanin rank");
      if (h.version != RendezvousHeader::kVersion) {
        other_version_ = h.version;
        return Error(Errc::kRemote, version_differs(h.version, "it", "its host", "this host"));
      }
      if (h.body_bytes > max_body_) return Error(Errc::kRemote, "it sent an impossible frame");
      want += h.body_bytes + (seal_ ? sizeof(wire::Proof) : 0);
      if (in_.size() == want) {
        Frame f{h.type, in_.substr(sizeof h, h.body_bytes)};
        if (seal_) {
          wire::Proof said;
          memcpy(said.data(), in_.data() + sizeof h + h.body_bytes, sizeof said);
          if (!seal_->fits(static_cast<uint16_t>(h.type), f.body, said))
            return Error(Errc::kRemote,
                         "it did not prove that it knows the job's secret; it may be a stranger");
        }
        in_.clear();
        return std::optional<Frame>(std::move(f));
      }
    }
    // Never past the frame's end: what is announced is not allocated before it comes.
    char buf[4096];
    const ssize_t n = ::recv(fd_.get(), buf, std::min(sizeof buf, want - in_.size()), MSG_DONTWAIT);
    if (n > 0) {
      in_.append(buf, static_cast<size_t>(n));
      continue;
    }
    if (n == 0) return closed();
    if (errno == EAGAIN) return std::optional<Frame>();
    if (errno != EINTR) return system_error("receive", errno, Errc::kRemote);
  }
}

std::string_view FrameSocket::arriving() const {
  return in_.size() > sizeof(RendezvousHeader) ? std::string_view(in_).substr(sizeof(RendezvousHeader))
                                               : std::string_view();
}

Result<FrameSocket::Frame> FrameSocket::receive(Deadline deadline) {
  for (;;) {
    Result<std::optional<Frame>> f = poll_frame();
    if (!f) return f.error();
    if (*f) return std::move(**f);
    if (deadline.passed()) return Error(Errc::kRemote, "it did not answer in time");
    pollfd p{fd_.get(), POLLIN, 0};
    ::poll(&p, 1, deadline.poll_ms());
  }
}

Status FrameSocket::send(RendezvousType type, const std::string& body, Deadline deadline) {
  std::string bytes = encode(type, body);
  if (seal_) {
    const wire::Proof own = seal_->next(static_cast<uint16_t>(type), body);
    bytes.append(reinterpret_cast<const char*>(own.data()), own.size());
  }
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        ::send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return errno == EPIPE ? closed() : system_error("send", errno, Errc::kRemote);
    if (deadline.passed()) return Error(Errc::kRemote, "it did not take a frame in time");
    pollfd p{fd_.get(), POLLOUT, 0};
    ::poll(&p, 1, deadline.poll_ms());
  }
  return {};
}

}  // namespace fanin::plugin::collnet
