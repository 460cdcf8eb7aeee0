// FANIN_REDUCERS: the three forms, and every bad input with the sentence a user gets.
#include "topology/pool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

namespace fanin {
namespace {

using std::chrono::milliseconds;

std::string error_of(const std::string& spec) {
  Result<std::vector<PoolMember>> r = resolve_pool(spec);
  if (r) return "no error";
  // What may still come is told from what is wrong.
  const std::string& text = r.error().text();
  const bool may_come = text.starts_with("cannot resolve") || text.ends_with("No such file or directory") ||
                        text.starts_with("'file:");
  EXPECT_EQ(r.error().code(), may_come ? Errc::kRemote : Errc::kInvalidUsage) << spec;
  return r.error().text();
}

class TempFile {
 public:
  explicit TempFile(const std::string& text) {
    const int fd = mkstemp(path_);
    close(fd);
    std::ofstream(path_) << text;
  }
  ~TempFile() { unlink(path_); }
  std::string path() const { return path_; }

 private:
  char path_[64] = "/tmp/fanin-pool-XXXXXX";
};

TEST(Pool, ListInTheUsersOrder) {
  auto r = resolve_pool("127.0.0.1:4002, [::1]:4000 ,127.0.0.1:4001,");
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 3u);
  EXPECT_EQ((*r)[0].name, "127.0.0.1:4002");
  EXPECT_EQ((*r)[1].name, "[::1]:4000");
  EXPECT_EQ((*r)[1].addresses.at(0).text(), "[::1]:4000");
  EXPECT_EQ((*r)[2].addresses.at(0).text(), "127.0.0.1:4001");
}

TEST(Pool, NamesAreResolved) {
  auto r = resolve_pool("localhost:4000");
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_EQ((*r)[0].name, "localhost:4000");
  ASSERT_FALSE((*r)[0].addresses.empty());
  EXPECT_TRUE((*r)[0].addresses[0].is_loopback());
}

TEST(Pool, DnsGivesOneMemberPerAddress) {
  auto r = resolve_pool("dns:127.0.0.1:4000");
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 1u);
  EXPECT_EQ((*r)[0].name, "127.0.0.1:4000");
}

TEST(Pool, FileWithCommentsReadAnew) {
  TempFile f("# the pool\n127.0.0.1:4000  # first\n\n  127.0.0.1:4001\r\n");
  auto r = resolve_pool("file:" + f.path());
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 2u);
  EXPECT_EQ((*r)[1].name, "127.0.0.1:4001");
  std::ofstream(f.path()) << "127.0.0.1:5000\n";
  r = resolve_pool("file:" + f.path());
  ASSERT_TRUE(r);
  EXPECT_EQ((*r)[0].name, "127.0.0.1:5000");
}

TEST(Pool, HostsAsSlurmListsThem) {
  auto r = resolve_pool("127.0.0.[1-2,12]:4000,[::1]:4000,127.0.1.1:5000");
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 5u);
  EXPECT_EQ((*r)[2].name, "127.0.0.12:4000");
  EXPECT_EQ((*r)[3].name, "[::1]:4000");
  EXPECT_EQ(error_of("cpu[1-2:4000"), "the host list 'cpu[1-2:4000' has unbalanced brackets");
  EXPECT_EQ(error_of("cpu[1-x]:4000"),
            "the host list 'cpu[1-x]' has something other than numbers and ranges in brackets ([01-03,7])");
  EXPECT_TRUE(error_of("cpu[1-2]").starts_with("'cpu1' is not HOST:PORT (no port)"));
}

TEST(Pool, OneOfManyThatDoesNotResolveIsAMemberWithoutAddress) {
  auto r = resolve_pool("127.0.0.1:4000,no-such-host.invalid:4000");
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 2u);
  EXPECT_TRUE((*r)[1].addresses.empty());
  EXPECT_TRUE((*r)[1].unknown.starts_with("cannot resolve 'no-such-host.invalid'"));
  EXPECT_EQ(error_of("127.0.0.1:4000,no-such-host.invalid:4000,no-such-host.invalid:4000"),
            "'no-such-host.invalid:4000' is listed twice; remove one");
}

