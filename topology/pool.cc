#include "topology/pool.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "fanin/text_file.h"
#include "topology/host_list.h"

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

Result<PoolMember> resolve_entry(std::string_view text, Deadline lookups) {
  Result<tcp::HostPort> hp = parse_entry(text);
  if (!hp) return hp.error();
  if (const std::optional<tcp::Address> a = tcp::Address::numeric(hp->host, hp->port)) {
    if (!a->is_one_host())
      return Error(
          Errc::kInvalidUsage,
          quoted(text) + " is no address of one host; write the one at which the reducer can be reached");
    return PoolMember{std::string(text), {*a}, ""};
  }
  if (lookups.passed())
    return PoolMember{std::string(text),
                      {},
                      quoted(hp->host) +
                          " was not looked up: the names before it took too long; "
                          "look at this host's DNS, or write addresses"};
  Result<std::vector<tcp::Address>> addresses = tcp::resolve(*hp);
  if (!addresses) return PoolMember{std::string(text), {}, addresses.error().text()};
  return PoolMember{std::string(text), std::move(*addresses), ""};
}

bool known(const PoolMember& m) { return !m.addresses.empty(); }

class PoolBuilder {
 public:
  explicit PoolBuilder(Deadline lookups) : lookups_(lookups) {}
  Status add(PoolMember m) {
    if (Status s = room(); !s) return s;
    for (const PoolMember& other : members_) {
      if (m.addresses.empty() && m.name == other.name)
        return Error(Errc::kInvalidUsage, quoted(m.name) + " is listed twice; remove one");
      for (const tcp::Address& a : m.addresses)
        for (const tcp::Address& b : other.addresses)
          if (a == b)
            return Error(Errc::kInvalidUsage, other.name == m.name
                                                  ? quoted(m.name) + " is listed twice; remove one"
                                                  : quoted(other.name) + " and " + quoted(m.name) +
                                                        " are both " + a.text() + "; remove one");
    }
    members_.push_back(std::move(m));
    return {};
  }
  Status add(std::string_view text) {
    if (Status s = room(); !s) return s;
    Result<PoolMember> m = resolve_entry(text, lookups_);
    if (!m) return m.error();
    return add(std::move(*m));
  }
  std::vector<PoolMember> take() { return std::move(members_); }

 private:
  Status room() const {
    if (members_.size() < kMaxHosts) return {};
    return Error(Errc::kInvalidUsage, "the pool has more than 4096 reducers");
  }
  const Deadline lookups_;
  std::vector<PoolMember> members_;
};

// "cpu[01-16]:4000" is sixteen entries; a bracket at the beginning is an IPv6 address.
Status add_entry(PoolBuilder& pool, std::string_view entry) {
  const size_t bracket = entry.find('[');
  if (bracket == 0 || bracket == std::string_view::npos) return pool.add(entry);
  const size_t close = entry.rfind(']');
  const size_t colon = close == std::string_view::npos ? close : entry.find(':', close);
  Result<std::vector<std::string>> hosts = expand_hosts(entry.substr(0, colon));
  if (!hosts) return hosts.error();
  const std::string port(colon == std::string_view::npos ? "" : entry.substr(colon));
  for (const std::string& host : *hosts)
    if (Status s = pool.add(host + port); !s) return s;
  return {};
}

Status add_list(PoolBuilder& pool, std::string_view list) {
  for (const std::string_view entry : split_list(list))  // "a:1,b:2," is what scripts make
    if (Status s = add_entry(pool, entry); !s) return s;
  return {};
}

// Sorted: resolvers answer in any order, and logs of different ranks should look alike.
Status add_name(PoolBuilder& pool, std::string_view name_port, int family) {
  Result<tcp::HostPort> hp = parse_entry(name_port);
  if (!hp) return hp.error();
  Result<std::vector<tcp::Address>> addresses = tcp::resolve(*hp);
  if (!addresses) return addresses.error();
  std::sort(addresses->begin(), addresses->end(), [](auto& a, auto& b) { return a.bytes() < b.bytes(); });
  const auto wanted = [&](const tcp::Address& a) { return a.family() == family; };
  const bool choose = std::any_of(addresses->begin(), addresses->end(), wanted);
  for (const tcp::Address& a : *addresses)
    if (!choose || wanted(a))
      if (Status s = pool.add(PoolMember{a.text(), {a}, ""}); !s) return s;
  return {};
}

Status add_file(PoolBuilder& pool, const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  std::string_view rest = *text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // some editors' mark
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string_view entry = trim(line.substr(0, line.find('#')));
    if (entry.empty()) continue;
    if (Status s = add_entry(pool, entry); !s)
      return s.error().in(printable(path, 200) + " line " + std::to_string(number));
  }
  return {};
}

}  // namespace

Result<std::vector<PoolMember>> resolve_pool(const std::string& spec, int family, Deadline lookups) {
  const std::string_view text = trim(spec);
  PoolBuilder pool(lookups);
  Status s;
  if (text.starts_with("dns:"))
    s = add_name(pool, text.substr(4), family);
  else if (text.starts_with("file:"))
    s = add_file(pool, std::string(text.substr(5)));
  else
    s = add_list(pool, text);
  if (!s) return s.error();
  std::vector<PoolMember> members = pool.take();
  if (members.empty())
    return Error(text.starts_with("file:") ? Errc::kRemote : Errc::kInvalidUsage,  // it may yet be filled
                 quoted(spec) + " names no reducer; write host:port,host:port or dns:name:port or file:path");
  if (std::none_of(members.begin(), members.end(), [](auto& m) { return known(m); }))
    return Error(Errc::kRemote, members.front().unknown);
  return members;
}

Result<std::vector<PoolMember>> wait_for_pool(const std::string& spec, int family, const PoolWait& wait) {
  constexpr std::chrono::milliseconds kFirstPause{50}, kMaxPause{1000}, kQuietFor{2000}, kRepeatEvery{10000};
  std::chrono::milliseconds pause = kFirstPause;
  Deadline speak = Deadline::after(kQuietFor);
  for (;;) {
    Result<std::vector<PoolMember>> pool = resolve_pool(spec, family, wait.lookups);
    const size_t there = pool ? static_cast<size_t>(std::count_if(pool->begin(), pool->end(), known)) : 0;
    const bool complete = pool && there == pool->size() && there >= wait.expect;
    const bool hopeless = !pool && pool.error().code() != Errc::kRemote;
    if (complete || hopeless || wait.until.passed()) return pool;
    if (speak.passed() && wait.say) {
      wait.say(pool ? "waiting for " + std::to_string(std::max(wait.expect, pool->size())) +
                          " reducers, the addresses of " + std::to_string(there) + " are known"
                    : "waiting for reducers: " + pool.error().text());
      speak = Deadline::after(kRepeatEvery);
    }
    std::this_thread::sleep_until(Deadline::after(pause).sooner(wait.until).at());
    pause = std::min(pause * 2, kMaxPause);
  }
}

}  // namespace fanin
