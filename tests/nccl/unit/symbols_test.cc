#include "tests/nccl/device/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/nccl/device/kernel/function_table.h"

// Found by name in this program's own table.
extern "C" __attribute__((noinline, used)) int cpudev_test_landmark() { return 42; }
extern "C" {
extern int cpudev_test_numbers[3];
__attribute__((used)) int cpudev_test_numbers[3] = {1, 2, 3};
}

namespace cpudev::test {
namespace {

uintptr_t own_base() {
  uintptr_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uintptr_t*>(out) = info->dlpi_addr;
        return 1;  // the first is the program
      },
      &base);
  return base;
}

TEST(Symbols, ReadsThisProgram) {
  const auto table = SymbolTable::read("/proc/self/exe", own_base());
  ASSERT_TRUE(table);
  const Symbol* f = table->find("cpudev_test_landmark");
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->is_function);
  EXPECT_EQ(f->address, reinterpret_cast<uintptr_t>(&cpudev_test_landmark));
  const Symbol* data = table->at(reinterpret_cast<uintptr_t>(&cpudev_test_numbers));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->name, "cpudev_test_numbers");
  EXPECT_EQ(data->size, sizeof cpudev_test_numbers);
  EXPECT_FALSE(data->is_function);
  EXPECT_FALSE(table->find("no_such_symbol"));
  EXPECT_FALSE(table->at(f->address + 1));
}

TEST(Symbols, RefusesOtherFiles) {
  EXPECT_FALSE(SymbolTable::read("/no/such/file", 0));
  EXPECT_FALSE(SymbolTable::read("/etc/passwd", 0));
  EXPECT_FALSE(SymbolTable::read("/dev/null", 0));
}

TEST(Functions, AreNumberedInNcclsOrder) {
  // Rows: send/recv, then all-gather ring LL, LL128, Simple, … ; -1 has no function, equal ids share one.
  std::vector<int> ids(1996, -1);
  const int first[] = {0, 1, -1, 2, 3, 3, 3};
  std::copy(std::begin(first), std::end(first), ids.begin());
  const auto f = number_functions(ids);
  ASSERT_EQ(f.size(), 4u);
  EXPECT_EQ(f[0].coll, kSendRecv);
  EXPECT_EQ(f[1].coll, kAllGather);
  EXPECT_EQ(f[1].proto, abi::kProtoLL);
  EXPECT_EQ(f[2].proto, abi::kProtoSimple);
  EXPECT_EQ(f[3].algo, kCollNetDirect);
  EXPECT_EQ(f[3].proto, 0) << "the first row of an id names it";
}

// Which row is the last of all-reduces, by the number of rows: releases 2.22, 2.23, 2.24 and 2.29.
TEST(Functions, OrderIsTheReleases) {
  const struct {
    size_t rows, last_all_reduce;
  } tables[] = {{1513, 913 - 1}, {1666, 916 - 1}, {1996, 1096 - 1}, {1999, 1099 - 1}};
  for (const auto& t : tables) {
    std::vector<int> ids(t.rows, -1);
    ids[t.last_all_reduce] = 0;
    ids[t.last_all_reduce + 1] = 1;
    const auto f = number_functions(ids);
    ASSERT_EQ(f.size(), 2u) << t.rows;
    EXPECT_EQ(f[0].coll, kAllReduce) << t.rows;
    EXPECT_EQ(f[0].algo, kNvlsTree) << t.rows;
    EXPECT_EQ(f[1].coll, kReduce) << t.rows;
  }
  EXPECT_TRUE(number_functions(std::vector<int>(1998, 0)).empty());
}

// This program is linked with libnccl where make found one.
TEST(Functions, OfTheRealLibrary) {
  if (!nccl_symbols()) GTEST_SKIP() << "no libnccl.so.2 on the library path";
  const Symbol* rows = nccl_symbols()->find("ncclDevFuncRowToId");
  ASSERT_TRUE(rows);
  const auto f =
      number_functions({reinterpret_cast<const int*>(rows->address), rows->size / sizeof(int) - 1});
  size_t chains = 0;
  for (const DeviceFunction& d : f) {
    EXPECT_GE(d.coll, 0) << "an id without a row";
    chains += d.coll == kAllReduce && d.algo == kCollNetChain && d.proto == abi::kProtoSimple;
  }
  EXPECT_GE(chains, 20u);
}

}  // namespace
}  // namespace cpudev::test