PoolWait wait_for(size_t expect, milliseconds patience) {
  PoolWait w;
  w.expect = expect;
  w.until = Deadline::after(patience);
  return w;
}

TEST(PoolWait, UntilTheFileHasAllReducers) {
  TempFile f("127.0.0.1:4000\n");
  std::thread writer([&] {
    const std::string draft = f.path() + ".new";
    std::ofstream(draft) << "127.0.0.1:4000\n127.0.0.1:4001\n";
    rename(draft.c_str(), f.path().c_str());
  });
  auto r = wait_for_pool("file:" + f.path(), AF_UNSPEC, wait_for(2, milliseconds(20000)));
  writer.join();
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_EQ(r->size(), 2u);
}

TEST(PoolWait, UntilTheFileIsThere) {
  TempFile f("");
  unlink(f.path().c_str());
  std::thread writer([&] { std::ofstream(f.path()) << "127.0.0.1:4000\n"; });
  auto r = wait_for_pool("file:" + f.path(), AF_UNSPEC, wait_for(1, milliseconds(20000)));
  writer.join();
  EXPECT_TRUE(r);
}

TEST(PoolWait, PastTheDeadlineWhatThereIs) {
  auto r = wait_for_pool("127.0.0.1:4000", AF_UNSPEC, wait_for(3, milliseconds(120)));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->size(), 1u);
  EXPECT_FALSE(wait_for_pool("file:/no/such/file", AF_UNSPEC, wait_for(3, milliseconds(60))));
}

TEST(PoolWait, NotForMistakes) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(wait_for_pool("reducer", AF_UNSPEC, wait_for(3, milliseconds(60000))));
  EXPECT_FALSE(wait_for_pool("127.0.0.1:1,127.0.0.1:1", AF_UNSPEC, wait_for(3, milliseconds(60000))));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(30000));
}

TEST(PoolErrors, Unparsable) {
  const std::string form = "; write name:4000, 10.0.0.7:4000 or [fd00::7]:4000";
  EXPECT_EQ(error_of("reducer"), "'reducer' is not HOST:PORT (no port)" + form);
  EXPECT_EQ(error_of("10.0.0.1:1,b"), "'b' is not HOST:PORT (no port)" + form);
  EXPECT_EQ(error_of("10.0.0.7:x"), "'10.0.0.7:x' is not HOST:PORT (the port is not a number)" + form);
  EXPECT_EQ(error_of("10.0.0.7:"), "'10.0.0.7:' is not HOST:PORT (the port is not a number)" + form);
  EXPECT_EQ(error_of(":4000"), "':4000' is not HOST:PORT (no host)" + form);
  EXPECT_EQ(error_of("fd00::7:4000"),
            "'fd00::7:4000' is not HOST:PORT (an IPv6 address needs brackets)" + form);
  EXPECT_EQ(error_of("dns:pool"), "'pool' is not HOST:PORT (no port)" + form);
}

TEST(PoolErrors, PortOutOfRange) {
  EXPECT_EQ(error_of("10.0.0.7:65536"),
            "'10.0.0.7:65536' is not HOST:PORT (the port is above 65535); write name:4000, 10.0.0.7:4000 or "
            "[fd00::7]:4000");
  EXPECT_EQ(error_of("10.0.0.7:0"), "'10.0.0.7:0' has port 0; write the port the reducer listens on");
}

TEST(PoolErrors, NameThatDoesNotResolve) {
  const std::string e = error_of("no-such-host.invalid:4000");
  EXPECT_EQ(e.rfind("cannot resolve 'no-such-host.invalid': ", 0), 0u) << e;
  EXPECT_NE(e.find("check the name and this host's DNS"), std::string::npos) << e;
}

TEST(PoolErrors, Duplicate) {
  EXPECT_EQ(error_of("127.0.0.1:4000,127.0.0.1:4001,127.0.0.1:4000"),
            "'127.0.0.1:4000' is listed twice; remove one");
  EXPECT_EQ(error_of("127.0.0.1:4000,127.1:4000"),
            "'127.0.0.1:4000' and '127.1:4000' are both 127.0.0.1:4000; remove one");
}

