// Slurm's host lists: what they mean, and every way to get one wrong.
#include "topology/host_list.h"

#include <gtest/gtest.h>

namespace fanin {
namespace {

std::string hosts(const std::string& list) {
  Result<std::vector<std::string>> r = expand_hosts(list);
  if (!r) return r.error().text();
  std::string out;
  for (const std::string& h : *r) out += (out.empty() ? "" : " ") + h;
  return out;
}

TEST(HostList, Expands) {
  EXPECT_EQ(hosts("node[01-03,7],gpu-5"), "node01 node02 node03 node7 gpu-5");
  EXPECT_EQ(hosts("a"), "a");
  EXPECT_EQ(hosts("a,b, c ,"), "a b c");
  EXPECT_EQ(hosts("n[8-12]"), "n8 n9 n10 n11 n12");
  EXPECT_EQ(hosts("n[08-11]"), "n08 n09 n10 n11");
  EXPECT_EQ(hosts("n[098-101]"), "n098 n099 n100 n101");
  EXPECT_EQ(hosts("n[3]"), "n3");
  EXPECT_EQ(hosts("r[1-2]n[1,4]-ib"), "r1n1-ib r1n4-ib r2n1-ib r2n4-ib");
  EXPECT_EQ(hosts("cpu[1-2].pool.example"), "cpu1.pool.example cpu2.pool.example");
}

TEST(HostList, Errors) {
  const std::string number = "has something other than numbers and ranges in brackets ([01-03,7])";
  EXPECT_EQ(hosts(""), "the host list '' is empty");
  EXPECT_EQ(hosts(" , ,"), "the host list ' , ,' is empty");
  EXPECT_EQ(hosts("n[1-2"), "the host list 'n[1-2' has unbalanced brackets");
  EXPECT_EQ(hosts("n1-2]"), "the host list 'n1-2]' has unbalanced brackets");
  EXPECT_EQ(hosts("n[5-2]"), "the host list 'n[5-2]' has a range that goes down");
  for (const char* bad :
       {"n[]", "n[a-b]", "n[1-]", "n[-1]", "n[1,,2]", "n[1-2-3]", "n[ 1]", "n[1[2]]", "n[+1]"})
    EXPECT_EQ(hosts(bad), "the host list '" + std::string(bad) + "' " + number) << bad;
  EXPECT_EQ(hosts("n[12345678901]"), "the host list 'n[12345678901]' " + number);
}

TEST(HostList, Bounds) {
  EXPECT_EQ(expand_hosts("n[1-4096]")->size(), 4096u);
  EXPECT_EQ(hosts("n[1-4097]"), "the host list 'n[1-4097]' has more than 4096 hosts");
  EXPECT_EQ(hosts("n[1-4096],m"), "the host list 'n[1-4096],m' has more than 4096 hosts");
  EXPECT_EQ(hosts("n[1-100][1-100]"), "the host list 'n[1-100][1-100]' has more than 4096 hosts");
  EXPECT_EQ(hosts("n[0-999999999]"), "the host list 'n[0-999999999]' has more than 4096 hosts");
  EXPECT_NE(hosts(std::string(256, 'n')).find("has a name of more than 255 characters"), std::string::npos);
}

}  // namespace
}  // namespace fanin
