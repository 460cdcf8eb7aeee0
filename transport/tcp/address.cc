#include "transport/tcp/address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace fanin::tcp {
namespace {

sockaddr_in* v4(sockaddr_storage& s) { return reinterpret_cast<sockaddr_in*>(&s); }
sockaddr_in6* v6(sockaddr_storage& s) { return reinterpret_cast<sockaddr_in6*>(&s); }
const sockaddr_in* v4(const sockaddr_storage& s) { return reinterpret_cast<const sockaddr_in*>(&s); }
const sockaddr_in6* v6(const sockaddr_storage& s) { return reinterpret_cast<const sockaddr_in6*>(&s); }

using AddrList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Also of an address; names as people give them have letters of any language.
bool of_a_host_name(char c) {
  return static_cast<unsigned char>(c) > 32 && c != 127 && !strchr("[]/\\,;@\"'", c);
}

AddrList look_up(const std::string& host, const addrinfo& hints, int* rc) {
  addrinfo* list = nullptr;
  *rc = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  return AddrList(list, freeaddrinfo);
}

}  // namespace

Address::Address(const sockaddr* sa, socklen_t len) {
  memcpy(&storage_, sa, std::min<size_t>(len, sizeof storage_));
}

std::optional<Address> Address::numeric(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  int rc;
  AddrList list = look_up(host, hints, &rc);
  if (rc != 0 || !list) return std::nullopt;
  Address a(list->ai_addr, list->ai_addrlen);
  a.set_port(port);
  return a;
}

Address Address::loopback(uint16_t port) {
  Address a = any(AF_INET, port);
  v4(a.storage_)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

Address Address::any(int family, uint16_t port) {
  Address a;
  a.storage_.ss_family = static_cast<sa_family_t>(family);
  a.set_port(port);
  return a;
}

uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(v4(storage_)->sin_port);
  if (family() == AF_INET6) return ntohs(v6(storage_)->sin6_port);
  return 0;
}

void Address::set_port(uint16_t port) {
  if (family() == AF_INET) v4(storage_)->sin_port = htons(port);
  if (family() == AF_INET6) v6(storage_)->sin6_port = htons(port);
}

bool Address::is_loopback() const {
  if (family() == AF_INET) return (ntohl(v4(storage_)->sin_addr.s_addr) >> 24) == 127;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6(storage_)->sin6_addr);
}

bool Address::is_any() const {
  if (family() == AF_INET) return v4(storage_)->sin_addr.s_addr == htonl(INADDR_ANY);
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6(storage_)->sin6_addr);
}

bool Address::is_one_host() const {
  if (family() == AF_INET) {
    const uint32_t a = ntohl(v4(storage_)->sin_addr.s_addr);
    return a != INADDR_ANY && !IN_MULTICAST(a) && a != INADDR_BROADCAST;
  }
  return family() == AF_INET6 && !is_any() && !IN6_IS_ADDR_MULTICAST(&v6(storage_)->sin6_addr);
}

socklen_t Address::length() const {
  return family() == AF_INET ? sizeof(sockaddr_in) : family() == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

std::array<uint8_t, 16> Address::bytes() const {
  std::array<uint8_t, 16> out{};
  if (family() == AF_INET6) memcpy(out.data(), &v6(storage_)->sin6_addr, out.size());
  if (family() == AF_INET) {
    out[10] = out[11] = 0xff;
    memcpy(out.data() + 12, &v4(storage_)->sin_addr, 4);
  }
  return out;
}

std::string Address::host() const {
  char buf[NI_MAXHOST];
  if (getnameinfo(sa(), length(), buf, sizeof buf, nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return buf;
}

std::string Address::text() const {
  std::string h = host(), p = std::to_string(port());
  return family() == AF_INET6 ? "[" + h + "]:" + p : h + ":" + p;
}

bool operator==(const Address& a, const Address& b) {
  if (a.family() != b.family()) return false;
  if (a.family() == AF_INET)
    return v4(a.storage_)->sin_port == v4(b.storage_)->sin_port &&
           v4(a.storage_)->sin_addr.s_addr == v4(b.storage_)->sin_addr.s_addr;
  if (a.family() == AF_INET6)
    return v6(a.storage_)->sin6_port == v6(b.storage_)->sin6_port &&
           v6(a.storage_)->sin6_scope_id == v6(b.storage_)->sin6_scope_id &&
           memcmp(&v6(a.storage_)->sin6_addr, &v6(b.storage_)->sin6_addr, sizeof(in6_addr)) == 0;
  return true;
}

Result<HostPort> parse_host_port(std::string_view text) {
  auto bad = [&](const char* why) {
    return Error(Errc::kInvalidUsage, quoted(text) + " is not HOST:PORT (" + why +
                                          "); write name:4000, 10.0.0.7:4000 or [fd00::7]:4000");
  };
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("no port");
  std::string_view host = text.substr(0, colon), port = text.substr(colon + 1);
  if (!host.empty() && host.front() == '[') {
    if (host.back() != ']') return bad("unbalanced bracket");
    host = host.substr(1, host.size() - 2);
    if (!Address::numeric(std::string(host), 0)) return bad("no IPv6 address in the brackets");
  }
  if (host.empty()) return bad("no host");
  if (!std::all_of(host.begin(), host.end(), of_a_host_name)) return bad("a character no host name has");
  if (text.front() != '[' && host.find(':') != std::string_view::npos)
    return bad(Address::numeric(std::string(text), 0) || Address::numeric(std::string(host), 0)
                   ? "an IPv6 address needs brackets"
                   : "more than one colon");
  unsigned value = 0;
  auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (port.empty() || ec == std::errc::invalid_argument || end != port.data() + port.size())
    return bad("the port is not a number");
  if (ec == std::errc::result_out_of_range || value > 65535) return bad("the port is above 65535");
  return HostPort{std::string(host), static_cast<uint16_t>(value)};
}

Result<std::vector<Address>> resolve(const HostPort& hp, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  int rc;
  AddrList list = look_up(hp.host, hints, &rc);
  if (rc != 0)
    return Error(Errc::kRemote, "cannot resolve " + quoted(hp.host) + ": " +
                                    (rc == EAI_SYSTEM ? system_text(errno) : gai_strerror(rc)) +
                                    "; check the name and this host's DNS");
  std::vector<Address> out;
  for (addrinfo* a = list.get(); a; a = a->ai_next) {
    Address addr(a->ai_addr, a->ai_addrlen);
    addr.set_port(hp.port);
    if (std::find(out.begin(), out.end(), addr) == out.end()) out.push_back(addr);
  }
  return out;
}

namespace {
Result<Address> name_of(int fd, int (*call)(int, sockaddr*, socklen_t*), const char* what) {
  sockaddr_storage s{};
  socklen_t len = sizeof s;
  if (call(fd, reinterpret_cast<sockaddr*>(&s), &len) != 0) return system_error(what, errno);
  return Address(reinterpret_cast<sockaddr*>(&s), len);
}
}  // namespace

Result<Address> local_address(int fd) { return name_of(fd, getsockname, "getsockname"); }
Result<Address> remote_address(int fd) { return name_of(fd, getpeername, "getpeername"); }

}  // namespace fanin::tcp
