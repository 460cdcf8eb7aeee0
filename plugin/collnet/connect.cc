#include "plugin/collnet/connect.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <thread>

#include "fanin/session_name.h"
#include "fanin/version.h"
#include "plugin/collnet/connector.h"
#include "plugin/collnet/io_place.h"
#include "plugin/collnet/measured.h"
#include "plugin/collnet/pool_warning.h"
#include "plugin/collnet/probe.h"
#include "plugin/collnet/rendezvous.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "plugin/host_name.h"
#include "plugin/job_secret.h"
#include "plugin/listen.h"
#include "plugin/log.h"
#include "plugin/strict.h"
#include "topology/rate.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::collnet {
namespace {

std::string size_text(uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " bytes";
}

// Tries this rank's pool and fills the report with what came of it.
std::vector<Joined> try_pool(const Options& options, JoinRequest& request, Deadline deadline,
                             Report& report) {
  const PoolSource& source = options.pool;
  report.configured = !source.from.empty();
  if (!report.configured) return {};
  if (source.spec.empty()) {
    report.config_error = source.trouble;
    return {};
  }
  PoolWait wait;
  wait.expect = options.expect_reducers != 0 ? options.expect_reducers : source.expect;
  wait.until =
      Deadline::after(wait.expect != 0 ? options.connect_timeout * 3 / 10
                                       : std::min(kRefusalPatience, options.connect_timeout * 3 / 10));
  // What is left of the time is for the names that were looked up.
  wait.lookups = Deadline::after(options.connect_timeout * 45 / 100);
  wait.say = [](const std::string& line) { FANIN_INFO(NCCL_INIT | NCCL_NET, "%s", line.c_str()); };
  const int family = request.nic ? request.nic->address.family() : AF_UNSPEC;
  Result<std::vector<PoolMember>> pool = wait_for_pool(source.spec, family, wait);
  if (wait.lookups.passed())
    FANIN_WARN(
        "looking up the names in %s took longer than 45 %% of FANIN_CONNECT_TIMEOUT_MS (%lld ms): look at "
        "this host's DNS, "
        "or write addresses",
        source.from.c_str(), static_cast<long long>(options.connect_timeout.count()));
  if (!pool) {
    report.config_error = pool.error().in(source.from).text();
    return {};
  }
  if (pool->size() < wait.expect)
    FANIN_WARN("%s names %zu reducers, %zu were expected; going on with those", source.from.c_str(),
               pool->size(), wait.expect);
  if (wait.expect != 0) request.refusals = options.connect_timeout;
  // However long the look-ups took, what they found gets a chance.
  const Deadline least = Deadline::after(options.connect_timeout * 15 / 100);
  if (deadline.sooner(least).at() == deadline.at()) deadline = least;
  Result<std::vector<Joined>> joined = join_pool(*pool, request, deadline);
  if (!joined) {
    report.config_error = joined.error().text();
    return {};
  }
  for (const Joined& j : *joined) {
    if (j.lanes.empty())
      report.missed.push_back({j.name, clipped_why(j.why)});
    else
      report.reached.push_back({j.id, j.name, j.mbps});
  }
  return std::move(*joined);
}

// The connections of the verdict's reducers in plan order: all lanes 0, then all lanes 1, … so that
// neighbours in the plan are on different reducers; with the lanes' weights. Leaves the others.
std::vector<LaneConnection> plan_order(std::vector<Joined>& joined, const Verdict& verdict,
                                       std::vector<uint32_t>& weights) {
  std::vector<std::vector<LaneConnection>*> chosen;
  std::vector<size_t> lanes_of;
  for (const wire::ReducerId& id : verdict.reducers)
    for (Joined& j : joined)
      if (j.id == id && !j.lanes.empty()) {
        chosen.push_back(&j.lanes);
        lanes_of.push_back(j.lanes.size());
      }
  const std::vector<uint32_t> each = lane_weights(verdict.weights, lanes_of);
  std::vector<LaneConnection> out;
  for (size_t lane = 0, added = 1; added > 0; ++lane) {
    added = 0;
    for (size_t r = 0; r < chosen.size(); ++r)
      if (lane < lanes_of[r]) {
        out.push_back(std::move((*chosen[r])[lane]));
        weights.push_back(each[r]);
        ++added;
      }
  }
  for (auto* lanes : chosen) lanes->clear();
  for (Joined& j : joined) leave(j.lanes);
  return out;
}

// Small slices keep a slow link busy in both directions; a fast one gains less by them than their system calls cost.
uint64_t min_slice_for(const NetDevice& device) {
  return device.speed_mbps > 10000 || device.address.is_loopback() ? 16 << 10 : 6 << 10;
}

// For two nodes a ring is as good whatever the pool is like (plugin/tuner/model.h).
constexpr int kLeastToMeasure = 3;

CommConfig configure(const Options& options, int nranks, int rank, const Listener& listener,
                     const Verdict& verdict) {
  CommConfig c;
  c.rank = static_cast<uint32_t>(rank);
  c.nranks = static_cast<uint32_t>(nranks);
  c.window = options.window;
  c.stats_file = options.stats_file;
  c.min_slice = verdict.min_slice;
  c.io_threads = options.io_threads != 0
                     ? options.io_threads
                     : static_cast<unsigned>(std::clamp(listener.device().speed_mbps / 25000, 1, 4));
  // Polling beside the job's own threads only pays where there are cores to spare.
  c.tuning.poll = std::chrono::microseconds(options.poll_us >= 0                      ? options.poll_us
                                            : std::thread::hardware_concurrency() < 8 ? 0
                                                                                      : 20);
  c.tuning.timeout = options.timeout;
  c.tuning.stall = options.stall;
  if (options.affinity) c.tuning.cpus = io_cpus(listener.device().name, c.io_threads);
  c.tuning.keepalive = options.keepalive;
  return c;
}

void log_use(const Comm& comm, const std::string& session, const Verdict& verdict,
             const std::vector<Joined>& joined, const Options& options, const NetDevice& device) {
  std::string names;
  size_t n = 0;
  for (const wire::ReducerId& id : verdict.reducers)
    for (const Joined& j : joined)
      if (j.id == id && n++ < 8) names += (names.empty() ? "" : ", ") + j.name;
  const std::string from = options.pool.from == "FANIN_REDUCERS" ? "" : " of " + options.pool.from;
  FANIN_INFO(NCCL_INIT | NCCL_NET,
             "rank %u of %u on %s uses %zu reducers (%s%s)%s, session %s, %zu lanes, tcp, window %s, slices "
             "from %s, %zu "
             "I/O threads%s; fanin %s",
             comm.rank(), comm.nranks(), device.name.c_str(), verdict.reducers.size(), names.c_str(),
             n > 8 ? ", …" : "", from.c_str(), session.c_str(), comm.lanes(),
             size_text(options.window).c_str(), size_text(verdict.min_slice).c_str(), comm.io_threads(),
             options.checksums ? ", checksums" : "", kFaninVersion);
}

// Which of their addresses, where a reducer is not simply the address it was given.
void log_places(const std::vector<Joined>& joined, const NetDevice& device) {
  std::string text;
  size_t n = 0;
  for (const Joined& j : joined)
    if (!j.lanes.empty() && j.at != j.name && n++ < 8)
      text += (text.empty() ? "" : "; ") + j.name + " at " + j.at +
              (j.mbps ? " (" + rate_text(1e6 * j.mbps) + ")" : "");
  if (n > 0)
    FANIN_INFO(NCCL_INIT | NCCL_NET, "%s reaches %s%s", device.name.c_str(), text.c_str(),
               n > 8 ? "; …" : "");
}

// The ring it is, on every rank: logged, or an error where strictness was asked for.
Result<std::unique_ptr<Comm>> fall_back(const Verdict& verdict, int nranks, int rank) {
  if (verdict.strict) {
    const Error error(Errc::kRemote, "reducers cannot be used and FANIN_STRICT=1: " + verdict.reason);
    refuse_service(error);
    return error;
  }
  FANIN_WARN("rank %d of %d does without reducers, NCCL uses its own algorithms: %s", rank, nranks,
             verdict.reason.c_str());
  return std::unique_ptr<Comm>();
}

}  // namespace

