#include "topology/pool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace fanin {
namespace {

std::string_view trim(std::string_view s) {
  const char* blank = " \t\r\n";
  const size_t a = s.find_first_not_of(blank);
  return a == std::string_view::npos ? std::string_view() : s.substr(a, s.find_last_not_of(blank) - a + 1);
}

Result<tcp::HostPort> parse_entry(std::string_view text) {
  Result<tcp::HostPort> hp = tcp::parse_host_port(text);
  if (hp && hp->port == 0)
    return Error(Errc::kInvalidUsage, quoted(text) + " has port 0; write the port the reducer listens on");
  return hp;
}

Result<PoolMember> resolve_entry(std::string_view text) {
  Result<tcp::HostPort> hp = parse_entry(text);
  if (!hp) return hp.error();
  Result<std::vector<tcp::Address>> addresses = tcp::resolve(*hp);
  if (!addresses) return addresses.error();
  return PoolMember{std::string(text), std::move(*addresses)};
}

class PoolBuilder {
 public:
  Status add(PoolMember m) {
    for (const PoolMember& other : members_)
      for (const tcp::Address& a : m.addresses)
        for (const tcp::Address& b : other.addresses)
          if (a == b)
            return Error(Errc::kInvalidUsage, other.name == m.name
                                                  ? quoted(m.name) + " is listed twice; remove one"
                                                  : quoted(other.name) + " and " + quoted(m.name) +
                                                        " are both " + a.text() + "; remove one");
    members_.push_back(std::move(m));
    return {};
  }
  Status add(std::string_view text) {
    Result<PoolMember> m = resolve_entry(text);
    if (!m) return m.error();
    return add(std::move(*m));
  }
  std::vector<PoolMember> take() { return std::move(members_); }

 private:
  std::vector<PoolMember> members_;
};

Status add_list(PoolBuilder& pool, std::string_view list) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view entry = trim(list.substr(begin, end - begin));
    begin = end + 1;
    if (entry.empty()) continue;  // "a:1,b:2," is what scripts make
    if (Status s = pool.add(entry); !s) return s;
  }
  return {};
}

Status add_name(PoolBuilder& pool, std::string_view name_port) {
  Result<tcp::HostPort> hp = parse_entry(name_port);
  if (!hp) return hp.error();
  Result<std::vector<tcp::Address>> addresses = tcp::resolve(*hp);
  if (!addresses) return addresses.error();
  for (const tcp::Address& a : *addresses)
    if (Status s = pool.add(PoolMember{a.text(), {a}}); !s) return s;
  return {};
}

Status add_file(PoolBuilder& pool, const std::string& path) {
  std::ifstream in(path);
  if (!in) return system_error("cannot read " + quoted(path), errno != 0 ? errno : EIO, Errc::kInvalidUsage);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string_view entry = trim(std::string_view(line).substr(0, line.find('#')));
    if (entry.empty()) continue;
    if (Status s = pool.add(entry); !s) return s.error().in(path + " line " + std::to_string(number));
  }
  if (in.bad())
    return system_error("cannot read " + quoted(path), errno != 0 ? errno : EIO, Errc::kInvalidUsage);
  return {};
}

}  // namespace

Result<std::vector<PoolMember>> resolve_pool(const std::string& spec) {
  const std::string_view text = trim(spec);
  PoolBuilder pool;
  Status s;
  if (text.starts_with("dns:"))
    s = add_name(pool, text.substr(4));
  else if (text.starts_with("file:"))
    s = add_file(pool, std::string(text.substr(5)));
  else
    s = add_list(pool, text);
  if (!s) return s.error();
  std::vector<PoolMember> members = pool.take();
  if (members.empty())
    return Error(Errc::kInvalidUsage,
                 quoted(spec) + " names no reducer; write host:port,host:port or dns:name:port or file:path");
  return members;
}

}  // namespace fanin
