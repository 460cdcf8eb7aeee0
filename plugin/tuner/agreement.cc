#include "plugin/tuner/agreement.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "plugin/collnet/lane_attempt.h"
#include "plugin/collnet/rails.h"
#include "plugin/job_secret.h"
#include "topology/pool.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::tuner {
namespace {

constexpr std::chrono::milliseconds kToReach{5000};
// Past the reducer's own patience, which ends with an answer.
constexpr std::chrono::milliseconds kToHear = wire::kFiguresPatience + std::chrono::milliseconds(4000);

void poll_one(int fd, short events, Deadline until) {
  pollfd p{fd, events, 0};
  ::poll(&p, 1, until.poll_ms());
}

Agreed nothing(std::string why) { return {false, std::nullopt, std::move(why)}; }

// A welcomed connection, or null and why not.
std::unique_ptr<Stream> reach_one(const PoolMember& member, const collnet::JoinRequest& request,
                                  Deadline deadline, std::string& why) {
  collnet::LaneAttempt attempt(member.name, collnet::targets_to({}, member.addresses, tcp::source_for),
                               request, wire::kFiguresLane, 0, deadline);
  while (!attempt.over()) {
    pollfd p{attempt.fd(), attempt.events(), 0};
    ::poll(&p, 1, attempt.due().poll_ms());
    if (p.revents != 0 || attempt.due().passed()) attempt.step(p.revents != 0);
  }
  if (attempt.state() == collnet::LaneAttempt::State::kDone) return attempt.take().stream;
  why = member.name + ": " + attempt.why();
  return nullptr;
}

// All bytes of a struct, one way.
template <class Move>
Status move_all(Stream& stream, short events, size_t bytes, Deadline until, Move move) {
  for (size_t done = 0; done < bytes;) {
    const IoResult r = move(done);
    if (r.moved()) {
      done += r.bytes;
    } else if (r.broken() || until.passed()) {
      return Error(Errc::kRemote,
                   "reducer " + stream.peer() + (r.broken() ? " went away" : " did not answer in time") +
                       " while all ranks asked it for the pool's figures; FANIN_TUNER=0 does without");
    } else {
      poll_one(stream.fd(), events, until);
    }
  }
  return {};
}

}  // namespace

Result<Agreed> agree(const Options& options, const Question& q) {
  // From here to the first byte of the ask, whatever goes wrong is "nothing".
  Result<std::vector<PoolMember>> pool =
      resolve_pool(options.pool.spec, AF_UNSPEC, Deadline::after(kToReach));
  if (!pool) return nothing(pool.error().text());
  Result<std::optional<Secret>> secret = job_secret(options);
  if (!secret) return nothing(secret.error().text());
  collnet::JoinRequest request;
  memcpy(request.session.data(), &q.communicator, sizeof q.communicator);
  memcpy(request.session.data() + sizeof q.communicator, &q.settings, sizeof q.settings);
  request.nranks = static_cast<uint32_t>(q.shape.ranks);
  request.keepalive = options.keepalive;
  request.refusals = std::chrono::milliseconds(0);
  request.secret = *secret;
  std::unique_ptr<Stream> stream;
  std::string why;
  const Deadline reach = Deadline::after(kToReach);
  // Ranks that reach different ones are not counted together, and all get nothing.
  for (const PoolMember& member : *pool) {
    if (member.addresses.empty()) continue;
    if ((stream = reach_one(member, request, reach, why))) break;
  }
  if (!stream) return nothing(why.empty() ? "no reducer's name resolves" : why);

  wire::FiguresAsk ask{};
  ask.preamble = {wire::kMagic, wire::kVersion, sizeof ask};
  if (q.measured) {
    ask.measured = 1;
    ask.figures = *q.measured;
  }
  wire::FiguresAnswer answer{};
  const Deadline until = Deadline::after(kToHear);
  if (Status s = move_all(*stream, POLLOUT, sizeof ask, until,
                          [&](size_t done) {
                            const iovec iov{reinterpret_cast<char*>(&ask) + done, sizeof ask - done};
                            return stream->writev(&iov, 1);
                          });
      !s)
    return s.error();
  if (Status s = move_all(*stream, POLLIN, sizeof answer, until,
                          [&](size_t done) {
                            const iovec iov{reinterpret_cast<char*>(&answer) + done, sizeof answer - done};
                            return stream->readv(&iov, 1);
                          });
      !s)
    return s.error();
  const wire::Preamble expected{wire::kMagic, wire::kVersion, sizeof answer};
  if (memcmp(&answer.preamble, &expected, sizeof expected) != 0 || answer.agreed > 1 ||
      answer.measured > (answer.agreed == 1 ? q.shape.ranks : 0) ||
      (answer.measured != 0 && !answer.figures.possible()))
    return Error(Errc::kRemote,
                 "reducer " + stream->peer() + " answered something impossible to a question for figures");
  if (answer.agreed == 0)
    return nothing("not all ranks asked " + stream->peer() + " within 8 s, or too many others did");
  if (answer.measured == 0) return Agreed{true, std::nullopt, {}};
  Figures f;
  f.small_us = answer.figures.small_us;
  f.chunk_us = answer.figures.chunk_us;
  f.pool_rate = answer.figures.pool_rate;
  f.link_rate = answer.figures.link_rate;
  // One rank per node and rail has measured.
  f.rails =
      static_cast<uint32_t>(std::max<uint64_t>(1, (answer.measured + q.shape.nodes / 2) / q.shape.nodes));
  return Agreed{true, f, {}};
}

}  // namespace fanin::plugin::tuner
