#include "plugin/net/recv_comm.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace fanin::plugin::net {

Result<bool> RecvRequest::test(size_t* sizes) { return comm->test(*this, sizes); }

RecvComm::RecvComm(std::vector<std::unique_ptr<Stream>> streams, const std::optional<wire::Proof>& proof,
                   std::chrono::milliseconds silence)
    : control_(std::move(streams[0])), silence_(silence) {
  guards_.emplace_back(control_->fd());
  for (size_t i = 1; i < streams.size(); i++) guards_.emplace_back(streams[i]->fd());
  for (size_t i = 1; i < streams.size(); i++) inlets_.emplace_back(std::move(streams[i]));
  for (size_t i = 0; i < requests_.size(); i++) {
    requests_[i].comm = this;
    requests_[i].slot = static_cast<int>(i);
  }
  if (proof) {
    memcpy(output_.data(), proof->data(), sizeof *proof);
    output_fill_ = sizeof *proof;
    flush_credits();
  }
}

RecvComm::~RecvComm() {
  for (Inlet& i : inlets_) ::shutdown(i.stream().fd(), SHUT_RDWR);
  ::shutdown(control_->fd(), SHUT_RDWR);
}

Result<Request*> RecvComm::irecv(int n, void* const* data, const size_t* sizes, const int* tags) {
  if (failed_) return *failed_;
  if (n < 1 || n > kMaxGroupedReceives)
    return Error(Errc::kInvalidArgument, "a group of " + std::to_string(n) + " receives; 1 to " +
                                             std::to_string(kMaxGroupedReceives) + " are possible");
  if (deaf_) return *deaf_;
  if (all_ended())
    return fail(
        Error(Errc::kRemote, "peer " + control_->peer() + " closed the connection; it sends no more"));
  int slot = postings_.post(n, data, sizes, tags);
  if (slot < 0) return nullptr;
  write_credit(slot);
  flush_credits();
  if (deaf_) {
    postings_.release(slot);
    return *deaf_;
  }
  return &requests_[static_cast<size_t>(slot)];
}

Result<bool> RecvComm::test(RecvRequest& r, size_t* sizes) {
  const Postings::Slot& s = postings_.at(r.slot);
  if (s.n == 0) return Error(Errc::kInvalidArgument, "test of a receive that is already done");
  if (s.left) {
    Status status = progress();
    if (s.left) {
      if (!status) return status.error();
      return false;
    }
  }
  if (sizes)
    for (int p = 0; p < s.n; p++) sizes[p] = s.parts[static_cast<size_t>(p)].total;
  postings_.release(r.slot);
  return true;
}

Status RecvComm::progress() {
  if (failed_) return *failed_;
  if (output_fill_) flush_credits();
  for (Inlet& i : inlets_)
    if (Status s = i.progress(postings_); !s) return fail(s.error());
  if (postings_.open() && all_ended())
    return fail(Error(Errc::kRemote, "peer " + control_->peer() + " closed the connection with " +
                                         std::to_string(postings_.open()) + " receives from it outstanding"));
  // Keep-alive watches the data sockets; on the control socket credits may be on their way.
  if (silence_.time_to_look() && silence_.too_long(*control_)) return fail(silence_.error(*control_));
  return {};
}

void RecvComm::write_credit(int slot) {
  const Postings::Slot& s = postings_.at(slot);
  Credit credit{s.sequence, static_cast<uint16_t>(slot), static_cast<uint16_t>(s.n)};
  memcpy(output_.data() + output_fill_, &credit, sizeof credit);
  output_fill_ += sizeof credit;
  for (int p = 0; p < s.n; p++) {
    CreditPart part{s.parts[static_cast<size_t>(p)].posted, s.parts[static_cast<size_t>(p)].tag, 0};
    memcpy(output_.data() + output_fill_, &part, sizeof part);
    output_fill_ += sizeof part;
  }
}

void RecvComm::flush_credits() {
  iovec iov{output_.data(), output_fill_};
  IoResult r = control_->writev(&iov, 1);
  if (r.kind == IoResult::Kind::kFailed)
    deaf_ = system_error("lost peer " + control_->peer() + ": cannot post a receive", r.err, Errc::kRemote);
  if (!r.moved()) return;
  output_fill_ -= r.bytes;
  memmove(output_.data(), output_.data() + r.bytes, output_fill_);
}

bool RecvComm::all_ended() const {
  return std::all_of(inlets_.begin(), inlets_.end(), [](const Inlet& i) { return i.ended(); });
}

Error RecvComm::fail(Error e) {
  failed_ = std::move(e);
  return *failed_;
}

}  // namespace fanin::plugin::net
