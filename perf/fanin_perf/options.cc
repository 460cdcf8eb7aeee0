#include "perf/fanin_perf/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "fanin/options.h"
#include "fanin/version.h"
#include "topology/discovery.h"

namespace fanin::perf {
namespace {

const std::map<std::string, Coll> kColls = {{"all_reduce", Coll::kAllReduce},
                                            {"reduce_scatter", Coll::kReduceScatter},
                                            {"all_gather", Coll::kAllGather}};

std::map<std::string, DType> types() {
  std::map<std::string, DType> names;
  for (int i = 0; i < kNumDTypes; i++) names[dtype_name(static_cast<DType>(i))] = static_cast<DType>(i);
  return names;
}

std::map<std::string, RedOp> ops() {
  std::map<std::string, RedOp> names;
  for (int i = 0; i < kNumRedOps; i++) names[redop_name(static_cast<RedOp>(i))] = static_cast<RedOp>(i);
  return names;
}

// ../lib of the program's folder, else wherever NCCL would find it.
std::string default_plugin() {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  for (int up = 0; up < 2; up++) self.resize(std::min(self.rfind('/'), self.size()));
  const std::string name = "libnccl-net-fanin.so", beside = self + "/lib/" + name;
  return access(beside.c_str(), R_OK) == 0 ? beside : name;
}

Error usage(const std::string& what) { return Error(Errc::kInvalidUsage, what + "; see fanin-perf --help"); }

Result<uint64_t> size_option(const char* option, const std::string& text) {
  Result<int64_t> size = parse_size(text, 1, int64_t{1} << 40);
  if (!size) return usage(std::string(option) + ": " + size.error().text());
  return static_cast<uint64_t>(*size);
}

Status check_consistent(const CLI::App& app, const Options& o, const std::string& rendezvous) {
  bool as_rank = o.rank.has_value();
  if (app.count("--nranks") != 0 && !as_rank)
    return usage("--nranks goes with --rank; -n starts local ranks");
  if (as_rank && app.count("-n") != 0) return usage("-n starts local ranks; with --rank give --nranks");
  if (as_rank && app.count("--nranks") == 0) return usage("--rank needs --nranks");
  if (as_rank && rendezvous.empty()) return usage("--rank needs --rendezvous HOST:PORT of rank 0");
  if (!as_rank && !rendezvous.empty()) return usage("--rendezvous goes with --rank and --nranks");
  if (as_rank && *o.rank >= o.nranks)
    return usage("--rank " + std::to_string(*o.rank) + " is not below --nranks " + std::to_string(o.nranks));
  if (as_rank && o.local_reducers > 0)
    return usage("-r starts reducers for local ranks (-n); with --rank give --reducers");
  if (o.local_reducers > 0 && !o.reducers.empty()) return usage("give -r or --reducers, not both");
  if (o.ring && (o.local_reducers > 0 || !o.reducers.empty()))
    return usage("--algo ring uses no reducers (-r, --reducers)");
  return {};
}

// Found out now, not after an hour of measuring. Results go through the .part file (report.cc).
Status check_writable(const std::string& json) {
  if (json.empty()) return {};
  std::string part = json + ".part";
  FILE* f = fopen(part.c_str(), "w");
  if (!f) return usage("--json: cannot write " + part + ": " + strerror(errno));
  fclose(f);
  unlink(part.c_str());
  return {};
}

}  // namespace

Result<ParsedOptions> parse_options(int argc, char** argv) {
  Options o;
  std::string begin = "64K", end = "64M", rendezvous, algo = "fanin", coll = "all_reduce", type = "float",
              op = "sum";
  int check = 1, rank = -1, seconds = 60;
  CLI::App app{
      "Times collectives over the fanin plugin, driven through its C ABI the way NCCL's proxy does it, "
      "without NCCL:\n"
      "--algo fanin through reducers, --algo ring over the plugin's point-to-point network.",
      "fanin-perf"};
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", std::string("fanin-perf ") + kFaninVersion);
  app.add_option("-n", o.nranks, "Ranks to start here, as processes (not iterations as in nccl-tests: -i)")
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  app.add_option("--rank", rank, "Be this one rank instead")->check(CLI::Range(0, 4095));
  app.add_option("--nranks", o.nranks, "Ranks in all, with --rank")->check(CLI::Range(2, 4096));
  app.add_option("--rendezvous", rendezvous, "HOST:PORT where rank 0 can be reached, with --rank");
  app.add_option("-r", o.local_reducers, "Reducers to start here, as processes")->check(CLI::Range(1, 256));
  app.add_option("--lanes", o.lanes, "Lanes of each reducer started here")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option(
      "--reducers", o.reducers,
      "The pool, as in FANIN_REDUCERS (default: what is set of it, CLUSTER_SPEC and TF_CONFIG, else -r 1)");
  app.add_option("--algo", algo, "fanin or ring")
      ->check(CLI::IsMember({"fanin", "ring"}))
      ->capture_default_str();
  app.add_option("--coll", coll, "all_reduce, reduce_scatter or all_gather")
      ->check(CLI::IsMember(kColls))
      ->capture_default_str();
  app.add_option("-b", begin, "Smallest size (K, M, G: powers of 1024)")->capture_default_str();
  app.add_option("-e", end, "Largest size")->capture_default_str();
  app.add_option("-f", o.factor, "Factor between sizes")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  app.add_option("-d", type, "Element type: int8 … uint64, half, bfloat16, float, double, f8e4m3, f8e5m2")
      ->check(CLI::IsMember(types()))
      ->capture_default_str();
  app.add_option("-o", op, "sum, prod, max or min")->check(CLI::IsMember(ops()))->capture_default_str();
  app.add_option("-i,--iters", o.iters, "Timed iterations per size (-n in nccl-tests)")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("-w,--warmup", o.warmup, "Untimed iterations before")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option("-c,--check", check, "1: check every element of one more iteration")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  app.add_flag("--whole", o.whole, "fanin: one message per collective instead of the chunks NCCL would send");
  app.add_flag("--in-place", o.in_place, "Send and receive in the same buffer");
  app.add_flag("--crowded", o.crowded,
               "With --rank: more ranks share this machine than it has cores, so an idle one sleeps for "
               "microseconds "
               "instead of polling");
  app.add_option("--channels", o.channels, "NCCL channels to imitate (ring: rings)")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--timeout", seconds, "Seconds without progress after which a rank gives up")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option(
      "--plugin", o.plugin,
      "The plugin (default: ../lib/libnccl-net-fanin.so from this program, else on the library path)");
  app.add_option("--json", o.json, "Write the results into this file too");
  app.add_flag("-v,--verbose", o.verbose, "Show the plugin's INFO lines");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return ParsedOptions{{}, app.exit(done)};
  } catch (const CLI::ParseError& bad) {
    return usage(bad.what());
  }

  if (rank >= 0) o.rank = rank;
  o.ring = algo == "ring";
  if (Status s = check_consistent(app, o, rendezvous); !s) return s.error();
  if (!rendezvous.empty()) {
    auto at = tcp::parse_host_port(rendezvous);
    if (!at) return usage("--rendezvous: " + at.error().text());
    if (at->port == 0) return usage("--rendezvous needs a port that is not 0");
    o.rendezvous = *at;
  }
  auto first = size_option("-b", begin), last = size_option("-e", end);
  if (!first) return first.error();
  if (!last) return last.error();
  o.begin = *first, o.end = *last;
  if (o.begin > o.end) return usage("-b " + begin + " is larger than -e " + end);
  o.coll = kColls.at(coll);
  o.type = types().at(type);
  o.op = ops().at(op);
  o.check = check != 0;
  o.patience = std::chrono::seconds(seconds);
  if (o.plugin.empty()) o.plugin = default_plugin();
  if (Status s = check_writable(o.json); !s) return s.error();
  bool named = !o.reducers.empty() || !discover_pool().from.empty();
  if (!o.ring && !o.rank && !named && o.local_reducers == 0) o.local_reducers = 1;
  return ParsedOptions{o, std::nullopt};
}

}  // namespace fanin::perf
