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
// Before it said anything: how --allow looks from outside.
constexpr const char* kHungUp =
    "closed the connection during the handshake (is it a fanin-reducer, and does its --allow name this "
    "host?)";
constexpr const char* kSilent = "connected, but no answer to the handshake (is it a fanin-reducer?)";

}  // namespace

LaneAttempt::LaneAttempt(std::string reducer, std::vector<Target> targets, const JoinRequest& request,
                         uint32_t lane, uint64_t window, Deadline deadline, const wire::ReducerId& id)
    : reducer_(std::move(reducer)),
      targets_(std::move(targets)),
      request_(request),
      lane_(lane),
      window_(window),
      deadline_(deadline),
      id_(id),
      dead_(targets_.size()) {}

Deadline LaneAttempt::due() const { return wake_.sooner(deadline_); }

void LaneAttempt::step(bool ready) {
  if (over()) return;
  if (deadline_.passed()) {
    // "connection refused" says more than "no answer in time".
    return fail(reading() ? kSilent : why_);
  }
  if (!ready && wake_.passed()) {
    if (state_ == State::kWaiting) return begin();
    dead_[current_] = true;
    return retry(state_ == State::kConnecting ? "no answer" : kSilent);
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
  const Target& target = targets_[current_];
  next_ = (next_ + 1) % targets_.size();
  dead_[current_] = true;
  Result<Fd> fd = tcp::start_connect(target.to, target.source);
  if (!fd) return fd.error().code() == Errc::kRemote ? retry(fd.error().text()) : pass_on(fd.error().text());
  fd_ = std::move(*fd);
  state_ = State::kConnecting;
  // The kernel would repeat a lost SYN after 1, 3 and 7 s only, and SYNs do get lost when a whole job connects at once.
  wake_ = Deadline::after(target.patience);
}

void LaneAttempt::connected() {
  const tcp::ConnectOutcome outcome = tcp::finish_connect(fd_.get());
  dead_[current_] = outcome.err != 0 && outcome.err != ECONNREFUSED;
  if (outcome.err != 0)
    return outcome.retry ? retry(system_text(outcome.err), outcome.err == ECONNREFUSED)
                         : pass_on(system_text(outcome.err));
  if (Status s = tcp::tune(fd_.get(), request_.keepalive); !s) return fail(s.error().text());
  tcp::keep_in_cache(fd_.get(), tcp::kLaneBuffer);
  hello_ = {};
  hello_.preamble = {wire::kMagic, wire::kVersion, sizeof(wire::Hello)};
  hello_.session = request_.session;
  hello_.rank = request_.rank;
  hello_.nranks = request_.nranks;
  hello_.lane = lane_ == kAsk ? 0 : lane_;
  hello_.window_bytes = window_;
  hello_.capabilities = lane_ == kAsk ? wire::kAsk : request_.checksums ? wire::kChecksums : 0;
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
  // A middlebox may accept for an address behind which nobody is. Asking joins nothing: another one is tried then. A lane that
  // was joined could not be taken back without ending the session.
  wake_ = lane_ == kAsk && targets_.size() > 1 ? Deadline::after(targets_[current_].patience) : deadline_;
  state_ = State::kHello;
  step(true);
}

void LaneAttempt::send_some(const void* data, size_t bytes, State next) {
  const ssize_t n =
      ::send(fd_.get(), static_cast<const char*>(data) + done_, bytes - done_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) return retry(errno == ECONNRESET || errno == EPIPE ? kHungUp : system_text(errno));
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
    if (n == 0 || (n < 0 && errno == ECONNRESET && done_ == 0)) return retry(kHungUp);
    if (n < 0) return retry("the handshake broke: " + system_text(errno));
    done_ += static_cast<size_t>(n);
    const auto& p = welcome_.preamble;
    if (done_ >= sizeof p && p.magic != wire::kMagic)
      return pass_on("is not a fanin-reducer (it answered something else)");
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
    const bool grants =
        welcome_.refusal == wire::Refusal::kNone || welcome_.refusal == wire::Refusal::kAnswer;
    if (!grants) return judge_welcome();
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
  const wire::Refusal expected = lane_ == kAsk ? wire::Refusal::kAnswer : wire::Refusal::kNone;
  if (welcome_.refusal > wire::Refusal::kNone && welcome_.refusal != expected)
    return fail("refused: " + (text_.empty()
                                   ? "reason " + std::to_string(static_cast<uint32_t>(welcome_.refusal))
                                   : printable(text_)));
  if (id_ != wire::ReducerId{} && welcome_.reducer != id_)
    return pass_on("another reducer answers at its address");
  if (welcome_.refusal != expected || welcome_.lanes == 0 || welcome_.lanes > wire::kMaxLanes ||
      welcome_.block_bytes < wire::kMinBlockBytes || welcome_.block_bytes > wire::kMaxBlockBytes ||
      welcome_.block_bytes % 64 != 0 || (welcome_.window_blocks == 0 && lane_ != kAsk))
    return fail("sent an impossible handshake");
  if (lane_ == kAsk)
    fd_.reset();  // that was all
  else if (welcome_.capabilities != hello_.capabilities)
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

void LaneAttempt::pass_on(std::string why) {
  if (next_ == 0) return fail(std::move(why));
  retry(std::move(why));
}

std::vector<tcp::Address> LaneAttempt::dead() const {
  std::vector<tcp::Address> out;
  for (size_t i = 0; i < targets_.size(); ++i)
    if (dead_[i] && !(state_ == State::kDone && targets_[i].to == target().to)) out.push_back(targets_[i].to);
  return out;
}

void LaneAttempt::fail(std::string why) {
  fd_.reset();
  why_ = std::move(why);
  state_ = State::kFailed;
}

}  // namespace fanin::plugin::collnet
