// fault-soak: runs faults from seeds and prints what became of them by kind. Exit status: 0 all good, 1 not, 2 usage.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "tests/faults/dice.h"
#include "tests/faults/nccl_trial.h"
#include "tests/faults/pools.h"
#include "tests/faults/tally.h"
#include "tests/faults/trial.h"

namespace {

using namespace fanin::faults;

constexpr uint64_t kPoolLife =
    100;  // runs that share reducers: enough to see them grow by a KiB of each session

struct Command {
  uint64_t seed = 1, runs = 20;
  std::optional<Kind> kind;
  int nccl_percent = 15;
  double seconds = 0;  // stop then; 0: never
  std::string log;     // a line per run is appended to it; with no runs, only its table is printed
  bool verbose = false;
};

void help() {
  printf(
      "fault-soak [-n RUNS] [-s FIRST_SEED] [-k KIND] [-N PERCENT] [-t SECONDS] [-l FILE] [-v]\n"
      "Hurts jobs on reducers in ways drawn from a seed and checks what must hold (tests/faults/README.md).\n"
      "  -k  only this kind      -N  percent of the runs that use the real NCCL (15)\n"
      "  -t  stop after so long  -l  append a line per run; the table is then of the whole file\n"
      "Kinds:");
  for (Kind k : kinds(true)) printf(" %s", facts(k).name);
  printf("\n");
}

Command parse(int argc, char** argv) {
  Command c;
  for (int o; (o = getopt(argc, argv, "n:s:k:N:t:l:vh")) != -1;) switch (o) {
      case 'n':
        c.runs = strtoull(optarg, nullptr, 10);
        break;
      case 's':
        c.seed = strtoull(optarg, nullptr, 10);
        break;
      case 'k':
        c.kind = kind_named(optarg);
        if (!c.kind) {
          fprintf(stderr, "fault-soak: no kind is called %s; -h lists them\n", optarg);
          exit(2);
        }
        break;
      case 'N':
        c.nccl_percent = atoi(optarg);
        break;
      case 't':
        c.seconds = atof(optarg);
        break;
      case 'l':
        c.log = optarg;
        break;
      case 'v':
        c.verbose = true;
        break;
      case 'h':
        help();
        exit(0);
      default:
        exit(2);
    }
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  const Command command = parse(argc, argv);
  setpgid(0, 0);
  signal(SIGPIPE, SIG_IGN);
  Network network;
  if (!network.links())
    fprintf(stderr, "fault-soak: without faults of links: %s\n", network.why_not().c_str());
  const std::vector<Kind> all = kinds(network.links());
  Tally tally;
  if (!command.log.empty()) {
    std::ifstream before(command.log);
    for (std::string line; std::getline(before, line);) tally.add_line(line);
  }
  const int bad_before = tally.bad();
  Pools pools(kPoolLife);
  const auto began = std::chrono::steady_clock::now();
  if (command.runs > 0 && command.nccl_percent > 0 && !nccl_built())
    printf("nccl-ranks is not built (it needs NCCL 2.28 on x86-64): no run uses the real NCCL\n");
  for (uint64_t i = 0; i < command.runs; ++i) {
    if (command.seconds > 0 &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > command.seconds)
      break;
    const uint64_t seed = command.seed + i;
    const Scenario s = draw(seed, command.kind ? *command.kind : draw_kind(seed, all));
    const bool nccl = nccl_built() && facts(s.kind).nccl && nccl_allows(s) &&
                      Dice(seed ^ 0x6e63636c).below(100) < static_cast<uint64_t>(command.nccl_percent);
    const std::string under = nccl ? "nccl" : "perf";
    if (command.verbose) printf("%s: %s\n", under.c_str(), s.text().c_str());
    fflush(stdout);
    const Findings f = nccl ? try_nccl(s, pools.of(s)) : try_job(s, network, pools.of(s));
    tally.add(under, f);
    if (!command.log.empty()) std::ofstream(command.log, std::ios::app) << Tally::line(under, f) << "\n";
    if (command.verbose)
      printf("  %s%s, noticed %.3f s\n", f.end.c_str(), f.struck ? "" : " (missed)", f.noticed_s);
    if (f.bad.empty()) continue;
    printf("BAD %s: %s\n", under.c_str(), s.text().c_str());
    for (const std::string& b : f.bad) printf("  %s\n", b.c_str());
    printf("%s  again: %s -n 1 -s %llu -k %s -N %d -v\n", f.story.c_str(), argv[0],
           static_cast<unsigned long long>(seed), facts(s.kind).name, nccl ? 100 : 0);
    pools.discard(s);
  }
  const std::string ended = pools.end();
  if (!ended.empty()) printf("BAD end of a pool: %s\n", ended.c_str());
  printf("%s", tally.table().c_str());
  return tally.bad() > bad_before || !ended.empty() ? 1 : 0;
}
