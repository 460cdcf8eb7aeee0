#include "plugin/collnet/lane_attempt.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fanin/proof.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::plugin::collnet {
namespace {

constexpr std::chrono::milliseconds kMaxBackOff{250};
// With an address that does not answer at all: then another one, or a new connection. The kernel would repeat a lost SYN
// after 1, 3 and 7 s only, and SYNs do get lost when a whole job connects at once.
constexpr std::chrono::milliseconds kAddressPatience{2000};

std::string error_text(int err) {
  char buf[128];
  return strerror_r(err, buf, sizeof buf);
}

}  // namespace

LaneAttempt::LaneAttempt(std::string reducer, std::vector<tcp::Address> addresses, const JoinRequest& request,
                         uint32_t lane, uint64_t window, Deadline deadline)
    : reducer_(std::move(reducer)),
      addresses_(std::move(addresses)),
      request_(request),
      lane_(lane),
      window_(window),
      deadline_(deadline) {}

Deadline LaneAttempt::due() const { return wake_.sooner(deadline_); }

void LaneAttempt::step(bool ready) {
  if (over()) return;
  if (deadline_.passed()) {
    // "connection refused" says more than "no answer in time".
    return fail(reading() ? "connected, but no answer to the handshake (is it a fanin-reducer?)" : why_);
  }
  if (!ready && wake_.passed()) {
    if (state_ == State::kWaiting) return begin();
    return retry(state_ == State::kConnecting ? "no answer" : "no answer to the handshake");
  }
  if (!ready) return;
  switch (state_) {
    case State::kConnecting:
      return connected();
    case State::kHello:
      return send_some(&hello_, sizeof hello_, request_.secret ? State::kChallenge : State::kWelcome);
    case State::kProof:
      return send_some(&proof_, sizeof proof_, State::kWelcome);
    case State::kChallenge:
    case State::kWelcome:
      return read_welcome();
    default:
      return;
  }
}

void LaneAttempt::begin() {
  current_ = next_;
  const tcp::Address& to = addresses_[current_];
  next_ = (next_ + 1) % addresses_.size();
  Result<Fd> fd = tcp::start_connect(to, request_.source);
  if (!fd) return fd.error().code() == Errc::kRemote ? retry(fd.error().text()) : fail(fd.error().text());
  fd_ = std::move(*fd);
  state_ = State::kConnecting;
  wake_ = Deadline::after(kAddressPatience);
}

void LaneAttempt::connected() {
  const tcp::ConnectOutcome outcome = tcp::finish_connect(fd_.get());
  if (outcome.err != 0)
    return outcome.retry ? retry(error_text(outcome.err), outcome.err == ECONNREFUSED)
                         : fail(error_text(outcome.err));
  if (Status s = tcp::tune(fd_.get(), request_.keepalive); !s) return fail(s.error().text());
  hello_ = {};
  hello_.preamble = {wire::kMagic, wire::kVersion, sizeof(wire::Hello)};
  hello_.session = request_.session;
  hello_.rank = request_.rank;
  hello_.nranks = request_.nranks;
  hello_.lane = lane_;
  hello_.window_bytes = window_;
  hello_.capabilities = request_.checksums ? wire::kChecksums : 0;
  if (request_.secret) {
    Result<wire::Nonce> nonce = fresh_nonce();
    if (!nonce) return fail(nonce.error().text());
    hello_.key = request_.secret->id();
    hello_.nonce = *nonce;
  }
  welcome_ = {};
  text_.clear();
  done_ = 0;
  refused_since_.reset();
  wake_ = deadline_;
  state_ = State::kHello;
  step(true);
}

