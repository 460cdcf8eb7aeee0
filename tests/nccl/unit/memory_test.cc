#include "tests/nccl/device/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace cpudev::test {
namespace {

TEST(Memory, IsFoundByAnyAddressInside) {
  char* p = static_cast<char*>(allocate(1000, MemoryKind::kDevice, 5));
  ASSERT_NE(p, nullptr);
  memset(p, 1, 1000);
  for (size_t at : {size_t{0}, size_t{1}, size_t{999}}) {
    const auto found = find_allocation(p + at);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->base, p);
    EXPECT_EQ(found->size, 1000u);
    EXPECT_EQ(found->kind, MemoryKind::kDevice);
    EXPECT_EQ(found->device, 5);
  }
  EXPECT_FALSE(find_allocation(p + 1000));
  EXPECT_FALSE(find_allocation(p - 1));
  EXPECT_FALSE(release(p + 1)) << "not what allocate returned";
  EXPECT_TRUE(release(p));
  EXPECT_FALSE(find_allocation(p));
  EXPECT_FALSE(release(p));
  EXPECT_TRUE(release(nullptr));
}

TEST(Memory, LargeBlocksAreAlignedForHugePages) {
  void* p = allocate(5 << 20, MemoryKind::kHost, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % (2 << 20), 0u);
  EXPECT_TRUE(release(p));
}

TEST(Memory, CountsDeviceMemoryInPages) {
  const size_t before = device_memory_used(6);
  void *device = allocate(1, MemoryKind::kDevice, 6), *host = allocate(1, MemoryKind::kHost, 6);
  EXPECT_EQ(device_memory_used(6), before + 4096);
  EXPECT_TRUE(release(device));
  EXPECT_TRUE(release(host));
  EXPECT_EQ(device_memory_used(6), before);
}

}  // namespace
}  // namespace cpudev::test
