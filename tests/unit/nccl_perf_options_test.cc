// The command line, the list of sizes, and the element counts per collective.
#include <gtest/gtest.h>

#include "perf/nccl_perf/options.h"
#include "perf/nccl_perf/shape.h"

namespace fanin::nccl_perf {
namespace {

ParsedOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "fanin-nccl-perf");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(NcclPerfOptions, DefaultsAreThoseOfNcclTests) {
  const ParsedOptions p = parse({});
  ASSERT_TRUE(p.options) << p.message;
  EXPECT_EQ(p.options->min_bytes, 32u << 20);
  EXPECT_EQ(p.options->iters, 20);
  EXPECT_EQ(p.options->warmup, 5);
  EXPECT_EQ(p.options->checks, 1);
  EXPECT_EQ(p.options->types, std::vector<DType>{DType::kF32});
  EXPECT_EQ(sizes(*p.options), std::vector<uint64_t>{32 << 20});
}

TEST(NcclPerfOptions, TakesNcclTestsCommandLine) {
  const ParsedOptions p =
      parse({"-b", "8",   "-e", "128M", "-f", "2", "-g", "8", "-t", "2", "-d", "half,int8",
             "-o", "all", "-c", "0",    "-n", "3", "-w", "1", "-m", "4", "-z", "1",
             "-a", "3",   "-p", "1",    "-r", "0", "-C", "1", "-R", "1", "-T", "9"});
  ASSERT_TRUE(p.options) << p.message;
  const Options& o = *p.options;
  EXPECT_EQ(o.gpus, 16);
  EXPECT_EQ(sizes(o).size(), 25u);
  EXPECT_EQ(sizes(o).back(), 128u << 20);
  EXPECT_EQ(o.types, (std::vector<DType>{DType::kF16, DType::kI8}));
  EXPECT_EQ(o.ops.size(), 5u);
  EXPECT_EQ(o.agg_iters, 4);
  EXPECT_EQ(o.average, 3);
  EXPECT_EQ(o.timeout_s, 9);
  EXPECT_TRUE(o.blocking && o.cputime && o.register_buffers);
}

TEST(NcclPerfOptions, AllTypes) {
  const ParsedOptions p = parse({"-d", "all", "--coll", "all_gather"});
  ASSERT_TRUE(p.options) << p.message;
  EXPECT_EQ(p.options->types.size(), 12u);
  EXPECT_TRUE(p.options->all_types);
  EXPECT_EQ(p.options->coll, Coll::kAllGather);
}

TEST(NcclPerfOptions, SizesStepOrMultiply) {
  EXPECT_EQ(sizes(*parse({"-b", "1K", "-e", "4K", "-i", "1K"}).options),
            (std::vector<uint64_t>{1024, 2048, 3072, 4096}));
  EXPECT_EQ(sizes(*parse({"-b", "1K", "-e", "10K", "-f", "3"}).options),
            (std::vector<uint64_t>{1024, 3072, 9216}));
  EXPECT_EQ(sizes(*parse({"-b", "0", "-e", "8", "-f", "2"}).options), (std::vector<uint64_t>{0}));
}

TEST(NcclPerfOptions, MistakesAreOneLineThatNamesThem) {
  const struct {
    std::vector<const char*> words;
    const char* named;
  } cases[] = {
      {{"--nonsense"}, "--nonsense"},
      {{"-b", "12Q"}, "'12Q'"},
      {{"-d", "complex"}, "'complex'"},
      {{"-o", "mulsum"}, "'mulsum'"},
      {{"-f", "1"}, "--stepfactor"},
      {{"-n", "0"}, "--iters"},
      {{"-b", "2M", "-e", "1M"}, "larger"},
      {{"--processes"}, "--nodes"},
      {{"--coll", "alltoall"}, "alltoall"},
      {{"-g", "0"}, "--ngpus"},
      {{"-e", "1M", "-b", "1K", "-i", "0"}, "--stepbytes"},
      {{"stray"}, "stray"},
  };
  for (const auto& c : cases) {
    const ParsedOptions p = parse(c.words);
    EXPECT_FALSE(p.options);
    EXPECT_EQ(p.exit_code, kExitUsage);
    EXPECT_NE(p.message.find(c.named), std::string::npos) << p.message;
    EXPECT_EQ(std::count(p.message.begin(), p.message.end(), '\n'), 1) << p.message;
    EXPECT_EQ(p.message.find("fanin-nccl-perf: "), 0u) << p.message;
  }
}

TEST(NcclPerfOptions, HelpAndVersionAreNoErrors) {
  for (const char* word : {"--help", "-h", "--version"}) {
    const ParsedOptions p = parse({word});
    EXPECT_FALSE(p.options);
    EXPECT_EQ(p.exit_code, kExitOk);
    EXPECT_NE(p.message.find("fanin-nccl-perf"), std::string::npos);
  }
}

TEST(NcclPerfShape, CountsAreThoseOfNcclTests) {
  const Shape r = shape_of(Coll::kAllReduce, 1000, 4, 10);
  EXPECT_EQ(r.count, 250u);
  EXPECT_EQ(r.largest(), 250u);
  // 1 MiB of float over 10 ranks: 26214.4 elements each, rounded down to whole 16 bytes.
  const Shape g = shape_of(Coll::kAllGather, 1 << 20, 4, 10);
  EXPECT_EQ(g.send, 26212u);
  EXPECT_EQ(g.recv, 262120u);
  EXPECT_EQ(g.count, 26212u);
  const Shape s = shape_of(Coll::kReduceScatter, 1 << 20, 8, 10);
  EXPECT_EQ(s.recv, 13106u);
  EXPECT_EQ(s.send, 131060u);
  EXPECT_EQ(shape_of(Coll::kAllGather, 64, 1, 10).count, 0u);
}

}  // namespace
}  // namespace fanin::nccl_perf
