// Where the pool is named: FANIN_REDUCERS, Slurm, CLUSTER_SPEC, TF_CONFIG; which of them decides; every mistake's line; and
// the port a reducer finds for itself.
#include "topology/discovery.h"

#include <gtest/gtest.h>

#include <map>

#include "topology/cluster_spec.h"
#include "topology/pool.h"

namespace fanin {
namespace {

using Variables = std::map<std::string, std::string>;

EnvLookup in(const Variables& variables) {
  return [=](const std::string& name) {
    const auto it = variables.find(name);
    return it == variables.end() ? "" : it->second;
  };
}
PoolSource pool(const Variables& variables) { return discover_pool(in(variables)); }
std::string trouble(const Variables& variables) {
  const PoolSource p = pool(variables);
  EXPECT_EQ(p.spec, "");
  EXPECT_EQ(p.trouble.find('\n'), std::string::npos);
  return p.trouble;
}
std::string own_port(const Variables& variables) {
  Result<uint16_t> r = discover_own_port(in(variables));
  return r ? std::to_string(*r) : r.error().text();
}

// As Vertex AI documents it.
std::string vertex(const std::string& type, const std::string& index) {
  return R"({"cluster": {"workerpool0": ["cmle-training-workerpool0-ab-0:2222"],
    "workerpool1": ["cmle-training-workerpool1-ab-0:2222", "cmle-training-workerpool1-ab-1:2222"],
    "workerpool2": ["cmle-training-workerpool2-ab-0:2222", "cmle-training-workerpool2-ab-1:2223"]},
    "environment": "cloud", "task": {"type": ")" +
         type + R"(", "index": )" + index + R"(, "trial": ""}, "job": "{\"python_module\": \"\"}"})";
}
const std::string kTf =
    R"({"cluster": {"chief": ["c:2222"], "worker": ["w:2222"], "ps": ["p0:2222", "p1:2222"]},
    "task": {"type": "ps", "index": 1}})";

TEST(Discovery, NothingSet) {
  const PoolSource p = pool({});
  EXPECT_EQ(p.from + p.spec + p.trouble, "");
  EXPECT_EQ(own_port({}), "0");
}

TEST(Discovery, VertexWorkerPoolTwo) {
  const PoolSource p = pool({{"CLUSTER_SPEC", vertex("workerpool0", "0")}});
  EXPECT_EQ(p.from, "CLUSTER_SPEC");
  EXPECT_EQ(p.spec, "cmle-training-workerpool2-ab-0:2222,cmle-training-workerpool2-ab-1:2223");
  EXPECT_EQ(p.expect, 2u);
}

// Not what FANIN_REDUCERS would mean by it.
TEST(Discovery, HostsCalledAsTheFormsOfAPool) {
  for (const char* name : {"dns", "file"}) {
    const std::string entry = std::string(name) + ":4000";
    const PoolSource p =
        pool({{"CLUSTER_SPEC", "{\"cluster\": {\"workerpool2\": [\"" + entry + "\", \"a:1\"]}}"}});
    EXPECT_EQ(p.expect, 2u);
    const auto members = resolve_pool(p.spec, AF_UNSPEC, Deadline::after(std::chrono::milliseconds(0)));
    EXPECT_EQ(members.error().text().substr(0, 2 + entry.size() - 5),
              "'" + entry.substr(0, entry.size() - 5) + "'");
  }
}

TEST(Discovery, TfConfigParameterServers) {
  const PoolSource p = pool({{"TF_CONFIG", kTf}});
  EXPECT_EQ(p.from, "TF_CONFIG");
  EXPECT_EQ(p.spec, "p0:2222,p1:2222");
}

TEST(Discovery, TheFirstThatIsSetDecides) {
  const Variables all = {
      {"FANIN_REDUCERS", "a:1"}, {"CLUSTER_SPEC", vertex("workerpool0", "0")}, {"TF_CONFIG", kTf}};
  EXPECT_EQ(pool(all).spec, "a:1");
  EXPECT_EQ(pool(all).from, "FANIN_REDUCERS");
  EXPECT_EQ(pool(all).expect, 0u);
  EXPECT_EQ(pool({{"FANIN_REDUCERS", ""}, {"CLUSTER_SPEC", vertex("x", "0")}, {"TF_CONFIG", kTf}}).from,
            "CLUSTER_SPEC");
  EXPECT_EQ(pool({{"CLUSTER_SPEC", "{"}, {"TF_CONFIG", kTf}}).from, "CLUSTER_SPEC");
  const PoolSource off = pool({{"FANIN_REDUCERS", "none"}, {"TF_CONFIG", kTf}});
  EXPECT_EQ(off.spec, "");
  EXPECT_TRUE(off.off);
}

TEST(Discovery, SlurmHeterogeneousJob) {
  const Variables job = {{"SLURM_JOB_NODELIST_HET_GROUP_0", "gpu[1-4]"},
                         {"SLURM_JOB_NODELIST_HET_GROUP_1", "cpu[08-10],big"},
                         {"SLURM_JOB_NODELIST_HET_GROUP_2", "other"}};
  auto spec = [&](const char* reducers) {
    Variables v = job;
    v["FANIN_REDUCERS"] = reducers;
    return pool(v);
  };
  EXPECT_EQ(spec("slurm:4000").spec, "cpu08:4000,cpu09:4000,cpu10:4000,big:4000");
  EXPECT_EQ(spec("slurm:4000").expect, 4u);
  EXPECT_EQ(spec("slurm:2:5000").spec, "other:5000");
  EXPECT_EQ(pool(job).spec, "");  // only where asked for: component 1 may be anything
  EXPECT_EQ(
      spec("slurm:3:5000").trouble,
      "SLURM_JOB_NODELIST_HET_GROUP_3 is not set: this is no heterogeneous Slurm job with a component 3");
  for (const char* bad :
       {"slurm:", "slurm:x", "slurm:1:", "slurm:x:1", "slurm:1:2:3", "slurm:1:70000", "slurm:-1:5"})
    EXPECT_EQ(spec(bad).trouble,
              "'" + std::string(bad) +
                  "' is not slurm:PORT or slurm:GROUP:PORT; write slurm:4000 for component 1 of a "
                  "heterogeneous job");
  EXPECT_EQ(trouble({{"FANIN_REDUCERS", "slurm:4000"}, {"SLURM_JOB_NODELIST_HET_GROUP_1", "cpu[3-1]"}}),
            "SLURM_JOB_NODELIST_HET_GROUP_1: the host list 'cpu[3-1]' has a range that goes down");
}

