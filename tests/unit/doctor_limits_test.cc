// What fanin-doctor says about the limits of the process: made-up ones, hosts with and without RDMA devices, and this
// process's own.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "perf/doctor/limits_check.h"

namespace fanin::doctor {
namespace {

constexpr rlim_t kMiB = 1 << 20;

class DoctorLimits : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-doctor-limits-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    no_devices_ = folder_ + "/none";
    devices_ = folder_ + "/some";
    std::filesystem::create_directories(no_devices_);
    std::filesystem::create_directories(devices_ + "/mlx5_0");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Finding about(const std::string& topic, const ProcessLimits& limits,
                       const std::string& rdma_devices) {
    Findings findings;
    check_limits(limits, 2, findings, rdma_devices);
    for (const Finding& f : findings.all())
      if (f.topic == topic) return f;
    ADD_FAILURE() << "nothing about " << topic;
    return {};
  }

  std::string folder_, no_devices_, devices_;
};

TEST_F(DoctorLimits, LittleLockedMemoryOnAHostWithRdmaDevices) {
  const Finding f = about("memlock", {RLIM_INFINITY, 8 * kMiB}, devices_);
  EXPECT_EQ(f.level, Level::kWarn);
  EXPECT_EQ(f.text, "ulimit -l is 8192 KiB, and this host has RDMA devices");
  EXPECT_EQ(f.fix, "ulimit -l unlimited, or NCCL_IB_DISABLE=1");
}

TEST_F(DoctorLimits, LittleLockedMemoryWhereNothingLocksIt) {
  for (const std::string& folder : {no_devices_, folder_ + "/missing"}) {
    const Finding f = about("memlock", {RLIM_INFINITY, 8 * kMiB}, folder);
    EXPECT_EQ(f.level, Level::kOk) << folder;
    EXPECT_EQ(f.text, "ulimit -l is 8192 KiB");
  }
}

TEST_F(DoctorLimits, EnoughLockedMemory) {
  EXPECT_EQ(about("memlock", {RLIM_INFINITY, 64 * kMiB - 1}, devices_).level, Level::kWarn);
  EXPECT_EQ(about("memlock", {RLIM_INFINITY, 64 * kMiB}, devices_).level, Level::kOk);
  const Finding f = about("memlock", {}, devices_);
  EXPECT_EQ(f.level, Level::kOk);
  EXPECT_EQ(f.text, "ulimit -l is unlimited");
}

// Two reducers of 16 lanes, four communicators, 512 for the rest.
TEST_F(DoctorLimits, Descriptors) {
  const Finding few = about("descriptors", {639, RLIM_INFINITY}, no_devices_);
  EXPECT_EQ(few.level, Level::kWarn);
  EXPECT_EQ(few.text, "ulimit -n is 639; a pool of 2 reducers may take 640");
  EXPECT_EQ(about("descriptors", {640, RLIM_INFINITY}, no_devices_).level, Level::kOk);
  EXPECT_EQ(about("descriptors", {}, no_devices_).text, "ulimit -n is unlimited");
}

TEST_F(DoctorLimits, AreThisProcessesOwn) {
  rlimit before{}, files{}, lower{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  lower = {before.rlim_cur < 64 * 1024 ? before.rlim_cur : 64 * 1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &lower), 0);
  const ProcessLimits here = ProcessLimits::here();
  EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
  EXPECT_EQ(here.locked_memory, lower.rlim_cur);
  EXPECT_EQ(here.files, files.rlim_cur);
}

}  // namespace
}  // namespace fanin::doctor