Result<std::unique_ptr<Listener>> open_listener(const Options& options, const NetDevice& device,
                                                Handle& handle, std::span<const NetDevice> node) {
  Result<Fd> fd = listen_for_workers(device.address, options.ports);
  if (!fd) return fd.error();
  Result<tcp::Address> at = tcp::local_address(fd->get());
  if (!at) return at.error();
  Result<std::optional<Secret>> secret = job_secret(options);
  const wire::KeyId key = !secret ? kUnreadable : *secret ? (*secret)->id() : wire::KeyId{};
  Result<Handle> h = make_handle(*at, key);
  if (!h) return h.error();
  handle = *h;
  return std::make_unique<Listener>(device, std::move(*fd), handle, std::move(secret), node);
}

Result<std::unique_ptr<Comm>> connect_session(const Options& options, void* const* handles, int nranks,
                                              int rank, const Listener& listener) {
  if (nranks < 1 || rank < 0 || rank >= nranks || static_cast<uint32_t>(nranks) > wire::kMaxRanks)
    return Error(Errc::kInvalidArgument,
                 "rank " + std::to_string(rank) + " of " + std::to_string(nranks) + " is impossible");
  const Deadlines deadlines = Deadlines::within(options.connect_timeout);
  const tcp::Address& local = listener.device().address;
  // Every rank sees the same handles, so a bad one sends all of them the same way.
  std::vector<tcp::Address> addresses;
  for (int r = 0; r < nranks; ++r) {
    Handle h;
    memcpy(&h, handles[r], sizeof h);
    Result<tcp::Address> at = handle_address(h, r, local);
    if (!at) {
      Verdict v;
      v.strict = options.strict;
      v.reason = at.error().text();
      return fall_back(v, nranks, rank);
    }
    addresses.push_back(*at);
  }
  if (std::string why = secrets_differ(handles, nranks); !why.empty()) {
    Verdict v;
    v.strict = options.strict;
    v.reason = listener.secret() ? why : listener.secret().error().text();
    return fall_back(v, nranks, rank);
  }
  const std::optional<Secret>& secret = *listener.secret();
  std::optional<SessionKey> key;
  if (secret) {
    // Its fresh nonce is what keeps an old agreement from being played to this rank again.
    if (memcmp(handles[rank], &listener.handle(), sizeof(Handle)) != 0)
      return Error(Errc::kInvalidArgument,
                   "the handles of the ranks do not hold rank " + std::to_string(rank) + "'s own");
    key = session_key(*secret, handles, nranks);
  }

  JoinRequest request;
  request.session = session_id(handles, nranks);
  request.rank = static_cast<uint32_t>(rank);
  request.nranks = static_cast<uint32_t>(nranks);
  request.window = options.window;
  request.nic = Nic{local, listener.device().netmask};
  request.keepalive = options.keepalive;
  request.secret = secret;
  request.checksums = options.checksums;
  // What the pool has for a node is told by rank 0, from its own view.
  if (rank == 0)
    for (const NetDevice& d : listener.node())
      if (!(d.address == local)) request.other_nics.push_back({d.address, d.netmask});
  const NodeRate node = node_rate(options.worker_bw, listener.node());
  Report report;
  report.session = request.session;
  report.rank = request.rank;
  report.nranks = request.nranks;
  report.host = host_name();
  report.strict = options.strict;
  report.measure = options.tuner && questions_expected() && nranks >= kLeastToMeasure;
  report.min_slice = options.min_slice != 0 ? options.min_slice : min_slice_for(listener.device());
  report.node_mbps = static_cast<uint32_t>(std::min(node.bits / 1e6, 4e9));
  std::vector<Joined> joined = try_pool(options, request, deadlines.reducers, report);

  Result<Verdict> verdict = rank == 0 ? lead_rendezvous(listener.fd(), report, addresses, deadlines, key)
                                      : follow_rendezvous(addresses[0], local, report, deadlines, key);
  if (!verdict) {
    for (Joined& j : joined) leave(j.lanes);
    refuse_service(verdict.error());  // NCCL takes no notice of the error and would wait for ever
    return verdict.error();
  }
  if (!verdict->use) {
    for (Joined& j : joined) leave(j.lanes);
    return fall_back(*verdict, nranks, rank);
  }
  if (!verdict->reason.empty())
    FANIN_WARN("rank %d of %d uses %zu reducers and leaves others out: %s", rank, nranks,
               verdict->reducers.size(), verdict->reason.c_str());
  if (options.min_slice != 0 && verdict->min_slice != options.min_slice)
    FANIN_WARN(
        "FANIN_MIN_SLICE is %s on rank %d (%s) and %s on rank 0; all ranks use rank 0's: set it alike "
        "everywhere",
        size_text(options.min_slice).c_str(), rank, report.host.c_str(),
        size_text(verdict->min_slice).c_str());
  log_places(joined, listener.device());
  if (rank == 0) warn_if_too_small(fit_of(*verdict, joined, request.nranks), node);
  std::vector<uint32_t> weights;
  std::vector<LaneConnection> lanes = plan_order(joined, *verdict, weights);
  CommConfig config = configure(options, nranks, rank, listener, *verdict);
  config.session = session_name(request.session);
  std::unique_ptr<Comm> comm = Comm::start(config, std::move(lanes), std::move(weights));
  if (!comm->failure().is_set()) log_use(*comm, config.session, *verdict, joined, options, listener.device());
  if (verdict->measure) {
    const auto figures = probe(*comm, verdict->reducers.size(),
                               listener.device().speed_known ? listener.device().speed_mbps : 0,
                               Deadline::after(options.connect_timeout));
    if (figures) put(*figures);
  }
  return comm;
}

}  // namespace fanin::plugin::collnet