TEST(DiscoveryErrors, WorkersSide) {
  auto says = [](const std::string& text) {
    const std::string all = trouble({{"CLUSTER_SPEC", text}}),
                      begin = "FANIN_REDUCERS is not set and CLUSTER_SPEC ";
    EXPECT_TRUE(all.starts_with(begin)) << all;
    return all.substr(std::min(begin.size(), all.size()));
  };
  EXPECT_EQ(says("{\"cluster\": \n"), "is not valid JSON: '{\"cluster\": ?'");
  EXPECT_EQ(says("cluster=x"), "is not valid JSON: 'cluster=x'");
  EXPECT_EQ(says(std::string(200000, '[')).substr(0, 20), "is not valid JSON: '");
  const std::string far = "{\"cluster\": {\"workerpool2\": [" + std::string(200, ' ') + "'a:1']}}";
  EXPECT_TRUE(says(far).ends_with("…', wrong from character 230 on: ''a:1']}}'")) << says(far);
  EXPECT_EQ(says("{\"x\": 1e999}"), "is not valid JSON: '{\"x\": 1e999}'");
  EXPECT_EQ(says(std::string(2 << 20, ' ')), "is longer than 1 MiB");
  EXPECT_EQ(says("[]"), "has no object 'cluster'");
  EXPECT_EQ(says("7"), "has no object 'cluster'");
  EXPECT_EQ(says("{\"cluster\": []}"), "has no object 'cluster'");
  EXPECT_EQ(says("{\"cluster\": {\"workerpool0\": [\"a:1\"], \"workerpool1\": []}}"),
            "has no cluster.workerpool2, where reducers are; it has workerpool0, workerpool1");
  EXPECT_EQ(says("{\"cluster\": {}}"), "has no cluster.workerpool2, where reducers are; it has nothing");
  EXPECT_EQ(says("{\"cluster\": {\"workerpool2\": []}}"), "has an empty cluster.workerpool2");
  for (const char* bad : {"{}", "\"a:1\"", "[1]", "[\"a:1\", null]", "null"})
    EXPECT_EQ(says("{\"cluster\": {\"workerpool2\": " + std::string(bad) + "}}"),
              "has a cluster.workerpool2 that is not a list of \"host:port\"")
        << bad;
  EXPECT_EQ(says("{\"cluster\": {\"workerpool2\": [\"a\"]}}"),
            "cluster.workerpool2: 'a' is not HOST:PORT (no port); write name:4000, 10.0.0.7:4000 or "
            "[fd00::7]:4000");
  EXPECT_TRUE(says("{\"cluster\": {\"workerpool2\": [\"a,b:1\"]}}").ends_with("or [fd00::7]:4000"));
}

TEST(OwnPort, OfThisTasksEntry) {
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", vertex("workerpool2", "0")}}), "2222");
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", vertex("workerpool2", "1")}}), "2223");
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", vertex("workerpool2", "\"1\"")}}), "2223");
  EXPECT_EQ(own_port({{"TF_CONFIG", kTf}}), "2222");
  EXPECT_EQ(own_port({{"FANIN_REDUCERS", "a:1"}, {"TF_CONFIG", kTf}}), "2222");
}

TEST(OwnPort, Errors) {
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", vertex("workerpool0", "0")}}),
            "CLUSTER_SPEC says that this is task 0 of workerpool0, and reducers are workerpool2");
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", vertex("workerpool2", "2")}}),
            "CLUSTER_SPEC says that this is task 2 of workerpool2, and there are only 2");
  const std::string no_task = "CLUSTER_SPEC has no task.type and task.index to tell which task this is";
  for (const char* bad :
       {"{}", "{\"task\": 1}", "{\"task\": {\"type\": \"workerpool2\"}}",
        "{\"task\": {\"type\": 2, \"index\": 0}}", "{\"task\": {\"type\": \"workerpool2\", \"index\": -1}}",
        "{\"task\": {\"type\": \"workerpool2\", \"index\": 1.5}}",
        "{\"task\": {\"type\": \"workerpool2\", \"index\": \"x\"}}"})
    EXPECT_EQ(own_port({{"CLUSTER_SPEC", bad}}), no_task) << bad;
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", "{"}}), "CLUSTER_SPEC is not valid JSON: '{'");
  EXPECT_EQ(own_port({{"CLUSTER_SPEC", "{\"task\": {\"type\": \"workerpool2\", \"index\": 0}}"}}),
            "CLUSTER_SPEC has no object 'cluster'");
  EXPECT_EQ(own_port({{"TF_CONFIG",
                       "{\"cluster\": {\"ps\": [\"a:0\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}"}}),
            "TF_CONFIG has port 0 in this task's entry");
}

}  // namespace
}  // namespace fanin