void LaneAttempt::send_some(const void* data, size_t bytes, State next) {
  const ssize_t n =
      ::send(fd_.get(), static_cast<const char*>(data) + done_, bytes - done_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? void() : retry(error_text(errno));
  done_ += static_cast<size_t>(n);
  if (done_ < bytes) return;
  done_ = 0;
  state_ = next;
}

void LaneAttempt::read_welcome() {
  // Not a byte more than the handshake: what follows belongs to the lane.
  while (reading()) {
    const bool in_struct = done_ < sizeof welcome_;
    char* to =
        in_struct ? reinterpret_cast<char*>(&welcome_) + done_ : text_.data() + (done_ - sizeof welcome_);
    const size_t want = in_struct ? sizeof welcome_ - done_ : text_.size() - (done_ - sizeof welcome_);
    const ssize_t n = ::recv(fd_.get(), to, want, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) return retry("the handshake broke: " + error_text(errno));
    if (n == 0) return retry("closed the connection during the handshake (is it a fanin-reducer?)");
    done_ += static_cast<size_t>(n);
    const auto& p = welcome_.preamble;
    if (done_ >= sizeof p && p.magic != wire::kMagic)
      return fail("is not a fanin-reducer (it answered something else)");
    if (done_ >= sizeof p && p.version != wire::kVersion)
      return fail("speaks protocol version " + std::to_string(p.version) + ", this plugin " +
                  std::to_string(wire::kVersion) + "; upgrade " +
                  (p.version > wire::kVersion ? "libnccl-net-fanin.so on this host" : "the reducer"));
    if (done_ >= sizeof p && p.bytes != sizeof welcome_) return fail("sent an impossible handshake");
    if (done_ < sizeof welcome_) continue;
    if (welcome_.text_bytes > wire::kMaxText) return fail("sent an impossible handshake");
    if (text_.size() != welcome_.text_bytes) text_.resize(welcome_.text_bytes);
    if (done_ < sizeof welcome_ + text_.size()) continue;
    if (state_ == State::kWelcome)
      judge_welcome();
    else
      judge_challenge();
  }
}

// The reducer's first answer to a worker with a secret: a challenge that only who knows the secret can make.
void LaneAttempt::judge_challenge() {
  if (welcome_.refusal != wire::Refusal::kChallenge) {
    if (welcome_.refusal != wire::Refusal::kNone) return judge_welcome();
    return fail(
        "takes workers without asking for the job's secret (FANIN_SECRET_FILE) and so may be a stranger; "
        "start it "
        "with --secret-file");
  }
  if (!text_.empty() || !equal(welcome_.proof, reducer_proof(*request_.secret, hello_, welcome_)))
    return fail("did not prove that it knows the job's secret; it may be a stranger");
  challenge_ = welcome_;
  proof_.preamble = {wire::kMagic, wire::kVersion, sizeof proof_};
  proof_.proof = worker_proof(*request_.secret, hello_, challenge_);
  welcome_ = {};
  done_ = 0;
  state_ = State::kProof;
  step(true);
}

void LaneAttempt::judge_welcome() {
  if (state_ == State::kWelcome && request_.secret &&
      !equal(welcome_.proof, welcome_proof(*request_.secret, hello_, challenge_, welcome_, text_)))
    return fail("did not prove that it knows the job's secret; it may be a stranger");
  if (welcome_.refusal != wire::Refusal::kNone)
    return fail("refused: " + (text_.empty()
                                   ? "reason " + std::to_string(static_cast<uint32_t>(welcome_.refusal))
                                   : text_));
  if (welcome_.lanes == 0 || welcome_.lanes > wire::kMaxLanes ||
      welcome_.block_bytes < wire::kMinBlockBytes || welcome_.block_bytes > wire::kMaxBlockBytes ||
      welcome_.block_bytes % 64 != 0 || welcome_.window_blocks == 0)
    return fail("sent an impossible handshake");
  if (welcome_.capabilities != hello_.capabilities)
    return fail(
        request_.checksums
            ? "does not know checksums (FANIN_CHECKSUM=1); upgrade the reducer, or unset it in the job"
            : "sent an impossible handshake");
  state_ = State::kDone;
}

LaneConnection LaneAttempt::take() {
  LaneConnection c;
  c.stream = std::make_unique<tcp::TcpStream>(std::move(fd_));
  c.reducer = reducer_;
  c.lane = lane_;
  c.block_bytes = welcome_.block_bytes;
  c.window_blocks = welcome_.window_blocks;
  c.checksums = request_.checksums;
  return c;
}

void LaneAttempt::retry(std::string why, bool refused) {
  fd_.reset();
  why_ = std::move(why);
  const auto now = Clock::now();
  if (!refused) refused_since_.reset();
  if (refused && !refused_since_) refused_since_ = now;
  if (refused && now - *refused_since_ >= request_.refusals) return fail(why_);
  state_ = State::kWaiting;
  // Another address at once; the same one again only after a pause.
  const bool all_tried = next_ == 0;
  wake_ = Deadline::after(all_tried ? back_off_ : std::chrono::milliseconds(0));
  if (all_tried) back_off_ = std::min(back_off_ * 2, kMaxBackOff);
}

void LaneAttempt::fail(std::string why) {
  fd_.reset();
  why_ = std::move(why);
  state_ = State::kFailed;
}

}  // namespace fanin::plugin::collnet
