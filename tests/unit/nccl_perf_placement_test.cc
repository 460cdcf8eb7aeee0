// Rank discovery from the environments that torchrun, srun and mpirun make.
#include <gtest/gtest.h>

#include <map>

#include "perf/nccl_perf/placement.h"

namespace fanin::nccl_perf {
namespace {

using Vars = std::map<std::string, std::string>;

Result<std::optional<Placement>> find(const Vars& vars, const std::string& rendezvous = "") {
  return find_placement(
      [&vars](const char* name) -> const char* {
        auto it = vars.find(name);
        return it == vars.end() ? nullptr : it->second.c_str();
      },
      rendezvous);
}

TEST(NcclPerfPlacement, NoLauncherIsNoPlacement) {
  const auto p = find(
      {{"HOME", "/root"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});  // a batch script's own environment
  ASSERT_TRUE(p);
  EXPECT_FALSE(*p);
}

TEST(NcclPerfPlacement, Torchrun) {
  const auto p = find({{"RANK", "5"},
                       {"WORLD_SIZE", "16"},
                       {"LOCAL_RANK", "1"},
                       {"MASTER_ADDR", "gpu1"},
                       {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(p && *p);
  EXPECT_EQ((*p)->process, 5);
  EXPECT_EQ((*p)->processes, 16);
  EXPECT_EQ((*p)->local, 1);
  EXPECT_EQ((*p)->meet.host, "gpu1");
  EXPECT_EQ((*p)->meet.port, 29500);
}

TEST(NcclPerfPlacement, TorchrunsOwnStoreKeepsItsPort) {
  const auto p = find({{"RANK", "0"},
                       {"WORLD_SIZE", "2"},
                       {"LOCAL_RANK", "0"},
                       {"MASTER_ADDR", "gpu1"},
                       {"MASTER_PORT", "29500"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(p && *p);
  EXPECT_EQ((*p)->meet.port, 29501);
}

TEST(NcclPerfPlacement, SlurmTakesTheFirstHostOfTheStep) {
  const Vars vars{{"SLURM_PROCID", "9"},
                  {"SLURM_NTASKS", "16"},
                  {"SLURM_STEP_NUM_TASKS", "16"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_STEP_NODELIST", "gpu[007-010,12]"},
                  {"SLURM_JOB_NODELIST", "gpu[001-012]"},
                  {"SLURM_JOB_ID", "4242"}};
  const auto p = find(vars);
  ASSERT_TRUE(p && *p);
  EXPECT_EQ((*p)->process, 9);
  EXPECT_EQ((*p)->meet.host, "gpu007");
  EXPECT_EQ((*p)->launcher, "Slurm");
  Vars other = vars;
  other["SLURM_JOB_ID"] = "4243";
  EXPECT_NE((*find(other))->meet.port, (*p)->meet.port);
}

TEST(NcclPerfPlacement, SlurmObeysMasterAddr) {
  const auto p = find({{"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NUM_TASKS", "2"},
                       {"SLURM_LOCALID", "0"},
                       {"SLURM_STEP_NODELIST", "a,b"},
                       {"MASTER_ADDR", "10.0.0.7"},
                       {"MASTER_PORT", "4444"}});
  ASSERT_TRUE(p && *p);
  EXPECT_EQ((*p)->meet.host, "10.0.0.7");
  EXPECT_EQ((*p)->meet.port, 4444);
}

TEST(NcclPerfPlacement, OpenMpiInsideSlurmIsOpenMpis) {
  const auto p = find({{"OMPI_COMM_WORLD_RANK", "3"},
                       {"OMPI_COMM_WORLD_SIZE", "4"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                       {"SLURM_PROCID", "0"},
                       {"SLURM_STEP_NUM_TASKS", "1"},
                       {"SLURM_LOCALID", "0"}});
  ASSERT_TRUE(p && *p);
  EXPECT_EQ((*p)->process, 3);
  EXPECT_EQ((*p)->meet.host, "127.0.0.1");  // all on this host
}

TEST(NcclPerfPlacement, RendezvousOverrides) {
  const Vars vars{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}};
  const auto p = find(vars, "[fd00::7]:4000");
  ASSERT_TRUE(p && *p);
  EXPECT_EQ((*p)->meet.host, "fd00::7");
  EXPECT_EQ((*p)->meet.port, 4000);
}

TEST(NcclPerfPlacement, ErrorsNameTheVariable) {
  const struct {
    Vars vars;
    const char* named;
  } cases[] = {
      {{{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}, "RANK"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}, "WORLD_SIZE=2"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "LOCAL_RANK"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}, "MASTER_ADDR"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"LOCAL_RANK", "0"},
        {"MASTER_ADDR", "a"},
        {"MASTER_PORT", "70000"}},
       "MASTER_PORT"},
  };
  for (const auto& c : cases) {
    const auto p = find(c.vars);
    ASSERT_FALSE(p) << c.named;
    EXPECT_NE(p.error().text().find(c.named), std::string::npos) << p.error().text();
    EXPECT_EQ(p.error().code(), Errc::kInvalidUsage);
  }
  EXPECT_FALSE(find({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}, "nowhere"));
}

TEST(NcclPerfPlacement, SlurmHostLists) {
  EXPECT_EQ(first_slurm_host("n1"), "n1");
  EXPECT_EQ(first_slurm_host("n1,n2"), "n1");
  EXPECT_EQ(first_slurm_host("gpu[007-009,12],login"), "gpu007");
  EXPECT_EQ(first_slurm_host("gpu[12]"), "gpu12");
  EXPECT_EQ(first_slurm_host("r[1-2]n[03-4]"), "r1n03");
  EXPECT_EQ(first_slurm_host("gpu[1-2].cluster"), "gpu1.cluster");
  EXPECT_EQ(first_slurm_host("gpu[1-"), "");
  EXPECT_EQ(first_slurm_host(""), "");
}

}  // namespace
}  // namespace fanin::nccl_perf
