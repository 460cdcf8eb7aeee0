#include "reducer/cli/settings.h"

#include <algorithm>

#include "reducer/cli/host_limits.h"

namespace fanin::reducer::cli {
namespace {

int64_t int_of(const Settings& s, std::string_view name) {
  Result<int64_t> v = parse_int(s[name], INT64_MIN, INT64_MAX);
  return v ? *v : 0;
}

int64_t size_of(const Settings& s, std::string_view name) {
  Result<int64_t> v = parse_size(s[name], 0, INT64_MAX / 2);
  return v ? *v : 0;
}

}  // namespace

const std::string& Settings::operator[](std::string_view name) const {
  size_t i = 0;
  while (i + 1 < kNumOptions && kReducerOptions[i].name != name) ++i;
  return text[i];
}

std::string variable_of(std::string_view option) {
  std::string v = "FANIN_REDUCER_";
  for (char c : option) v += c == '-' ? '_' : static_cast<char>(toupper(static_cast<unsigned char>(c)));
  return v;
}

std::string config_file_of(const Settings& settings) {
  std::string out;
  for (size_t i = 0; i < kNumOptions; ++i) {
    const OptionSpec& o = kReducerOptions[i];
    const std::string& v = settings.text[i];
    bool number = !v.empty() && std::all_of(v.begin(), v.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::string quote = v.find('"') == std::string::npos ? "\"" : "'";
    out += std::string("# ") + o.help + "\n# Default: " + (*o.fallback ? o.fallback : "none") +
           ". Environment: " + variable_of(o.name) + ".\n" + o.name + " = " +
           (number ? v : quote + v + quote) + "\n";
  }
  return out;
}

Result<ServeConfig> interpret(const Settings& s, const std::string& secret, uint16_t own_port) {
  ServeConfig c;
  if (s["listen"] == "auto") {
    c.listen = {tcp::Address::any(AF_INET, own_port)};
  } else {
    Result<tcp::HostPort> at = tcp::parse_host_port(s["listen"]);
    if (!at) return at.error().in("--listen");
    Result<std::vector<tcp::Address>> addresses = tcp::resolve(*at);
    if (!addresses) return addresses.error().in("--listen");
    c.listen = *std::move(addresses);
  }
  c.port_file = s["port-file"];
  Result<bool> affinity = parse_flag(s["affinity"]);
  c.affinity = affinity && *affinity;
  c.admin_secret_file = s["admin-secret-file"];
  c.metrics.on = s["metrics"] != "off";
  c.metrics.automatic = s["metrics"] == "auto";
  if (c.metrics.on && !c.metrics.automatic) {
    Result<tcp::HostPort> where = tcp::parse_host_port(s["metrics"]);
    if (!where) return where.error().in("--metrics (auto, off or HOST:PORT)");
    Result<std::vector<tcp::Address>> all = tcp::resolve(*where);
    if (!all) return all.error().in("--metrics");
    c.metrics.listen = *std::move(all);
  }
  c.advertise = s["advertise"];
  c.secrets = SecretSource(s["secret-file"], s["secret-file"].empty() ? secret : "");
  ReducerConfig& r = c.reducer;
  r.lanes = s["lanes"] == "auto" ? 0 : static_cast<unsigned>(int_of(s, "lanes"));
  r.memory = s["memory"] == "auto" ? usable_memory() / 2 : static_cast<uint64_t>(size_of(s, "memory"));
  r.block_bytes = static_cast<uint32_t>(size_of(s, "block"));
  r.handshake_timeout = std::chrono::milliseconds(int_of(s, "handshake-timeout-ms"));
  r.timeout = std::chrono::milliseconds(int_of(s, "timeout-ms"));
  r.join_timeout = std::chrono::milliseconds(int_of(s, "join-timeout-ms"));
  r.stall = std::chrono::milliseconds(int_of(s, "stall-ms"));
  r.keepalive = std::chrono::milliseconds(int_of(s, "keepalive-ms"));
  r.max_connections = static_cast<unsigned>(int_of(s, "max-connections"));
  r.max_sessions = static_cast<unsigned>(int_of(s, "max-sessions"));
  auto part = [&](std::string_view name) {
    return s[name] == "auto" ? 0 : static_cast<uint64_t>(size_of(s, name));
  };
  r.max_session_memory = part("max-session-memory");
  r.max_job_memory = part("max-job-memory");
  r.max_half_open = static_cast<unsigned>(int_of(s, "max-half-open"));
  r.max_half_open_per_address = static_cast<unsigned>(int_of(s, "max-half-open-per-address"));
  Result<tcp::NetworkList> allow = tcp::NetworkList::parse(s["allow"]);
  if (!allow) return allow.error().in("--allow");
  r.allow = *std::move(allow);
  c.allow = s["allow"];
  return c;
}

}  // namespace fanin::reducer::cli
