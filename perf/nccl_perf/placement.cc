#include "perf/nccl_perf/placement.h"

#include "fanin/options.h"

namespace fanin::nccl_perf {
namespace {

// The variables of one launcher. The first whose rank variable is set is taken: mpirun inside a Slurm job
// leaves both.
struct Launcher {
  const char *name, *rank, *size, *local;
};
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    // Set by srun for its tasks only; SLURM_NTASKS alone would be true of the batch script as well.
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

Result<int> number(const Environment& env, const char* name, int64_t min, int64_t max) {
  const char* text = env(name);
  if (!text) return Error(Errc::kInvalidUsage, std::string(name) + " is not set");
  Result<int64_t> value = parse_int(text, min, max);
  if (!value) return value.error().in(name);
  return static_cast<int>(*value);
}

constexpr int64_t kMaxProcesses = 1 << 20;

std::string text_of(const Environment& env, const char* name) {
  const char* text = env(name);
  return text ? text : "";
}

// Rank 0's host when nobody says MASTER_ADDR.
std::string guess_host(const Environment& env, const Launcher& l, int processes) {
  if (processes == 1) return "127.0.0.1";
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    // Under mpirun the batch host is rank 0's too, so the list serves both.
    std::string host = first_slurm_host(text_of(env, list));
    if (!host.empty()) return host;
  }
  if (std::string(l.name) == "Open MPI" && text_of(env, "OMPI_COMM_WORLD_LOCAL_SIZE") == text_of(env, l.size))
    return "127.0.0.1";  // all on this host
  return text_of(env, "SLURM_LAUNCH_NODE_IPADDR");
}

Result<tcp::HostPort> meeting_point(const Environment& env, const Launcher& l, int processes,
                                    const std::string& rendezvous) {
  if (!rendezvous.empty()) {
    Result<tcp::HostPort> hp = tcp::parse_host_port(rendezvous);
    if (!hp) return hp.error().in("--rendezvous");
    if (hp->port == 0 && processes > 1)
      return Error(Errc::kInvalidUsage, "--rendezvous: port 0 cannot be found by the other ranks");
    return hp;
  }
  tcp::HostPort hp;
  hp.host = text_of(env, "MASTER_ADDR");
  if (hp.host.empty()) hp.host = guess_host(env, l, processes);
  if (hp.host.empty())
    return Error(Errc::kInvalidUsage,
                 std::string("started by ") + l.name +
                     " without MASTER_ADDR: set it to rank 0's host, or give --rendezvous HOST:PORT");
  if (env("MASTER_PORT")) {
    Result<int> port = number(env, "MASTER_PORT", 1, 65535);
    if (!port) return port.error();
    hp.port = static_cast<uint16_t>(*port);
    // torchrun's own store listens on MASTER_PORT then.
    if (text_of(env, "TORCHELASTIC_USE_AGENT_STORE") == "True")
      hp.port = static_cast<uint16_t>(*port == 65535 ? 65534 : *port + 1);
  } else {
    // Two jobs on one host should not meet: spread by the job's number where there is one.
    const Result<int64_t> job = parse_int(text_of(env, "SLURM_JOB_ID"), 0, INT64_MAX);
    hp.port = static_cast<uint16_t>(23456 + (job ? *job % 4096 : 0));
  }
  return hp;
}

}  // namespace

std::string first_slurm_host(std::string_view list) {
  size_t end = list.find_first_of("[,");
  std::string host(list.substr(0, end));
  if (end == std::string_view::npos || list[end] == ',') return host;
  const size_t close = list.find(']', end);
  if (close == std::string_view::npos) return "";
  host += list.substr(end + 1, list.find_first_of(",-]", end + 1) - end - 1);
  // "rack[1-2]n[3-4]": what follows the bracket belongs to the name.
  const std::string_view rest = list.substr(close + 1);
  if (rest.empty() || rest.front() == ',') return host;
  const std::string tail = first_slurm_host(rest);
  return tail.empty() ? "" : host + tail;
}

Result<std::optional<Placement>> find_placement(const Environment& env, const std::string& rendezvous) {
  const Launcher* found = nullptr;
  for (const Launcher& l : kLaunchers) {
    if (env(l.rank) && env(l.size)) {
      found = &l;
      break;
    }
  }
  if (!found) return std::optional<Placement>();
  Placement p;
  p.launcher = found->name;
  Result<int> size = number(env, found->size, 1, kMaxProcesses);
  if (!size) return size.error();
  Result<int> rank = number(env, found->rank, 0, *size - 1);
  if (!rank) return rank.error().in("with " + std::string(found->size) + "=" + std::to_string(*size));
  p.processes = *size;
  p.process = *rank;
  if (env(found->local)) {
    Result<int> local = number(env, found->local, 0, kMaxProcesses);
    if (!local) return local.error();
    p.local = *local;
  } else if (p.processes > 1) {
    return Error(Errc::kInvalidUsage, std::string(found->local) + " is not set: it chooses this rank's GPU");
  }
  Result<tcp::HostPort> meet = meeting_point(env, *found, p.processes, rendezvous);
  if (!meet) return meet.error();
  p.meet = *meet;
  return std::optional<Placement>(p);
}

}  // namespace fanin::nccl_perf
