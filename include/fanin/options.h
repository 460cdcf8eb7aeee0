// Every option of plugin and reducer in one table each, and the parsers for their values.
//
// The plugin reads the FANIN_* environment once (plugin/options.h); the reducer's command line, its
// configuration file, FANIN_REDUCER_* variables and --print-config come from kReducerOptions. Constant data
// and pure functions.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fanin/error.h"

namespace fanin {

enum class OptionType { kText, kFlag, kInt, kSize };

struct OptionSpec {
  const char* name;  // plugin: the variable; reducer: the long option without dashes
  OptionType type;
  const char* fallback;  // as a user would write it
  int64_t min, max;      // kInt, kSize: inclusive; a fallback "auto" may be written too
  const char* help;      // one sentence
};

inline constexpr OptionSpec kPluginOptions[] = {
    {"FANIN_REDUCERS", OptionType::kText, "", 0, 0,
     "The pool: host:port,... or dns:name:port (all addresses of the name) or file:path (one host:port a "
     "line) or slurm:port (component 1 of a heterogeneous job) or none. Not set: CLUSTER_SPEC, else "
     "TF_CONFIG "
     "(docs/discovery.md)."},
    {"FANIN_EXPECT_REDUCERS", OptionType::kInt, "0", 0, 4096,
     "How many reducers there will be: their names and addresses, and those that refuse connections yet, are "
     "waited for "
     "(docs/discovery.md); 0: as many as CLUSTER_SPEC, TF_CONFIG or Slurm name, else no longer than for a "
     "moment."},
    {"FANIN_SECRET_FILE", OptionType::kText, "", 0, 0,
     "A file with the job's secret: workers and reducers then prove to each other that they know it "
     "(docs/security.md)."},
    {"FANIN_SECRET", OptionType::kText, "", 0, 0,
     "The secret itself, where a file is not to be had; a file is harder to leak."},
    {"FANIN_STRICT", OptionType::kFlag, "0", 0, 1,
     "1: when the reducers cannot be used, fail the job at its first transfer between nodes instead of using "
     "the ring. Where CollNet is off (NCCL_COLLNET_ENABLE=0) NCCL never asks for them, and there is only a "
     "warning."},
    {"FANIN_COLLNET", OptionType::kFlag, "1", 0, 1,
     "1: where reducers are configured and NCCL_COLLNET_ENABLE is not set, turn CollNet on (NCCL up to 2.26; "
     "later "
     "releases with the environment plugin libnccl-env.so); 0: leave it."},
    {"FANIN_CONNECT_TIMEOUT_MS", OptionType::kInt, "10000", 100, 3600000,
     "How long to try to reach reducers and the other ranks when a communicator is made."},
    {"FANIN_TIMEOUT_MS", OptionType::kInt, "600000", 0, 86400000,
     "Silence on a connection with work outstanding, or of a rank that is to connect to this one, after "
     "which the session fails; 0 waits for ever. Longer than any rank may be late (checkpoints, "
     "compilation); a peer that dies or hangs up is noticed at once."},
    {"FANIN_STALL_MS", OptionType::kInt, "5000", 0, 86400000,
     "Time without progress after which the log says who is waited for, and again after twice that, four "
     "times and so on; 0: never."},
    {"FANIN_KEEPALIVE_MS", OptionType::kInt, "30000", 3000, 3600000,
     "How long a peer's host may leave what is asked of it unanswered before its connections are given up."},
    {"FANIN_WINDOW", OptionType::kSize, "16M", 65536, int64_t{1} << 36,
     "Bytes of one communicator that may be outstanding at the reducers."},
    {"FANIN_MIN_SLICE", OptionType::kSize, "0", 0, 1 << 30,
     "A message is spread over at most size/FANIN_MIN_SLICE lanes. Must be equal on all ranks. 0 chooses on "
     "rank 0: 6K, or 16K where the NIC is faster than 10 Gbit/s or is loopback, because there system calls "
     "cost more."},
    {"FANIN_CHECKSUM", OptionType::kFlag, "0", 0, 1,
     "1: checksum every block on its way to a reducer and back; a flipped bit then ends the session with an "
     "error that names "
     "the connection. Must be equal on all ranks."},
    {"FANIN_WORKER_BW", OptionType::kText, "auto", 0, 0,
     "Bandwidth of this node's NICs together, one way, as 100G, for the warning that the pool is too small "
     "for "
     "its workers (docs/sizing.md); auto: what the kernel says of those that NCCL may use; 0: not known, no "
     "warning."},
    {"FANIN_IO_THREADS", OptionType::kInt, "0", 0, 64,
     "I/O threads per communicator; 0 chooses from NIC speed, lanes and cores."},
    {"FANIN_POLL_US", OptionType::kInt, "-1", -1, 1000000,
     "How long an idle I/O thread polls before it sleeps; -1 chooses from the number of cores."},
    {"FANIN_TUNER", OptionType::kFlag, "1", 0, 1,
     "1: all-reduces go through the reducers from the size on from which they are faster there "
     "(docs/tuner.md); 0: NCCL's own estimates decide. Must be equal on all ranks."},
    {"FANIN_TUNER_FILE", OptionType::kText, "", 0, 0,
     "A file of rules (CSV as of NCCL's example tuner) that say which algorithm to use when; they come "
     "before FANIN_TUNER's choice. Must be equal on all ranks."},
    {"FANIN_STATS_FILE", OptionType::kText, "", 0, 0,
     "A file to which each communicator appends a line of JSON when it is closed (docs/metrics.md); %h in "
     "the name becomes "
     "the host, %p the process."},
    {"FANIN_NET_SOCKETS", OptionType::kInt, "0", 0, 16,
     "Sockets per point-to-point connection; 0 chooses from NIC speed."},
    {"FANIN_PORT_RANGE", OptionType::kText, "", 0, 0,
     "Ports on which workers listen for each other, as 20000-20999, where a firewall lets only some through "
     "(docs/troubleshooting.md); not set: any that the kernel picks."},
    {"FANIN_AFFINITY", OptionType::kFlag, "1", 0, 1,
     "1: I/O threads run on the NUMA node of their NIC, within the CPUs the process may use "
     "(docs/affinity.md); 0 "
     "or off: wherever the kernel puts them."},
};

inline constexpr OptionSpec kReducerOptions[] = {
    {"listen", OptionType::kText, "auto", 0, 0,
     "HOST:PORT to accept workers on; port 0 picks a free one; auto: all IPv4 addresses, at the port of this "
     "task in "
     "CLUSTER_SPEC or TF_CONFIG (docs/discovery.md), 4000 where neither is set."},
    {"advertise", OptionType::kText, "auto", 0, 0,
     "What workers are told of this host's NICs: addresses or interfaces with their link rates, as "
     "10.0.0.7=100G,eth1=25G; auto: all that are up, with the rates the kernel knows; none "
     "(docs/discovery.md)."},
    {"lanes", OptionType::kInt, "auto", 1, 256,
     "Reducing threads; auto takes one per physical core this process may use, within its cgroup's CPU "
     "quota."},
    {"affinity", OptionType::kFlag, "1", 0, 1,
     "1: a core for each lane, near the NIC, with memory there, where there are enough (docs/affinity.md); 0 "
     "or "
     "off: wherever the kernel puts them."},
    {"memory", OptionType::kSize, "auto", 1, int64_t{1} << 46,
     "Bytes for blocks of all sessions together; auto takes half of the memory this process may use."},
    {"block", OptionType::kSize, "64K", 4096, 4 << 20,
     "Bytes reduced and streamed back at a time; a multiple of 64."},
    {"secret-file", OptionType::kText, "", 0, 0,
     "A file with the secrets of the jobs to serve, one a line, read again when it changes and on SIGHUP "
     "(docs/security.md). Not given: FANIN_SECRET_FILE or FANIN_SECRET of the environment, else everyone may "
     "join."},
    {"port-file", OptionType::kText, "", 0, 0, "Write the port listened on into this file once ready."},
    {"metrics", OptionType::kText, "auto", 0, 0,
     "HOST:PORT of the status page, /metrics, /healthz, /readyz and /sessions; off: none; auto: 127.0.0.1 "
     "and --listen's port + 1000, or any free one."},
    {"admin-secret-file", OptionType::kText, "", 0, 0,
     "A file with the secret that 'fanin-ctl drain' must prove, another one than the jobs'; not given: only "
     "signals "
     "drain."},
    {"handshake-timeout-ms", OptionType::kInt, "5000", 10, 3600000,
     "How long a new connection may take to introduce itself."},
    {"timeout-ms", OptionType::kInt, "600000", 0, 86400000,
     "Silence of a rank others wait for after which their session is aborted; 0 waits for ever."},
    {"join-timeout-ms", OptionType::kInt, "600000", 0, 86400000,
     "How long the first ranks of a session may wait for the last to connect; 0: for ever. Not less than the "
     "jobs' "
     "FANIN_CONNECT_TIMEOUT_MS."},
    {"allow", OptionType::kText, "", 0, 0,
     "Networks and addresses whose connections are taken, as 10.0.0.0/8,fd00::/8; not given: all."},
    {"stall-ms", OptionType::kInt, "5000", 0, 86400000,
     "Time a session stands still after which its ranks and the log are told who is waited for, and again "
     "after twice that, four times and so on; 0: never."},
    {"keepalive-ms", OptionType::kInt, "30000", 3000, 3600000,
     "How long a worker's host may leave what is asked of it unanswered before its connections are given "
     "up."},
    {"max-connections", OptionType::kInt, "65536", 1, 1 << 20,
     "Connections accepted at once, over all sessions."},
    {"max-sessions", OptionType::kInt, "4096", 1, 1 << 20, "Sessions at once."},
    {"max-session-memory", OptionType::kSize, "auto", 1, int64_t{1} << 46,
     "The part of --memory that one session may take; auto: all of it."},
    {"max-job-memory", OptionType::kSize, "auto", 1, int64_t{1} << 46,
     "The part of --memory that all sessions of one secret may take together; auto: all of it."},
    {"max-half-open", OptionType::kInt, "4096", 1, 1 << 20,
     "Unfinished handshakes at once, and, counted apart, tuners' questions; "
     "the oldest makes room for the next."},
    {"max-half-open-per-address", OptionType::kInt, "1024", 1, 1 << 20,
     "Unfinished handshakes of one address (IPv6: of one /64) at once, and, counted apart, tuners' "
     "questions; its oldest makes room for its next."},
};

// "65536", "64K", "16MiB", "1.5G" (powers of 1024) within [min, max].
Result<int64_t> parse_size(std::string_view text, int64_t min, int64_t max);
Result<int64_t> parse_int(std::string_view text, int64_t min, int64_t max);
// 1/0, true/false, yes/no, on/off, any case.
Result<bool> parse_flag(std::string_view text);
// Whether text is a value of this option; the error says what would be.
Status check_option(const OptionSpec& spec, std::string_view text);
// Whether a variable is one that Kubernetes sets in every container for a service called fanin-…:
// FANIN_REDUCERS_SERVICE_HOST, FANIN_REDUCERS_PORT_4000_TCP_ADDR, … They are nobody's mistake.
bool set_by_kubernetes(std::string_view variable);
// The table's name nearest to a misspelt one, or "" when none is near.
std::string nearest_option(std::span<const OptionSpec> table, std::string_view name);

}  // namespace fanin
