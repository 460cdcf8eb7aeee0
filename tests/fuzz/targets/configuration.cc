// What people and platforms write: option values, the pool (a list, a name, a file, CLUSTER_SPEC, Slurm's lists), addresses,
// networks, ranges of ports, link rates, a tuner's rules, fanin-reducer's command line and configuration file, files of secrets.
//
// Checked besides memory: a value that is taken lies in its range, an error is one bounded line, --print-config of what was
// read reads back as the same.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "fanin/options.h"
#include "fanin/secret_file.h"
#include "plugin/tuner/rules.h"
#include "reducer/cli/command_line.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "topology/discovery.h"
#include "topology/host_list.h"
#include "topology/pool.h"
#include "topology/rate.h"
#include "transport/fd.h"
#include "transport/tcp/cidr.h"
#include "transport/tcp/port_range.h"
#include "transport/tcp/rail.h"

namespace fanin {
namespace {

using fuzz::check;
using fuzz::Input;

void check_line(const Error& e) {
  check(!e.text().empty() && e.text().size() < 4096, "an error without words, or without end");
  for (unsigned char c : e.text()) check(c >= ' ' || c == '\t', "a control character for the log");
}

// A file with these bytes, named by `path`.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(static_cast<int>(::memfd_create("fuzz", 0))) {
    check(::write(fd_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "no file");
    path = "/proc/self/fd/" + std::to_string(fd_.get());
  }
  std::string path;

 private:
  Fd fd_;
};

void value(Input in) {
  const bool plugin = in.u8() % 2;
  const OptionSpec& spec = plugin ? kPluginOptions[in.below(std::size(kPluginOptions))]
                                  : kReducerOptions[in.below(std::size(kReducerOptions))];
  const std::string_view text = in.rest();
  if (Status s = check_option(spec, text); !s) check_line(s.error());
  Result<int64_t> i = parse_int(text, spec.min, spec.max);
  if (i) check(*i >= spec.min && *i <= spec.max, "an integer out of its range");
  Result<int64_t> size = parse_size(text, spec.min, spec.max);
  if (size) check(*size >= spec.min && *size <= spec.max, "a size out of its range");
  if (i && size) check(*i == *size, "a plain number is read in two ways");
  const std::string near = nearest_option(kPluginOptions, text.substr(0, 100));
  check(near.size() < 64, "an option that is none");
}

void pool(std::string spec) {
  if (spec.starts_with("file:")) return;
  Result<std::vector<PoolMember>> members = resolve_pool(spec);
  if (!members) return check_line(members.error());
  check(!members->empty(), "an empty pool");
  for (const PoolMember& m : *members)
    check(!m.name.empty() && m.addresses.empty() != m.unknown.empty(),
          "a member without address, or with a reason for none");
}

void host_list(std::string_view text) {
  Result<std::vector<std::string>> hosts = expand_hosts(text);
  if (!hosts) return check_line(hosts.error());
  check(!hosts->empty() && hosts->size() <= kMaxHosts, "no host, or too many");
  for (const std::string& h : *hosts)
    check(!h.empty() && h.size() <= 255 && h.find_first_of("[],") == std::string::npos, "not a host");
}

// What a job's environment says, for a worker and for a reducer.
void discovery(Input in) {
  const char* const names[] = {"CLUSTER_SPEC", "TF_CONFIG", "FANIN_REDUCERS"};
  const char* const variable = names[in.below(3)];
  const bool slurm = in.below(4) == 0;
  const std::string text(in.rest());
  const EnvLookup lookup = [&](const std::string& name) -> std::string {
    if (slurm) return name == "FANIN_REDUCERS" ? "slurm:4000" : text;
    return name == variable ? text : "";
  };
  const PoolSource source = discover_pool(lookup);
  check(text.empty() || source.spec.empty() != source.trouble.empty(),
        "neither a pool nor a reason, or both");
  if (!source.trouble.empty()) check_line(Error(Errc::kInvalidUsage, source.trouble));
  if (source.expect != 0) {
    check(source.expect <= kMaxHosts, "too many reducers");
    pool(source.spec);
  }
  Result<uint16_t> port = discover_own_port(lookup);
  if (!port) check_line(port.error());
}

void pool_file(std::string_view bytes) {
  MemoryFile file(bytes);
  Result<std::vector<PoolMember>> members = resolve_pool("file:" + file.path);
  if (!members) check_line(members.error());
}

void secrets(std::string_view text) {
  Result<std::vector<NamedSecret>> read = parse_secrets(text, "secrets.txt");
  if (!read) return check_line(read.error());
  check(!read->empty() && read->size() <= kMaxSecrets, "no secret, or too many");
  for (const NamedSecret& s : *read) check(!s.name.empty(), "a secret without name");
}

void address(std::string_view text) {
  Result<tcp::HostPort> hp = tcp::parse_host_port(text);
  if (!hp) return check_line(hp.error());
  check(!hp->host.empty(), "an address without host");
  std::optional<tcp::Address> a = tcp::Address::numeric(hp->host, hp->port);
  if (!a) return;
  Result<tcp::HostPort> again = tcp::parse_host_port(a->text());
  check(again && again->port == hp->port, "an address does not read back");
}

void networks(std::string_view text) {
  Result<tcp::NetworkList> list = tcp::NetworkList::parse(text);
  if (!list) return check_line(list.error());
  check(!list->empty() || text.empty(), "no networks");
  (void)list->contains(tcp::Address::loopback(1));
}

void ports(std::string_view text) {
  Result<tcp::PortRange> range = tcp::parse_port_range(text);
  if (!range) return check_line(range.error());
  check(range->low >= 1 && range->low <= range->high, "no range of ports");
  Result<tcp::PortRange> again = tcp::parse_port_range(range->text());
  check(again && again->low == range->low && again->high == range->high,
        "a range of ports does not read back");
}

void rate(std::string_view text) {
  Result<double> r = parse_rate(text);
  if (!r) return check_line(r.error());
  check(*r > 0 && *r <= 1e15, "a rate out of its range");
  check(static_cast<bool>(parse_rate(rate_text(*r))), "a rate does not read back");
}

void rules(std::string_view text) {
  const plugin::tuner::Rules read = plugin::tuner::parse_rules(text);
  for (const std::string& mistake : read.mistakes) check_line(Error(Errc::kInvalidUsage, mistake));
  for (const plugin::tuner::Rule& r : read.rules) {
    check(r.min_bytes <= r.max_bytes && r.channels != 0, "an impossible rule");
    (void)plugin::tuner::matches(r, {r.collective, r.min_bytes, 1, 1, 1, 1});
  }
}

void rails(std::string_view text) {
  const std::vector<tcp::Rail> read = tcp::parse_rails(text);
  check(read.size() <= tcp::kMaxRails, "too many rails");
  const std::string said = tcp::rails_text(read, 1 << 16);
  check(tcp::rails_text(tcp::parse_rails(said), 1 << 16) == said, "rails do not read back");
}

// Neither arguments nor variables can hold a zero.
std::string c_string(std::string_view text) { return std::string(text.substr(0, text.find('\0'))); }

void command_line(Input in) {
  std::vector<std::string> args, environment;
  MemoryFile file(in.text(in.u16() % 2048));
  if (in.u8() % 2) args = {"--config", file.path};
  for (uint32_t i = 0, n = in.below(4); i < n; ++i) args.push_back(c_string(in.text(in.u8() % 64)));
  for (uint32_t i = 0, n = in.below(4); i < n; ++i) {
    const OptionSpec& o = kReducerOptions[in.below(std::size(kReducerOptions))];
    environment.push_back(reducer::cli::variable_of(o.name) + "=" + c_string(in.text(in.u8() % 64)));
  }
  Result<reducer::cli::CommandLine> line = reducer::cli::read_command_line(args, environment);
  if (!line) return check_line(line.error());
  if (line->print) return;
  MemoryFile printed(reducer::cli::config_file_of(line->settings));
  const std::vector<std::string> read_back = {"--config", printed.path};
  Result<reducer::cli::CommandLine> again = reducer::cli::read_command_line(read_back, {});
  check(static_cast<bool>(again), "--print-config does not read back");
  check(again->settings.text == line->settings.text, "--print-config reads back as something else");
}

}  // namespace
}  // namespace fanin

