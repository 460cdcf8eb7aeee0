#include "tests/faults/network.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/footprint.h"

namespace fanin::faults {
namespace {

bool write_file(const char* path, const std::string& text) {
  Fd fd(open(path, O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Fd current_namespace() { return Fd(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)); }

std::string failed(const char* what) { return std::string("cannot ") + what + ": " + strerror(errno); }

std::string link_of(int rank) { return "rank" + std::to_string(rank); }
std::string subnet(int rank) { return "10.77." + std::to_string(rank + 1) + "."; }

}  // namespace

Network::Network() {
  why_not_ = isolate();
  for (int r = 0; r < kMaxRanks && why_not_.empty(); ++r) why_not_ = make_link(r);
  if (links()) settle();
}

// Root makes namespaces directly; others through a user namespace in which they are root.
std::string Network::isolate() {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  const int user = uid == 0 ? 0 : CLONE_NEWUSER;
  if (unshare(user | CLONE_NEWNET | CLONE_NEWNS) != 0) return failed("make a network namespace");
  if (user && !(write_file("/proc/self/setgroups", "deny") &&
                write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
                write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1")))
    return "cannot become root of a user namespace";
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, nullptr);
  own_ = current_namespace();
  if (!here("ip link set lo up")) return "cannot use `ip` (package iproute2)";
  if (!here(std::string("ip address add ") + kHost + "/32 dev lo") ||
      !write_file("/proc/sys/net/ipv4/ip_forward", "1"))
    return "cannot forward between links";
  if (!here("nft add table netdev faults")) return "cannot use `nft` (package nftables)";
  return "";
}

std::string Network::make_link(int rank) {
  if (unshare(CLONE_NEWNET) != 0) return failed("make a network namespace for a rank");
  ranks_.push_back(current_namespace());
  if (setns(own_.get(), CLONE_NEWNET) != 0) return failed("come back to the driver's network");
  const std::string link = link_of(rank), net = subnet(rank);
  const std::string peer = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(ranks_.back().get());
  const bool made =
      here("ip link add " + link + " type veth peer name eth0 netns " + peer + " && ip address add " + net +
           "1/24 dev " + link + " && ip link set " + link + " up") &&
      behind(rank, "ip link set lo up && ip address add " + net +
                       "2/24 dev eth0 && ip link set eth0 up && ip route add default via " + net + "1");
  if (!made) return "cannot make a link between two namespaces";
  const std::string chain = "{ type filter hook ingress device ";
  const bool filtered =
      here("nft 'add chain netdev faults " + link + " " + chain + link + " priority 0; }'") &&
      behind(rank, "nft add table netdev faults && nft 'add chain netdev faults in " + chain +
                       "eth0 priority 0; }'");
  return filtered ? "" : "cannot filter packets on a link";
}

void Network::enter(int rank) const {
  if (setns(ranks_[static_cast<size_t>(rank)].get(), CLONE_NEWNET) != 0) {
    perror("setns");
    _exit(101);
  }
}

void Network::set_link(int rank, bool up) {
  here("ip link set " + link_of(rank) + (up ? " up" : " down"));
  disturbed_ = true;
}

void Network::set_loss(int rank, Flow flow, bool on) {
  if (flow == Flow::kUp)
    here("nft " + std::string(on ? "add rule" : "flush chain") + " netdev faults " + link_of(rank) +
         (on ? " drop" : ""));
  else
    behind(rank,
           "nft " + std::string(on ? "add rule" : "flush chain") + " netdev faults in" + (on ? " drop" : ""));
  disturbed_ = true;
}

void Network::heal() {
  if (!disturbed_) return;
  for (int r = 0; r < kMaxRanks; ++r) {
    set_link(r, true);
    set_loss(r, Flow::kUp, false);
    set_loss(r, Flow::kDown, false);
  }
  settle();
  disturbed_ = false;
}

// A link that was set up is so a little later at both ends.
void Network::settle() const {
  for (int r = 0; r < kMaxRanks; ++r)
    (void)test::within(milliseconds(3000),
                       [&] { return behind(r, "ip link show eth0 | grep -q 'state UP'"); });
}

bool Network::here(const std::string& command) { return system((command + " 2>/dev/null").c_str()) == 0; }

bool Network::behind(int rank, const std::string& command) const {
  const pid_t pid = fork();
  if (pid == 0) {
    enter(rank);
    _exit(here(command) ? 0 : 1);
  }
  int status = 1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace fanin::faults
