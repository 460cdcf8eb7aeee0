#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
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

// In the new namespace it is down; without it nothing works, so the `ip` command must not be needed for it.
bool loopback_up() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  const bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  if (fd >= 0) close(fd);
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
  if (!loopback_up()) return std::string("cannot bring the loopback interface up: ") + strerror(errno);
  const char* nics =
      "ip link add nic0 type veth peer name nic1 && ip addr add 10.77.0.1/24 dev nic0 && ip addr add "
      "10.77.1.1/24 dev nic1"
      " && ip link set nic0 up && ip link set nic1 up";
  return system(nics) == 0 ? "" : "cannot make two interfaces with `ip` (package iproute2)";
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
