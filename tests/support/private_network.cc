#include "tests/support/private_network.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "transport/fd.h"

namespace fanin::test {
namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  return static_cast<bool>(out << text << std::flush);
}

}  // namespace

bool set_loopback(bool up) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = up ? IFF_UP : 0;
  return fd && ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

std::string enter_private_network() {
  const std::string uid = std::to_string(getuid()), gid = std::to_string(getgid());
  const int user = uid == "0" ? 0 : CLONE_NEWUSER;
  if (unshare(user | CLONE_NEWNET | CLONE_NEWNS) != 0)
    return std::string("cannot make a network namespace: ") + strerror(errno);
  if (user &&
      !(write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", "0 " + uid + " 1") &&
        write_file("/proc/self/gid_map", "0 " + gid + " 1")))
    return "cannot become root of a user namespace";
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return std::string("cannot make mounts private: ") + strerror(errno);
  return set_loopback(true) ? "" : std::string("cannot bring the loopback interface up: ") + strerror(errno);
}

bool use_name_server(const std::string& ip) {
  char path[] = "/tmp/fanin-resolv-XXXXXX";
  if (!Fd(mkstemp(path))) return false;
  const bool ok = write_file(path, "nameserver " + ip + "\noptions timeout:1 attempts:2\n") &&
                  chmod(path, 0644) == 0 && mount(path, "/etc/resolv.conf", nullptr, MS_BIND, nullptr) == 0;
  unlink(path);  // the mount holds it
  return ok;
}

bool use_hosts(const std::string& path) {
  return chmod(path.c_str(), 0644) == 0 && mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace fanin::test