TEST(PoolErrors, File) {
  EXPECT_EQ(error_of("file:/no/such/file"), "cannot read '/no/such/file': No such file or directory");
  TempFile empty("# nothing\n");
  EXPECT_EQ(error_of("file:" + empty.path()),
            "'file:" + empty.path() +
                "' names no reducer; write host:port,host:port or dns:name:port or "
                "file:path");
  TempFile bad("127.0.0.1:4000\nnonsense\n");
  const std::string e = error_of("file:" + bad.path());
  EXPECT_EQ(e.rfind(bad.path() + " line 2: 'nonsense' is not HOST:PORT", 0), 0u) << e;
  const std::string dir = error_of("file:/tmp");
  EXPECT_EQ(dir.rfind("cannot read '/tmp': ", 0), 0u) << dir;
}

// Opening a pipe waits for a writer, a device may have no end.
TEST(PoolErrors, WhatIsNoFileIsNotReadNorWaitedFor) {
  TempFile pipe("");
  unlink(pipe.path().c_str());
  ASSERT_EQ(mkfifo(pipe.path().c_str(), 0600), 0);
  const std::string why = ": it is a pipe or a device, not a file";
  EXPECT_EQ(error_of("file:" + pipe.path()), "cannot read '" + pipe.path() + "'" + why);
  EXPECT_EQ(error_of("file:/dev/zero"), "cannot read '/dev/zero'" + why);
}

TEST(PoolErrors, AFileWithoutEnd) {
  TempFile f("");
  ASSERT_EQ(truncate(f.path().c_str(), off_t{1} << 40), 0);  // takes no room
  EXPECT_EQ(error_of("file:" + f.path()), "cannot read '" + f.path() + "': it is longer than 4 MiB");
}

TEST(PoolErrors, MoreReducersThanThereCanBe) {
  // Of each a look-up would be made.
  EXPECT_EQ(error_of("127.[0-15].[0-15].[1-16]:4000,10.0.0.7:4000"), "the pool has more than 4096 reducers");
  TempFile f("a[0-4095].invalid:1\nb[0-4095].invalid:1\n");
  const auto r = resolve_pool("file:" + f.path(), AF_UNSPEC, Deadline::after(milliseconds(0)));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().text(), f.path() + " line 2: the pool has more than 4096 reducers");
}

TEST(PoolErrors, WhereReducersListenIsNotWhereTheyAre) {
  for (const char* a : {"0.0.0.0:4000", "[::]:4000", "224.0.0.1:4000", "255.255.255.255:4000"})
    EXPECT_EQ(error_of(a),
              "'" + std::string(a) +
                  "' is no address of one host; write the one at which the reducer can be reached");
}

TEST(Pool, AFileAsEditorsElsewhereWriteIt) {
  TempFile f(
      "\xef\xbb\xbf"
      "127.0.0.1:4000\r\n127.0.0.2:4000");
  auto r = resolve_pool("file:" + f.path());
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 2u);
  EXPECT_EQ((*r)[0].name, "127.0.0.1:4000");
}

// A resolver that answers slowly may not keep a job from starting: past the deadline only addresses are taken.
TEST(Pool, NamesAreNotLookedUpForEver) {
  auto r =
      resolve_pool("127.0.0.1:4000,localhost:4001,[::1]:4000", AF_UNSPEC, Deadline::after(milliseconds(0)));
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->size(), 3u);
  EXPECT_EQ((*r)[0].addresses.size(), 1u);
  EXPECT_EQ((*r)[1].addresses.size(), 0u);
  EXPECT_EQ(
      (*r)[1].unknown,
      "'localhost' was not looked up: the names before it took too long; look at this host's DNS, or write "
      "addresses");
  EXPECT_EQ((*r)[2].addresses.size(), 1u);
}

TEST(PoolErrors, Empty) {
  for (const char* spec : {"", " ", ",", ", ,"})
    EXPECT_EQ(error_of(spec),
              "'" + std::string(spec) +
                  "' names no reducer; write host:port,host:port or dns:name:port or file:path");
}

}  // namespace
}  // namespace fanin
