// One IPv4 or IPv6 socket address, and the text forms users write. Plain value.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fanin/error.h"

namespace fanin::tcp {

class Address {
 public:
  Address() = default;  // family() == AF_UNSPEC
  Address(const sockaddr* sa, socklen_t len);
  // A numeric address, "10.0.0.7" or "fe80::1%eth0"; nothing is looked up.
  static std::optional<Address> numeric(const std::string& host, uint16_t port);
  static Address loopback(uint16_t port);  // 127.0.0.1
  static Address any(int family, uint16_t port);

  int family() const { return storage_.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  bool is_loopback() const;
  bool is_any() const;       // 0.0.0.0 or ::
  bool is_one_host() const;  // can be connected to: neither that nor multicast nor broadcast
  const sockaddr* sa() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const;
  std::array<uint8_t, 16> bytes() const;  // IPv4 as ::ffff:a.b.c.d
  std::string host() const;               // numeric, without brackets
  std::string text() const;               // "10.0.0.7:4000", "[::1]:4000"
  friend bool operator==(const Address& a, const Address& b);

 private:
  sockaddr_storage storage_{};
};

// "host:port" taken apart: names, IPv4, [IPv6]; port 0 … 65535. Errors name the text and the fix.
struct HostPort {
  std::string host;
  uint16_t port = 0;
};
Result<HostPort> parse_host_port(std::string_view text);

// All addresses of a name (or of a numeric host), in the resolver's order, duplicates removed. Blocks
// (getaddrinfo): never call it from NCCL's progress thread. family: AF_UNSPEC, AF_INET or AF_INET6.
Result<std::vector<Address>> resolve(const HostPort& hp, int family = AF_UNSPEC);

Result<Address> local_address(int fd);   // getsockname
Result<Address> remote_address(int fd);  // getpeername

}  // namespace fanin::tcp