namespace {
struct Node {
  addrinfo info;
  sockaddr_storage address;
};
}  // namespace

// No look-ups: a name has two addresses, or none.
extern "C" int getaddrinfo(const char* host, const char*, const addrinfo* hints, addrinfo** out) {
  in6_addr ip6{};
  in_addr ip4{};
  const bool is4 = inet_pton(AF_INET, host, &ip4) == 1, is6 = !is4 && inet_pton(AF_INET6, host, &ip6) == 1;
  if (!is4 && !is6 && (hints->ai_flags & AI_NUMERICHOST || host[0] < 'a' || host[0] > 'z')) return EAI_NONAME;
  *out = nullptr;
  const int n = is4 || is6 ? 1 : 2;
  for (int i = 0; i < n; ++i) {
    auto* node = new Node{};
    node->info.ai_family = is6 ? AF_INET6 : AF_INET;
    node->info.ai_addr = reinterpret_cast<sockaddr*>(&node->address);
    node->info.ai_addrlen = is6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (is6) {
      auto* a = reinterpret_cast<sockaddr_in6*>(&node->address);
      a->sin6_family = AF_INET6;
      a->sin6_addr = ip6;
    } else {
      auto* a = reinterpret_cast<sockaddr_in*>(&node->address);
      a->sin_family = AF_INET;
      a->sin_addr.s_addr =
          is4 ? ip4.s_addr
              : htonl(0x0a000000u + static_cast<unsigned char>(host[0]) * 256u + static_cast<uint32_t>(i));
    }
    node->info.ai_next = *out;
    *out = &node->info;
  }
  return 0;
}
extern "C" void freeaddrinfo(addrinfo* list) noexcept {
  while (list) {
    auto* node = reinterpret_cast<Node*>(list);
    list = list->ai_next;
    delete node;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fanin::fuzz::Input in(data, size);
  const uint8_t kind = in.u8();
  switch (kind < 240 ? kind % 11 : kind < 255 ? 11 + kind % 4 : 15) {
    case 0:
    case 1:
      fanin::value(in);
      break;
    case 2:
      fanin::pool(std::string(in.rest()));
      break;
    case 3:
      fanin::secrets(in.rest());
      break;
    case 4:
      fanin::pool_file(in.rest());
      break;
    case 5:
      fanin::address(in.rest());
      break;
    case 6:
    case 7:
      fanin::command_line(in);
      break;
    case 8:
      fanin::host_list(in.rest());
      break;
    case 9:
    case 10:
      fanin::discovery(in);
      break;
    case 11:
      fanin::networks(in.rest());
      break;
    case 12:
      fanin::rate(in.rest());
      break;
    case 13:
      fanin::rules(in.rest());
      break;
    case 14:
      fanin::rails(in.rest());
      break;
    case 15:
      fanin::ports(in.rest());
      break;
  }
  return 0;
}
