// A network of this process's own, with nothing but loopback, so that tests may use any port and address of it.
//
// Root makes it directly, others through a user namespace in which they are root. Call it before there are threads, from a
// testing::Environment; children inherit it. Mounts are private too.
#pragma once
#include <string>

namespace fanin::test {

// "", or why there is none; loopback is up. Once per process.
std::string enter_private_network();
bool set_loopback(bool up);
// /etc/resolv.conf of this process and its children. False: it cannot be replaced.
bool use_name_server(const std::string& ip);
// The same with /etc/hosts, by a file that need not stay.
bool use_hosts(const std::string& path);

}  // namespace fanin::test
