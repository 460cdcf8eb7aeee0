#include "perf/nccl_perf/options.h"

#include <CLI/CLI.hpp>
#include <cstring>

#include "fanin/options.h"
#include "fanin/version.h"

namespace fanin::nccl_perf {
namespace {

// One name, several after commas, or all. Returns false for a name that is not in the table.
template <class T, int N>
bool pick(const std::string& text, const char* (*name)(T), std::vector<T>* out) {
  out->clear();
  for (const std::string& word : CLI::detail::split(text, ',')) {
    bool found = false;
    for (int i = 0; i < N; i++) {
      if (word != "all" && word != name(static_cast<T>(i))) continue;
      out->push_back(static_cast<T>(i));
      found = true;
    }
    if (!found) return false;
  }
  return !out->empty();
}

const char* type_name(DType t) { return dtype_name(t); }

std::string check_size(const std::string& text, uint64_t* out) {
  Result<int64_t> size = parse_size(text, 0, int64_t{1} << 44);
  if (!size) return size.error().text();
  *out = static_cast<uint64_t>(*size);
  return "";
}

// Options that fit no range check of CLI11's.
struct Texts {
  std::string coll = "all_reduce", types = "float", ops = "sum";
  int threads = 1, gpus = 1, parallel_init = 0, local_register = 0, blocking = 0, cputime = 0, root = 0;
};

void declare(CLI::App& app, Options& o, Texts& t) {
  auto size = [&app](const char* names, uint64_t* to, const char* help) {
    app.add_option_function<std::string>(
           names,
           [to](const std::string& text) {
             const std::string why = check_size(text, to);
             if (!why.empty()) throw CLI::ValidationError(why);
           },
           help)
        ->type_name("SIZE");
  };
  const CLI::Range count(0, 1 << 30), positive(1, 1 << 30);
  app.add_option("--coll", t.coll, "all_reduce, reduce_scatter or all_gather")
      ->check(CLI::IsMember({"all_reduce", "reduce_scatter", "all_gather"}))
      ->type_name("NAME");
  size("-b,--minbytes", &o.min_bytes, "smallest size, as 8, 64K, 32M, 1G [32M]");
  size("-e,--maxbytes", &o.max_bytes, "largest size [32M]");
  size("-i,--stepbytes", &o.step_bytes, "add this to get the next size [1M]");
  app.add_option("-f,--stepfactor", o.step_factor, "multiply by this to get the next size")
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("-n,--iters", o.iters, "timed operations per size [20]")->check(positive);
  app.add_option("-w,--warmup_iters", o.warmup,
                 "untimed operations, at the smallest and the largest size [5]")
      ->check(count);
  app.add_option("-m,--agg_iters", o.agg_iters, "operations per group call [1]")->check(positive);
  app.add_option("-c,--check", o.checks, "operations per size whose every element is checked; 0: none [1]")
      ->check(count);
  app.add_option("-d,--datatype", t.types,
                 "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2, several "
                 "after commas, or all [float]")
      ->type_name("TYPE");
  app.add_option("-o,--op", t.ops, "sum prod max min avg, several after commas, or all [sum]")
      ->type_name("OP");
  app.add_option("-r,--root", t.root, "accepted as in nccl-tests; these collectives have no root")
      ->check(count);
  app.add_option("-g,--ngpus,--gpus", t.gpus,
                 "GPUs per process, or per node with --nodes, each with a thread of its own [1]")
      ->check(CLI::Range(1, 1024));
  app.add_option("-t,--nthreads", t.threads, "multiplies -g, as in nccl-tests [1]")
      ->check(CLI::Range(1, 1024));
  app.add_option("-p,--parallel_init", t.parallel_init,
                 "accepted as in nccl-tests; initialisation is always parallel")
      ->check(CLI::Range(0, 1));
  app.add_option("-a,--average", o.average,
                 "times of all ranks become one: 0 rank 0, 1 mean, 2 minimum, 3 maximum [1]")
      ->check(CLI::Range(0, 3));
  app.add_option("-z,--blocking", t.blocking, "1: wait for each operation before the next [0]")
      ->check(CLI::Range(0, 1));
  app.add_option("-C,--report_cputime", t.cputime, "1: time the launching only [0]")->check(CLI::Range(0, 1));
  app.add_option("-R,--local_register", t.local_register, "1: register the buffers with ncclCommRegister [0]")
      ->check(CLI::Range(0, 1));
  app.add_option("-T,--timeout", o.timeout_s,
                 "seconds after which an operation that does not end fails the run; 0: never [0]")
      ->check(count);
  app.add_option("--nodes", o.nodes,
                 "pretend this machine is so many nodes: a process with its own NCCL_HOSTID each")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--processes", o.processes, "with --nodes: a process per GPU instead of a thread");
  app.add_option("--rendezvous", o.rendezvous,
                 "HOST:PORT where rank 0 waits for the others, instead of MASTER_ADDR:MASTER_PORT");
  app.add_option("-J,--json", o.json, "also write the results into this file")->type_name("FILE");
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  Options o;
  Texts t;
  CLI::App app(
      "Times all_reduce, reduce_scatter or all_gather of NCCL and checks every element of the results.\n"
      "Ranks come from torchrun, srun or mpirun when started by one of them, or are made here with --nodes.\n"
      "Exit code: 0 right, 1 wrong results, 2 usage, 3 a call or a peer failed.",
      "fanin-nccl-perf");
  app.set_version_flag("--version", std::string("fanin-nccl-perf ") + kFaninVersion);
  declare(app, o, t);
  auto usage = [](const std::string& why) {
    return ParsedOptions{std::nullopt, kExitUsage,
                         "fanin-nccl-perf: " + why + " (--help lists the options)\n"};
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, kExitOk, app.help()};
  } catch (const CLI::CallForVersion& v) {
    return {std::nullopt, kExitOk, std::string(v.what()) + "\n"};
  } catch (const CLI::ParseError& e) {
    return usage(e.what());
  }
  o.coll = t.coll == "all_reduce"   ? Coll::kAllReduce
           : t.coll == "all_gather" ? Coll::kAllGather
                                    : Coll::kReduceScatter;
  o.all_types = t.types == "all";
  if (!pick<DType, kNumDTypes>(t.types, type_name, &o.types))
    return usage("--datatype: no type is named '" + t.types + "'");
  if (!pick<perf::CheckOp, perf::kNumCheckOps>(t.ops, perf::check_op_name, &o.ops))
    return usage("--op: no operator is named '" + t.ops + "'");
  o.gpus = t.gpus * t.threads;
  o.blocking = t.blocking;
  o.cputime = t.cputime;
  o.register_buffers = t.local_register;
  if (o.min_bytes > o.max_bytes) return usage("--minbytes is larger than --maxbytes");
  if (o.step_factor < 2 && o.step_bytes == 0 && o.min_bytes < o.max_bytes)
    return usage("--stepbytes must not be 0");
  if (o.processes && !o.nodes) return usage("--processes needs --nodes");
  o.argv.assign(argv, argv + argc);
  return {o, kExitOk, ""};
}

std::vector<uint64_t> sizes(const Options& o) {
  std::vector<uint64_t> out;
  for (uint64_t s = o.min_bytes; s <= o.max_bytes;) {
    out.push_back(s);
    const uint64_t next = o.step_factor > 1 ? s * o.step_factor : s + o.step_bytes;
    if (next <= s) break;  // 0 times a factor, or one size
    s = next;
  }
  return out;
}

}  // namespace fanin::nccl_perf
