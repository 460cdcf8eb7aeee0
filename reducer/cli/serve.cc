#include "reducer/cli/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>

#include "reducer/cli/advertise.h"
#include "reducer/cli/host_limits.h"
#include "reducer/cli/log.h"
#include "reducer/cli/memory_reserve.h"
#include "reducer/cli/open_doors.h"
#include "reducer/cli/secret_keeper.h"
#include "reducer/http/server.h"
#include "reducer/kernels/reduce.h"
#include "reducer/metrics/status_board.h"
#include "reducer/mib.h"
#include "transport/fd.h"
#include "transport/wake.h"

namespace fanin::reducer::cli {
namespace {

constexpr std::chrono::milliseconds kDrainPoll{20};
constexpr int kSecretsPollMs = 1000;

// SIGTERM and SIGINT, SIGUSR1 (what launchers hand on that kill their tasks at a SIGTERM: srun), and SIGHUP if asked
// for, as a descriptor.
Result<Fd> signals_of(bool hangup) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR1);
  if (hangup) sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return system_error("signalfd", errno);
  return fd;
}

// What main waits for: signals, and whoever may drain over HTTP. It is drained once: a second request is none to end.
struct Calls {
  Fd signals;
  Wake drain;
  bool draining = false;
};

// The next signal (SIGTERM stands for a request to drain), or 0 when none came in that time.
int next_signal(Calls& calls, int timeout_ms) {
  pollfd p[2] = {{calls.signals.get(), POLLIN, 0}, {calls.draining ? -1 : calls.drain.fd(), POLLIN, 0}};
  signalfd_siginfo info;
  if (::poll(p, 2, timeout_ms) < 1) return 0;
  if (p[0].revents && ::read(calls.signals.get(), &info, sizeof info) == sizeof info)
    return static_cast<int>(info.ssi_signo);
  return p[1].revents ? SIGTERM : 0;
}

// Waits for a signal to stop by, no longer than that; meanwhile keeps the secrets up to date. False: none came.
bool stopped(Calls& calls, int timeout_ms, SecretKeeper& secrets, Reducer& reducer) {
  for (;;) {
    const bool watch = secrets.has_file() && timeout_ms < 0;
    const int signal = next_signal(calls, watch ? kSecretsPollMs : timeout_ms);
    if (signal == SIGHUP || (signal == 0 && watch && secrets.changed())) {
      if (std::optional<std::vector<NamedSecret>> now = secrets.renew()) reducer.set_secrets(*std::move(now));
    } else if (signal != 0)
      return true;
    else if (timeout_ms >= 0)
      return false;
  }
}

// Whole or not at all: who waits for the file never reads half a number.
Status write_port_file(const std::string& path, uint16_t port) {
  std::string text = std::to_string(port) + "\n", draft = path + ".tmp";
  auto failed = [&](const char* what) {
    int err = errno;
    ::unlink(draft.c_str());
    return system_error(std::string("--port-file: cannot ") + what + " " + path, err);
  };
  Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return failed("write");
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failed("write");
  fd.reset();
  if (::rename(draft.c_str(), path.c_str()) != 0) return failed("rename to");
  return {};
}

Result<std::unique_ptr<Reducer>> start_on_any(const ServeConfig& config) {
  std::optional<Error> first;
  for (const tcp::Address& at : config.listen) {
    ReducerConfig c = config.reducer;
    c.listen = at;
    c.log = log_event;
    c.has_memory = keep_memory_reserve;
    Result<std::vector<tcp::Rail>> rails = advertised(config.advertise, at);
    if (!rails) return rails.error();
    c.rails = *std::move(rails);
    c.rails_chosen = config.advertise != "auto";
    Result<std::unique_ptr<Reducer>> r = Reducer::start(c);
    if (r) return r;
    if (!first) first = r.error();
  }
  return first ? *first : Error(Errc::kInvalidUsage, "--listen names no address");
}

// A status server and what it tells.
struct StatusServer {
  metrics::StatusBoard board;
  std::unique_ptr<http::Server> server;
  StatusServer(Reducer& reducer, const ReducerConfig& config, metrics::DrainDoor drain)
      : board(reducer, config, std::move(drain)) {}
  Status start(const tcp::Address& at, const tcp::NetworkList& allow) {
    http::ServerConfig c;
    c.listen = at;
    c.allow = allow;
    auto handler = [this](const http::Request& r, const http::ServerCounts& counts) {
      return board.answer(r, counts);
    };
    Result<std::unique_ptr<http::Server>> started = http::Server::start(c, handler);
    if (!started) return started.error();
    server = *std::move(started);
    return {};
  }
};

// Of --admin-secret-file; none without.
Result<std::vector<NamedSecret>> admin_secrets(const std::string& file) {
  if (file.empty()) return std::vector<NamedSecret>();
  Result<SecretFile> secrets = read_secret_file(file);
  if (!secrets) return secrets.error().in("--admin-secret-file");
  for (const std::string& w : secrets->warnings) log_line("warning: " + w);
  return std::move(secrets->secrets);
}

Result<metrics::DrainDoor> drain_door(std::vector<NamedSecret> admins, const Wake& wake) {
  if (admins.empty()) return metrics::DrainDoor();
  return metrics::DrainDoor::make(std::move(admins), [&wake](const std::string& who) {
    log_line("asked to drain over HTTP, with the admin secret '" + who + "'");
    wake.notify();
  });
}

// Far from --listen's: the next ports are those of other reducers on this host.
constexpr int kStatusPortOffset = 1000;

