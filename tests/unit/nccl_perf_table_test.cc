// The table's columns, against lines as nccl-tests prints them.
#include <gtest/gtest.h>

#include "perf/common/table.h"

namespace fanin::perf {
namespace {

Row row() {
  Row r;
  r.bytes = 1048576;
  r.count = 262144;
  r.type = "float";
  r.redop = "sum";
  r.out_of_place = {54.321, {19.3, 33.78}, 0};
  r.in_place = {1234567.8, {0.001, 1234.5}, 3};
  return r;
}

TEST(NcclPerfTable, RowIsInNcclTestsColumns) {
  EXPECT_EQ(table_row(row()),
            "     1048576        262144     float     sum      -1    54.32   19.30   33.78       0  1234568  "
            "  0.00  1234.5       3\n");
}

TEST(NcclPerfTable, UncheckedIsNotApplicable) {
  Row r = row();
  r.out_of_place.wrong.reset();
  r.in_place.wrong.reset();
  const std::string line = table_row(r);
  EXPECT_EQ(line.size(), table_row(row()).size());
  EXPECT_NE(line.find("   33.78     N/A"), std::string::npos) << line;
}

TEST(NcclPerfTable, HeaderIsAsWideAsARow) {
  const std::string header = table_header("cputime");
  std::vector<std::string> lines;
  for (size_t at = 0; at < header.size();) {
    const size_t end = header.find('\n', at);
    lines.push_back(header.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 3u);
  for (const std::string& l : lines) EXPECT_EQ(l.front(), '#');
  // Every column's name ends where its numbers end.
  const std::string line = table_row(row());
  EXPECT_EQ(lines[1].find("size") + 4, line.find("1048576") + 7);
  EXPECT_EQ(lines[1].find("type") + 4, line.find("float") + 5);
  EXPECT_EQ(lines[1].find("cputime") + 7, line.find("54.32") + 5);
  EXPECT_EQ(lines[1].rfind("#wrong") + 6, line.rfind('3') + 1);
}

TEST(NcclPerfTable, FooterSaysWhetherItIsRight) {
  EXPECT_EQ(table_footer(0, 1.5), "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5 \n");
  EXPECT_EQ(table_footer(7, 0).substr(0, 35), "# Out of bounds values : 7 FAILED\n#");
}

TEST(NcclPerfTable, BusBandwidthIsWhatARingCarries) {
  EXPECT_DOUBLE_EQ(bandwidth(Coll::kAllReduce, 1'000'000'000, 1, 4).algorithm, 1);
  EXPECT_DOUBLE_EQ(bandwidth(Coll::kAllReduce, 1'000'000'000, 1, 4).bus, 1.5);
  EXPECT_DOUBLE_EQ(bandwidth(Coll::kAllGather, 1'000'000'000, 1, 4).bus, 0.75);
  EXPECT_DOUBLE_EQ(bandwidth(Coll::kReduceScatter, 1'000'000'000, 2, 4).bus, 0.375);
  EXPECT_EQ(bandwidth(Coll::kAllReduce, 8, 0, 4).bus, 0);
}

}  // namespace
}  // namespace fanin::perf
