// fanin-perf's command line: what is accepted, and one line that names what is not.
#include <gtest/gtest.h>

#include <cstdlib>

#include "perf/fanin_perf/options.h"

namespace fanin::perf {
namespace {

Result<ParsedOptions> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "fanin-perf");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  unsetenv("FANIN_REDUCERS");
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(PerfOptions, DefaultsStartOneReducer) {
  auto p = parse({});
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->options.nranks, 2);
  EXPECT_EQ(p->options.local_reducers, 1);
  EXPECT_FALSE(p->options.rank);
  EXPECT_TRUE(p->options.plugin.ends_with("libnccl-net-fanin.so")) << p->options.plugin;
}

TEST(PerfOptions, EverythingGiven) {
  auto p = parse({"-n",     "5",        "--reducers", "a:1,b:2", "--coll",     "reduce_scatter",
                  "-b",     "1K",       "-e",         "1M",      "-f",         "2",
                  "-d",     "bfloat16", "-o",         "max",     "-i",         "3",
                  "-w",     "0",        "-c",         "0",       "--channels", "16",
                  "--json", "x.json"});
  ASSERT_TRUE(p) << p.error().text();
  const Options& o = p->options;
  EXPECT_EQ(o.nranks, 5);
  EXPECT_EQ(o.local_reducers, 0);
  EXPECT_EQ(o.reducers, "a:1,b:2");
  EXPECT_EQ(o.coll, Coll::kReduceScatter);
  EXPECT_EQ(o.type, DType::kBF16);
  EXPECT_EQ(o.op, RedOp::kMax);
  EXPECT_EQ(o.begin, 1024u);
  EXPECT_EQ(o.end, 1u << 20);
  EXPECT_EQ(o.iters, 3);
  EXPECT_EQ(o.warmup, 0);
  EXPECT_FALSE(o.check);
}

TEST(PerfOptions, OneRankOfSeveralHosts) {
  auto p = parse({"--rank", "1", "--nranks", "3", "--rendezvous", "10.0.0.1:5000", "--algo", "ring"});
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->options.rank, 1);
  EXPECT_EQ(p->options.nranks, 3);
  EXPECT_EQ(p->options.rendezvous.host, "10.0.0.1");
  EXPECT_TRUE(p->options.ring);
}

TEST(PerfOptions, BadInputIsOneLineThatNamesIt) {
  struct Bad {
    std::vector<std::string> words;
    const char* named;
  } const bad[] = {
      {{"--nonsense"}, "--nonsense"},
      {{"-n", "1"}, "-n"},
      {{"-n", "x"}, "-n"},
      {{"-d", "quad"}, "quad"},
      {{"-o", "avg"}, "avg"},
      {{"--coll", "broadcast"}, "broadcast"},
      {{"--algo", "tree"}, "tree"},
      {{"-b", "lots"}, "-b"},
      {{"-b", "2M", "-e", "1M"}, "-b 2M is larger"},
      {{"-r", "1", "--reducers", "a:1"}, "not both"},
      {{"--algo", "ring", "-r", "1"}, "ring"},
      {{"--rank", "0"}, "--nranks"},
      {{"--rank", "3", "--nranks", "3", "--rendezvous", "a:1"}, "--rank 3"},
      {{"--rank", "0", "--nranks", "3"}, "--rendezvous"},
      {{"--rank", "0", "--nranks", "3", "--rendezvous", "a"}, "--rendezvous"},
      {{"--rank", "0", "--nranks", "3", "--rendezvous", "a:0"}, "port"},
      {{"--rendezvous", "a:1"}, "--rank"},
      {{"--json", "/nowhere/x.json"}, "/nowhere/x.json"},
      {{"--nranks", "3"}, "--rank"},
      {{"--rank", "0", "--nranks", "2", "--rendezvous", "a:1", "-r", "1"}, "-r"},
  };
  for (const Bad& b : bad) {
    auto p = parse(b.words);
    std::string words;
    for (const std::string& w : b.words) words += w + " ";
    ASSERT_FALSE(p) << words;
    EXPECT_NE(p.error().text().find(b.named), std::string::npos) << words << "-> " << p.error().text();
    EXPECT_EQ(p.error().text().find('\n'), std::string::npos) << words << "-> " << p.error().text();
    EXPECT_EQ(p.error().code(), Errc::kInvalidUsage);
  }
}

}  // namespace
}  // namespace fanin::perf