// Where to try, in this order. auto ends with a port that is always there.
std::vector<tcp::Address> status_addresses(const MetricsSetting& setting, uint16_t reducer_port,
                                           bool any_port) {
  if (!setting.automatic) return setting.listen;
  std::vector<tcp::Address> out;
  if (!any_port && reducer_port + kStatusPortOffset <= 65535)
    out.push_back(tcp::Address::loopback(static_cast<uint16_t>(reducer_port + kStatusPortOffset)));
  out.push_back(tcp::Address::loopback(0));
  return out;
}

// What was asked for and cannot be had is an error, never a reducer without it.
Status start_status(StatusServer& status, const ServeConfig& config, uint16_t reducer_port) {
  std::optional<Error> first;
  const bool any_port = config.listen.empty() || config.listen.front().port() == 0;
  for (const tcp::Address& at : status_addresses(config.metrics, reducer_port, any_port)) {
    Status s = status.start(at, config.reducer.allow);
    if (s) return s;
    if (!first) first = s.error();
  }
  return (first ? *first : Error(Errc::kInvalidUsage, "it names no address")).in("--metrics");
}

// Whom it serves, for the line that it is ready.
std::string guests(const ServeConfig& config) {
  const size_t jobs = config.reducer.secrets.size();
  std::string out = jobs > 0 ? "secrets of " + std::to_string(jobs) + (jobs == 1 ? " job" : " jobs")
                             : "no secret asked for";
  return config.reducer.allow.empty() ? out : out + ", only for " + config.allow;
}

// --allow guards both listeners, secrets only the reducer's.
void warn_of_open_doors(const ServeConfig& config, bool has_secrets, const Reducer& reducer,
                        const StatusServer& status) {
  if (!config.reducer.allow.empty()) return;
  const std::string warnings[] = {has_secrets ? "" : open_reducer_warning(reducer.address()),
                                  status.server ? open_status_warning(status.server->address()) : ""};
  for (const std::string& w : warnings)
    if (!w.empty()) log_line(w);
}

// at_once: sessions that are open now are ended.
std::string summary(const ReducerStats& s, bool at_once) {
  auto n = [](uint64_t v) { return std::to_string(v); };
  uint64_t aborted = at_once ? s.sessions_open : 0;
  for (uint64_t v : s.sessions_aborted) aborted += v;
  aborted = std::min(aborted, s.sessions_total);  // an aborted one may be open still
  return n(s.sessions_total) + " sessions, " + n(s.messages) + " slices, " + n(s.bytes_reduced) +
         " bytes summed (" + n(s.bytes_in) + " received, " + n(s.bytes_out) + " sent); " + n(aborted) +
         " aborted, " + n(s.refused) + " refused, " + n(s.strangers) + " strangers";
}

}  // namespace

int serve(ServeConfig config) {
  auto fail = [](const Error& e) {
    log_line(e.text());
    return e.code() == Errc::kInvalidUsage ? kExitUsage : kExitFailure;
  };
  Result<std::vector<NamedSecret>> admins = admin_secrets(config.admin_secret_file);
  if (!admins) return fail(admins.error());
  SecretKeeper secrets(std::move(config.secrets), *admins);
  if (secrets.given()) {
    Result<std::vector<NamedSecret>> read = secrets.read();
    if (!read) return fail(read.error());
    config.reducer.secrets = *std::move(read);
  }
  Result<Fd> signals = signals_of(secrets.has_file());
  if (!signals) return fail(signals.error());
  Result<Wake> wake = Wake::make();
  if (!wake) return fail(wake.error());
  Calls calls{*std::move(signals), *std::move(wake)};
  Result<metrics::DrainDoor> door = drain_door(*std::move(admins), calls.drain);
  if (!door) return fail(door.error());
  signal(SIGPIPE, SIG_IGN);
  raise_open_files();
  if (!keep_memory_reserve()) return fail(system_error("no memory to spare (see ulimit -v)", ENOMEM));
  Result<std::unique_ptr<Reducer>> started = start_on_any(config);
  if (!started) return fail(started.error());
  std::unique_ptr<Reducer> reducer = *std::move(started);
  StatusServer status(*reducer, config.reducer, *std::move(door));
  if (config.metrics.on)
    if (Status s = start_status(status, config, reducer->address().port()); !s) return fail(s.error());
  if (!config.port_file.empty())
    if (Status s = write_port_file(config.port_file, reducer->address().port()); !s) return fail(s.error());
  if (status.server) log_line("status at http://" + status.server->address().text() + "/");
  log_line("ready on " + reducer->address().text() + ": " + std::to_string(config.reducer.lanes) +
           " lanes, " + mib(config.reducer.memory) + " of memory, " + reduce_levels().front().name +
           " kernels, " + guests(config));

  warn_of_open_doors(config, secrets.given(), *reducer, status);

  (void)stopped(calls, -1, secrets, *reducer);
  calls.draining = true;
  reducer->drain();
  if (uint64_t open = reducer->stats().sessions_open; open > 0)
    log_line("draining: " + std::to_string(open) + " sessions to end; a second signal ends them at once");
  bool at_once = false;
  while (!at_once && !reducer->wait_drained(Deadline::after(kDrainPoll)))
    at_once = stopped(calls, 0, secrets, *reducer);
  log_line((at_once ? "ended by a second signal: " : "ended: ") + summary(reducer->stats(), at_once));
  status.server.reset();
  reducer.reset();
  return at_once ? kExitFailure : 0;
}

}  // namespace fanin::reducer::cli
