#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return ok;
}

// Root makes the namespaces directly; others through a user namespace in which they are root.
std::string enter_namespaces() {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  const int user = uid == 0 ? 0 : CLONE_NEWUSER;
  if (unshare(user | CLONE_NEWNET | CLONE_NEWNS) != 0)
    return std::string("cannot make a network namespace: ") + strerror(errno);
  if (user && !(write_file("/proc/self/setgroups", "deny") &&
                write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
                write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1")))
    return "cannot become root of a user namespace";
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, nullptr);
  if (system("ip link set lo up") != 0) return "no `ip` command (package iproute2), or it failed";
  const char* nics =
      "ip link add nic0 type veth peer name nic1 && ip addr add 10.77.0.1/24 dev nic0 && ip addr add "
      "10.77.1.1/24 dev nic1"
      " && ip link set nic0 up && ip link set nic1 up";
  return system(nics) == 0 ? "" : "cannot make two interfaces";
}

std::string g_why_not = "the environment was not set up";

class Environment : public testing::Environment {
  void SetUp() override { g_why_not = enter_namespaces(); }
};
[[maybe_unused]] testing::Environment* const g_environment =
    testing::AddGlobalTestEnvironment(new Environment);

}  // namespace

bool Isolation::two_nics() { return g_why_not.empty(); }
const std::string& Isolation::why_not() { return g_why_not; }

}  // namespace fanin::test
