// fanin-topo as a program: what plan says in each of its forms, and one line for each wrong usage.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/program.h"

namespace fanin {
namespace {

using test::Program;
using Args = std::vector<std::string>;

const std::string kTopo = test::built("bin/fanin-topo");

Program::Outcome run(const Args& args) { return Program(kTopo, args, {}).wait(); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (has(line, part)) return line;
  return "no line with " + part + " in:\n" + text;
}

const Args kFive = {"plan", "--workers", "5", "--worker-bw", "100G", "--reducer-bw", "32G"};
Args five(Args more) {
  more.insert(more.begin(), kFive.begin(), kFive.end());
  return more;
}

TEST(TopoPlan, FiveNodesNeedSixteen) {
  const Program::Outcome o = run(kFive);
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_TRUE(has(o.out, "16 reducers have the workers' bandwidth")) << o.out;
  EXPECT_TRUE(has(o.out, "10 reducers are the fewest that beat a ring")) << o.out;
  EXPECT_TRUE(has(line_with(o.out, "slower than the ring"), "25.6 Gbit/s")) << o.out;
  EXPECT_TRUE(has(line_with(o.out, "as much as the workers"), "1.60")) << o.out;
  EXPECT_FALSE(has(o.out, "cost")) << o.out;
  EXPECT_FALSE(has(o.out, "warning")) << o.out;
}

TEST(TopoPlan, WarnsOfAPoolThatLoses) {
  const std::string out = run(five({"--reducers", "6"})).out;
  EXPECT_TRUE(
      has(line_with(out, "warning: the pool is too small: 6 reducers have 192 Gbit/s together, 38.4 %"),
          "10 such reducers beat the ring"))
      << out;
  const std::string two =
      run({"plan", "--workers=2", "--worker-bw=1G", "--reducer-bw=1G", "--reducers=1"}).out;
  EXPECT_TRUE(has(two, "no pool beats a ring of two")) << two;
  EXPECT_TRUE(has(two, "warning: ")) << two;
}

TEST(TopoPlan, PricesDecideWhatIsCheapest) {
  const std::string dear = run(five({"--price-worker", "1", "--price-reducer", "1"})).out;
  EXPECT_TRUE(has(dear, "the ring is cheapest")) << dear;
  const std::string cheap = run(five({"--price-worker", "98", "--price-reducer", "1.5"})).out;
  EXPECT_TRUE(has(cheap, "16 reducers are cheapest")) << cheap;
  // 5 x 98 an hour for a second with the ring.
  EXPECT_TRUE(has(line_with(cheap, "    ring  "), "0.13611")) << cheap;
}

TEST(TopoPlan, WorkersForNothing) {
  const std::string out = run(five({"--price-worker", "0", "--price-reducer", "1"})).out;
  EXPECT_TRUE(has(out, "the ring is cheapest")) << out;
  EXPECT_FALSE(has(out, "nan") || has(out, "inf")) << out;
}

TEST(TopoPlan, JsonHasTheWholeAnswer) {
  const std::string out = run(five({"--json", "--reducers", "8", "--lanes", "4", "--sessions", "2"})).out;
  for (const char* part :
       {"\"reducers_to_match\":16", "\"reducers_to_beat_ring\":10", "\"reducers_cheapest\":null",
        "\"ring\":{\"reducers\":0,\"pool_share\":0,\"algbw_bits_per_s\":6.25e+10",
        "\"chosen\":{\"reducers\":8,\"pool_share\":0.512,\"algbw_bits_per_s\":5.12e+10",
        "\"loses_to_ring\":true", "\"connections_per_worker\":64", "\"connections_per_reducer\":40",
        // 2 sessions x 4 lanes x (5 + 1) x 8 blocks (16 MiB / 8 reducers / 4 lanes) of 64 KiB
        "\"memory_per_reducer_bytes\":25165824"})
    EXPECT_TRUE(has(out, part)) << part << " in " << out;
}

TEST(TopoPlan, SvgGoesIntoAFile) {
  char name[] = "/tmp/fanin-topo-XXXXXX";
  close(mkstemp(name));
  EXPECT_EQ(run(five({"--svg", name})).exit_code, 0);
  std::stringstream s;
  s << std::ifstream(name).rdbuf();
  unlink(name);
  EXPECT_EQ(s.str().rfind("<svg ", 0), 0u);
  EXPECT_TRUE(s.str().ends_with("</svg>\n"));
  for (const char* part :
       {"16: as much as the workers", "10: beats the ring", "ring of the workers", "here the ring is faster"})
    EXPECT_TRUE(has(s.str(), part)) << part;
  EXPECT_FALSE(has(s.str(), "nan"));
  const Program::Outcome o = run(five({"--svg", "/nowhere/a.svg"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "cannot write '/nowhere/a.svg': No such file")) << o.err;
}

TEST(TopoPlan, FarApartSizesStayFinite) {
  for (const char* bw : {"1M", "10000G"}) {
    const Program::Outcome o =
        run({"plan", "--workers", "4096", "--worker-bw", bw, "--reducer-bw", "1G", "--svg", "/dev/null"});
    EXPECT_NE(o.exit_code, -1) << bw;
    EXPECT_FALSE(has(o.out, "nan") || has(o.out, "inf")) << o.out;
  }
}

TEST(TopoShow, ExportedHostAsATree) {
  const std::string out = run({"show", "--xml", "tests/topologies/two_sockets_8_gpus_8_nics.xml"}).out;
  EXPECT_TRUE(has(out, "NUMA node 1, 256 GiB\n  16 cores, CPUs 16-31,48-63\n")) << out;
  EXPECT_TRUE(has(line_with(out, "uses eth7"), "same PCI switch")) << out;
  EXPECT_TRUE(has(line_with(out, "NIC  eth3"), "(PCI 504.1 Gbit/s)")) << out;
  const std::string json = run({"show", "--json", "--xml", "tests/topologies/pcie_box_1_nic.xml"}).out;
  EXPECT_TRUE(has(json, "\"nic\":\"eth0\",\"distance\":\"another NUMA node\"")) << json;
}

// An export has none; the parser beneath hwloc reads other files for them, and hwloc falls over one.
TEST(TopoShow, AnExportWithEntitiesIsRefused) {
  const std::string path = testing::TempDir() + "/fanin-entities-" + std::to_string(getpid()) + ".xml";
  std::ofstream(path) << "<?xml version=\"1.0\"?><!DOCTYPE t [<!ENTITY x SYSTEM \"file:///etc/hostname\">]>"
                         "<topology version=\"2.0\">&x;</topology>";
  const Program::Outcome o = run({"show", "--xml", path});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.err, "fanin-topo: '" + path + "' has entities; give a file as lstopo --of xml writes it\n");
  unlink(path.c_str());
}

// The code must not say that all is well when the answer was lost.
TEST(TopoCheck, AnAnswerThatCannotBeWrittenIsAFailure) {
  const Program::Outcome o =
      Program("/bin/sh", {"-c", kTopo + " check --workers 3 --worker-bw 1G --reducer-bw 9G >/dev/full"},
              {"FANIN_REDUCERS=10.0.0.1:4000"})
          .wait();
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.err, "fanin-topo: cannot write to stdout: No space left on device\n");
}

TEST(TopoShow, ThisHostAndOneThatIsNoHost) {
  EXPECT_TRUE(has(run({"show"}).out, " cores, CPUs "));
  EXPECT_TRUE(has(run({"show", "--xml", "tests/topologies/cloud_vm.xml"}).out, "no NIC is to be seen"));
  const Program::Outcome o = run({"show", "--xml", "Makefile"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(has(o.err, "'Makefile'")) << o.err;
}

Program::Outcome check(const Args& environment, Args more = {}) {
  more.insert(more.begin(), "check");
  return Program(kTopo, more, environment).wait();
}

TEST(TopoCheck, JudgesThePoolOfTheEnvironment) {
  const Args rates = {"--worker-bw", "100G", "--reducer-bw", "100G", "--workers", "3"};
  const Program::Outcome good = check({"FANIN_REDUCERS=10.0.0.1:4000,10.0.0.2:4000,10.0.0.3:4000"}, rates);
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_TRUE(has(good.out, "FANIN_REDUCERS names 3 reducers\n3 workers with 100 Gbit/s each")) << good.out;
  const Program::Outcome small = check({"FANIN_REDUCERS=10.0.0.1:4000,10.0.0.2:4000"}, rates);
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_TRUE(
      has(small.out,
          "warning: the pool is too small: 2 reducers have 200 Gbit/s together, 66.7 % of what 3 nodes "
          "with 100 Gbit/s each have; below 75.0 % a ring is faster; 3 such reducers beat the ring, 3 "
          "have the nodes' bandwidth"))
      << small.out;
  const Program::Outcome told = check({"FANIN_REDUCERS=10.0.0.1:4000", "FANIN_WORKER_BW=25G"},
                                      {"--reducer-bw", "100G", "--workers", "3"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_TRUE(has(told.out, "this worker uses FANIN_WORKER_BW\n3 workers with 25 Gbit/s each")) << told.out;
  const Program::Outcome slurm = check({"FANIN_REDUCERS=10.0.0.1:4000", "SLURM_JOB_NUM_NODES=3"},
                                       {"--worker-bw=100G", "--reducer-bw=400G", "--json"});
  EXPECT_TRUE(has(slurm.out, "{\"workers\":3,")) << slurm.out << slurm.err;
}

TEST(TopoCheck, SaysWhatIsMissing) {
  const std::string pool = "FANIN_REDUCERS=10.0.0.1:4000";
  const struct {
    Args environment, args;
    const char* says;
  } cases[] = {
      {{}, {}, "no reducers are configured here"},
      {{"FANIN_REDUCERS=none"}, {}, "FANIN_REDUCERS is 'none'"},
      {{"FANIN_REDUCERS=10.0.0.1:0"}, {}, "FANIN_REDUCERS: '10.0.0.1:0' has port 0"},
      {{pool}, {}, "give --workers"},
      {{pool}, {"--workers", "3"}, "give --reducer-bw"},
      {{pool, "SLURM_JOB_NUM_NODES=2(x1)"},
       {"--reducer-bw", "1G", "--worker-bw", "1G"},
       "SLURM_JOB_NUM_NODES: '2(x1)' is not a whole number from 2 to 4096"},
      {{pool, "NCCL_SOCKET_IFNAME=lo"}, {"--workers", "3", "--reducer-bw", "1G"}, "give --worker-bw"}};
  for (const auto& c : cases) {
    const Program::Outcome o = check(c.environment, c.args);
    EXPECT_EQ(o.exit_code, 2) << c.says;
    EXPECT_TRUE(has(o.err, c.says)) << o.err;
  }
}

struct Usage {
  Args args;
  const char* says;
};
TEST(TopoUsage, IsOneLineAndCodeTwo) {
  for (const Usage& u : std::initializer_list<Usage>{
           {{}, "no command"},
           {{"paln"}, "unknown command 'paln'"},
           {{"plan"}, "plan needs --workers"},
           {five({"--reducer", "3"}), "did you mean --reducers?"},
           {five({"--workers", "1"}), "--workers: '1' is not a whole number from 2 to 4096"},
           {five({"--worker-bw", "100X"}), "--worker-bw: '100X' is no link rate"},
           {five({"--comm-fraction", "1.5"}), "--comm-fraction: '1.5' is no number from 0 to 1"},
           {five({"--step-s", "-1"}), "--step-s: '-1' is no number of at least 0"},
           {five({"--price-worker", "3"}), "give both"},
           {five({"--reducer-bw", "1M"}), "look at the units"},
           {five({"--reducer-bw", "32"}), "--reducer-bw: '32' is less than 1 Mbit/s; look at the unit"},
           {five({"--price-worker", "0", "--price-reducer", "0"}), "are both 0; give prices, or neither"},
           {five({"--step-s", "0"}), "--step-s is 0"},
           {five({"--bytes"}), "--bytes"}}) {
    const Program::Outcome o = run(u.args);
    EXPECT_EQ(o.exit_code, 2) << u.says;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_TRUE(has(o.err, u.says)) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(TopoUsage, HelpAndVersion) {
  const Program::Outcome help = run({"--help"}), plan = run({"plan", "--help"}), version = run({"--version"});
  EXPECT_EQ(help.exit_code + plan.exit_code + version.exit_code, 0);
  EXPECT_TRUE(has(help.out, "plan"));
  for (const char* o : {"--workers", "--worker-bw", "--reducer-bw", "--json", "--svg"})
    EXPECT_TRUE(has(plan.out, o)) << o;
  EXPECT_EQ(version.out.rfind("fanin-topo ", 0), 0u);
}

}  // namespace
}  // namespace fanin
