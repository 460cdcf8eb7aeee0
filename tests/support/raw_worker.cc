#include "tests/support/raw_worker.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fanin/proof.h"
#include "transport/deadline.h"

namespace fanin::test {
namespace {

constexpr std::chrono::milliseconds kPatience{10000};

bool wait_for(int fd, short events) {
  pollfd p{fd, events, 0};
  int n;
  do n = ::poll(&p, 1, static_cast<int>(kPatience.count()));
  while (n < 0 && errno == EINTR);
  return n > 0;
}

}  // namespace

RawWorker::RawWorker(const tcp::Address& reducer, const std::optional<tcp::Address>& from)
    : fd_(::socket(reducer.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (from && ::bind(fd_.get(), from->sa(), from->length()) != 0)
    ADD_FAILURE() << "bind " << from->text() << ": " << strerror(errno);
  if (::connect(fd_.get(), reducer.sa(), reducer.length()) != 0)
    ADD_FAILURE() << "connect " << reducer.text() << ": " << strerror(errno);
}

wire::Hello RawWorker::hello(wire::SessionId session, uint32_t rank, uint32_t nranks, uint32_t lane,
                             uint64_t window_bytes) {
  wire::Hello h{};
  h.preamble = {wire::kMagic, wire::kVersion, sizeof h};
  h.session = session;
  h.rank = rank;
  h.nranks = nranks;
  h.lane = lane;
  h.window_bytes = window_bytes;
  return h;
}

wire::SessionId RawWorker::session(uint8_t tag) {
  wire::SessionId id{};
  id.fill(tag);
  return id;
}

void RawWorker::read_welcome() {
  welcome_ = {};
  if (!read_exactly(&welcome_, sizeof welcome_)) {
    ADD_FAILURE() << "no Welcome";
    return;
  }
  EXPECT_EQ(welcome_.preamble.magic, wire::kMagic);
  EXPECT_EQ(welcome_.preamble.bytes, sizeof welcome_);
  EXPECT_LE(welcome_.text_bytes, wire::kMaxText);
  refusal_.resize(welcome_.text_bytes);
  EXPECT_TRUE(read_exactly(refusal_.data(), refusal_.size()));
}

wire::Welcome RawWorker::greet(const wire::Hello& hello) {
  hello_ = hello;
  rank_ = hello.rank;
  send(hello);
  read_welcome();
  return welcome_;
}

wire::Hello RawWorker::hello_with(const Secret& secret, wire::Hello hello) {
  hello.key = secret.id();
  hello.nonce = *fresh_nonce();
  return hello;
}

wire::Welcome RawWorker::answer(const Secret& secret) {
  const wire::Welcome challenge = welcome_;
  reducer_proved_ = challenge.proof == reducer_proof(secret, hello_, challenge);
  send_proof(worker_proof(secret, hello_, challenge));
  reducer_proved_ =
      reducer_proved_ && welcome_.proof == welcome_proof(secret, hello_, challenge, welcome_, refusal_);
  return welcome_;
}

wire::Welcome RawWorker::send_proof(const wire::Proof& proof) {
  send(wire::HelloProof{{wire::kMagic, wire::kVersion, sizeof(wire::HelloProof)}, proof});
  read_welcome();
  return welcome_;
}

wire::Welcome RawWorker::join(const wire::Hello& hello) {
  wire::Welcome w = greet(hello);
  EXPECT_EQ(w.refusal, wire::Refusal::kNone) << refusal_;
  return w;
}

wire::SliceHeader RawWorker::all_reduce(uint64_t message, uint64_t bytes, DType type, RedOp op) {
  wire::SliceHeader h{};
  h.type = wire::FrameType::kSlice;
  h.coll = Coll::kAllReduce;
  h.dtype = type;
  h.op = op;
  h.message = message;
  h.message_bytes = h.length = bytes;
  return h;
}

wire::SliceHeader RawWorker::goodbye() {
  wire::SliceHeader h{};
  h.type = wire::FrameType::kGoodbye;
  return h;
}

void RawWorker::send(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    if (!wait_for(fd_.get(), POLLOUT)) {
      ADD_FAILURE() << "the reducer takes no more bytes";
      return;
    }
    ssize_t n = ::send(fd_.get(), p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return;  // reset: what the reducer said is still to be read
    p += n;
    bytes -= static_cast<size_t>(n);
  }
}

size_t RawWorker::try_send(const void* data, size_t bytes) {
  ssize_t n = ::send(fd_.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

bool RawWorker::read_exactly(void* data, size_t bytes) {
  char* p = static_cast<char*>(data);
  while (bytes > 0) {
    if (!wait_for(fd_.get(), POLLIN)) {
      ADD_FAILURE() << "the reducer sends nothing";
      return false;
    }
    ssize_t n = ::recv(fd_.get(), p, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

// Moves whole frames from pending_ to frames; false when an abort is among them.
bool RawWorker::parse(std::vector<Frame>* frames) {
  size_t at = 0;
  bool fine = true;
  while (pending_.size() - at >= sizeof(wire::ResultHeader)) {
    Frame f;
    memcpy(&f.head, pending_.data() + at, sizeof f.head);
    if (pending_.size() - at - sizeof f.head < f.head.payload_bytes) break;
    const std::byte* payload = pending_.data() + at + sizeof f.head;
    f.payload.assign(payload, payload + f.head.payload_bytes);
    at += sizeof f.head + f.head.payload_bytes;
    fine = fine && f.head.type == wire::FrameType::kResult;
    if (join_parts(&f)) frames->push_back(std::move(f));
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(at));
  return fine;
}

std::optional<Frame> RawWorker::next() {
  while (std::optional<Frame> f = next_part())
    if (join_parts(&*f)) return f;
  return std::nullopt;
}

std::optional<Frame> RawWorker::next_part() {
  Frame f;
  if (!read_exactly(&f.head, sizeof f.head)) return std::nullopt;
  f.payload.resize(f.head.payload_bytes);
  if (!read_exactly(f.payload.data(), f.payload.size())) return std::nullopt;
  return f;
}

// Puts a block together that comes in several frames; false while more of them are to come.
bool RawWorker::join_parts(Frame* f) {
  if (f->head.type != wire::FrameType::kResult) return true;
  if (!begun_.payload.empty()) {
    EXPECT_EQ(f->head.message, begun_.head.message);
    EXPECT_EQ(f->head.offset, begun_.head.offset + begun_.payload.size()) << "a gap in a divided block";
    begun_.payload.insert(begun_.payload.end(), f->payload.begin(), f->payload.end());
    begun_.head.more = f->head.more;
    *f = std::exchange(begun_, {});
    f->head.payload_bytes = static_cast<uint32_t>(f->payload.size());
  }
  if (!f->head.more) return true;
  EXPECT_FALSE(f->payload.empty()) << "an empty part of a block";
  begun_ = std::move(*f);
  ++parts_;
  return false;
}

Frame RawWorker::expect_abort() {
  while (std::optional<Frame> f = next())
    if (f->head.type == wire::FrameType::kAbort) return *f;
  ADD_FAILURE() << "the connection ended without an abort";
  return {};
}

void RawWorker::expect_closed() {
  char sink[4096];
  while (wait_for(fd_.get(), POLLIN)) {
    ssize_t n = ::recv(fd_.get(), sink, sizeof sink, 0);
    if (n == 0 || (n < 0 && errno != EINTR)) return;
  }
  ADD_FAILURE() << "the reducer keeps the connection open";
}

void RawWorker::append(std::vector<Bytes>* blocks, const wire::SliceHeader& slice,
                       const std::byte* window) const {
  uint64_t own_begin = 0, own_end = slice.message_bytes;
  if (slice.coll == Coll::kAllGather) {
    auto in_window = [&](uint64_t at) {
      return at < slice.window_offset ? 0 : std::min(at - slice.window_offset, slice.message_bytes);
    };
    own_begin = in_window(rank_ * slice.bytes_per_rank);
    own_end = in_window((rank_ + 1) * slice.bytes_per_rank);
  }
  for (uint64_t at = 0; at < slice.length; at += welcome_.block_bytes) {
    Bytes& out = blocks->emplace_back();
    if (at == 0) {
      auto* h = reinterpret_cast<const std::byte*>(&slice);
      out.insert(out.end(), h, h + sizeof slice);
    }
    uint64_t begin = std::max(slice.offset + at, own_begin);
    uint64_t end = std::min(slice.offset + std::min(slice.length, at + welcome_.block_bytes), own_end);
    if (begin < end) out.insert(out.end(), window + begin, window + end);
  }
}

std::vector<Frame> RawWorker::exchange(std::span<const Bytes> blocks) {
  std::vector<Frame> in;
  Deadline deadline = Deadline::after(kPatience);
  std::vector<std::byte> buf(256 << 10);
  size_t sent = 0, off = 0;  // whole blocks, and bytes of the next one
  while (in.size() < blocks.size()) {
    bool may_send = sent < std::min(blocks.size(), in.size() + welcome_.window_blocks);
    pollfd p{fd_.get(), static_cast<short>(POLLIN | (may_send ? POLLOUT : 0)), 0};
    if (::poll(&p, 1, deadline.poll_ms()) == 0) {
      ADD_FAILURE() << "rank " << rank_ << ": " << in.size() << " of " << blocks.size() << " frames came, "
                    << sent << " blocks are sent";
      return in;
    }
    if (p.revents & POLLOUT) {
      const Bytes& b = blocks[sent];
      if (off < b.size()) {
        ssize_t n = ::send(fd_.get(), b.data() + off, b.size() - off, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) off += static_cast<size_t>(n);
      }
      if (off == b.size()) ++sent, off = 0;
    }
    if (p.revents & (POLLIN | POLLHUP | POLLERR)) {
      ssize_t n = ::recv(fd_.get(), buf.data(), buf.size(), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) {
        ADD_FAILURE() << "the reducer closed after " << in.size() << " of " << blocks.size() << " frames";
        return in;
      }
      if (n > 0) pending_.insert(pending_.end(), buf.begin(), buf.begin() + n);
      if (!parse(&in)) {
        ADD_FAILURE() << "abort: " << in.back().text();
        return in;
      }
    }
  }
  return in;
}

void RawWorker::reset() {
  linger now{1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd_.reset();
}

}  // namespace fanin::test
