#include "tests/nccl/ranks/options.h"

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace ranks {
namespace {

const char kHelp[] =
    "Forks N ranks, makes NCCL communicators over them and checks every element of every result.\n"
    "nccl-ranks [-n RANKS] [-g RANKS_PER_NODE] [-T] [-c COLL] [-t TYPE] [-o OP] [-b MIN] [-e MAX] [-f "
    "FACTOR] [-i ITERS]\n"
    "           [-r] [-1] [-x EXTRA] [-k PID] [-E RANK:NAME=VALUE]...\n"
    "  -T  the ranks of a node are threads of one process     -r  register the buffers with NCCL\n"
    "  -1  small floats must have been rounded only once      -E  set a variable for one rank (its process)\n"
    "  COLL, TYPE and OP are comma lists, or all.\n"
    "  COLL: allreduce reducescatter allgather broadcast reduce sendrecv\n"
    "  TYPE: i8 u8 i32 u32 i64 u64 f16 f32 f64 bf16 e4m3 e5m2   OP: sum prod max min avg\n"
    "  EXTRA: multi (two communicators), split, group, abort, lose-reducer (rank 0 kills PID in mid-run),\n"
    "         lose-rank (the last rank kills itself in mid-run), endure (until SIGUSR1 or an error),\n"
    "         join (make the communicator and leave)\n";

[[noreturn]] void wrong(const std::string& what) {
  fprintf(stderr, "nccl-ranks: %s (-h shows the options)\n", what.c_str());
  exit(2);
}

size_t parse_bytes(const char* text) {
  char* end;
  const double v = strtod(text, &end);
  const char* units = "KMG";
  const char* unit = *end ? strchr(units, *end) : nullptr;
  if (end == text || v <= 0 || (*end && (!unit || end[1]))) wrong(std::string("not a size: ") + text);
  return static_cast<size_t>(v * static_cast<double>(size_t{1} << (unit ? 10 * (unit - units + 1) : 0)));
}

int parse_int(const char* text, int min) {
  char* end;
  const long v = strtol(text, &end, 10);
  if (end == text || *end || v < min || v > 1 << 30)
    wrong(std::string("not a number from ") + std::to_string(min) + ": " + text);
  return static_cast<int>(v);
}

void parse_variable(const char* text, Options* o) {
  const char* colon = strchr(text, ':');
  const char* equals = colon ? strchr(colon, '=') : nullptr;
  if (!equals) wrong(std::string("-E wants RANK:NAME=VALUE, not ") + text);
  o->variables.push_back(
      {parse_int(std::string(text, colon).c_str(), 0), std::string(colon + 1, equals), equals + 1});
}

// "a,b" of these names, or "all".
using Names = std::vector<std::string>;
const Names kColls = {"allreduce", "reducescatter", "allgather", "broadcast", "reduce", "sendrecv"};
const Names kTypes = {"i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16", "e4m3", "e5m2"};
const Names kOps = {"sum", "prod", "max", "min", "avg"};
const Names kExtras = {"", "multi", "split", "group", "abort", "lose-reducer", "lose-rank", "endure", "join"};

bool known(const std::string& name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names parse_list(const char* what, const std::string& text, const Names& names) {
  if (text == "all") return names;
  Names list;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    list.push_back(text.substr(at, end - at));
    if (!known(list.back(), names)) wrong(std::string("unknown ") + what + ": " + list.back());
    at = end + 1;
  }
  return list;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  for (int c; (c = getopt(argc, argv, "n:g:c:b:e:f:t:o:i:x:k:E:rT1h")) != -1;) {
    switch (c) {
      case 'n':
        o.ranks = parse_int(optarg, 1);
        break;
      case 'g':
        o.per_node = parse_int(optarg, 1);
        break;
      case 'c':
        o.colls = parse_list("collective", optarg, kColls);
        break;
      case 'b':
        o.min_bytes = parse_bytes(optarg);
        break;
      case 'e':
        o.max_bytes = parse_bytes(optarg);
        break;
      case 'f':
        o.factor = static_cast<size_t>(parse_int(optarg, 2));
        break;
      case 't':
        o.types = parse_list("type", optarg, kTypes);
        break;
      case 'o':
        o.ops = parse_list("operator", optarg, kOps);
        break;
      case 'i':
        o.iterations = parse_int(optarg, 0);
        break;
      case 'x':
        o.extra = optarg;
        break;
      case 'k':
        o.kill_pid = parse_int(optarg, 2);
        break;
      case 'E':
        parse_variable(optarg, &o);
        break;
      case 'r':
        o.registered = true;
        break;
      case 'T':
        o.threads = true;
        break;
      case '1':
        o.round_once = true;
        break;
      case 'h':
        fputs(kHelp, stdout);
        exit(0);
      default:
        exit(2);
    }
  }
  if (optind < argc) wrong(std::string("unknown argument ") + argv[optind]);
  if (!known(o.extra, kExtras)) wrong("unknown extra: " + o.extra);
  if (o.extra == "lose-reducer" && !o.kill_pid) wrong("lose-reducer needs -k PID");
  if (o.max_bytes < o.min_bytes) wrong("-e is smaller than -b");
  return o;
}

}  // namespace ranks
