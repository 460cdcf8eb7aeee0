#include "plugin/options.h"

#include <cstdlib>
#include <string_view>

#include "fanin/options.h"
#include "plugin/lasting.h"
#include "plugin/log.h"
#include "topology/rate.h"

extern char** environ;

namespace fanin::plugin {
namespace {

const OptionSpec& spec_of(std::string_view name) {
  for (const OptionSpec& spec : kPluginOptions)
    if (spec.name == name) return spec;
  abort();  // a name in this file that the table lacks
}

// The user's text if it is a value of the option, else the default and a warning.
std::string text_of(const OptionSpec& spec) {
  const char* value = getenv(spec.name);
  if (!value) return spec.fallback;
  if (Status ok = check_option(spec, value); !ok) {
    FANIN_WARN("%s; using %s", ok.error().text().c_str(), *spec.fallback ? spec.fallback : "nothing");
    return spec.fallback;
  }
  return value;
}

int64_t number_of(const char* name) {
  const OptionSpec& spec = spec_of(name);
  std::string text = text_of(spec);
  return spec.type == OptionType::kSize ? *parse_size(text, spec.min, spec.max)
                                        : *parse_int(text, spec.min, spec.max);
}

// None: auto.
std::optional<double> rate_of(const char* name) {
  const std::string text = text_of(spec_of(name));
  if (text == "auto") return std::nullopt;
  if (text == "0") return 0;
  const Result<double> rate = parse_rate(text);
  if (rate) return *rate;
  FANIN_WARN("%s; using auto", rate.error().in(name).text().c_str());
  return std::nullopt;
}

// None: any.
std::optional<tcp::PortRange> ports_of(const char* name) {
  const std::string text = text_of(spec_of(name));
  if (text.empty()) return std::nullopt;
  const Result<tcp::PortRange> ports = tcp::parse_port_range(text);
  if (ports) return *ports;
  FANIN_WARN("%s; using any port", ports.error().in(name).text().c_str());
  return std::nullopt;
}

// Names meant for the reducer or the tests may stand in a job's environment too.
bool for_others(std::string_view name) {
  for (const char* prefix : {"FANIN_REDUCER_", "FANIN_TEST_", "FANIN_BUILD"})
    if (name.starts_with(prefix)) return true;
  return false;
}

void warn_about_unknown_names() {
  for (char** e = environ; e && *e; e++) {
    std::string_view entry(*e);
    std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("FANIN_") || for_others(name) || set_by_kubernetes(name)) continue;
    bool known = false;
    for (const OptionSpec& spec : kPluginOptions) known |= spec.name == name;
    if (known) continue;
    std::string near = nearest_option(kPluginOptions, name);
    FANIN_WARN("%s is not an option of this fanin and has no effect%s%s%s", std::string(name).c_str(),
               near.empty() ? "" : "; did you mean ", near.c_str(), near.empty() ? "" : "?");
  }
}

}  // namespace

Options read_options() {
  warn_about_unknown_names();
  Options o;
  o.pool = discover_pool();
  o.expect_reducers = static_cast<size_t>(number_of("FANIN_EXPECT_REDUCERS"));
  o.secret_file = text_of(spec_of("FANIN_SECRET_FILE"));
  o.secret = text_of(spec_of("FANIN_SECRET"));
  o.strict = *parse_flag(text_of(spec_of("FANIN_STRICT")));
  o.collnet = *parse_flag(text_of(spec_of("FANIN_COLLNET")));
  o.connect_timeout = std::chrono::milliseconds(number_of("FANIN_CONNECT_TIMEOUT_MS"));
  o.timeout = std::chrono::milliseconds(number_of("FANIN_TIMEOUT_MS"));
  o.stall = std::chrono::milliseconds(number_of("FANIN_STALL_MS"));
  o.keepalive = std::chrono::milliseconds(number_of("FANIN_KEEPALIVE_MS"));
  o.window = static_cast<uint64_t>(number_of("FANIN_WINDOW"));
  o.min_slice = static_cast<uint64_t>(number_of("FANIN_MIN_SLICE"));
  o.checksums = *parse_flag(text_of(spec_of("FANIN_CHECKSUM")));
  o.io_threads = static_cast<unsigned>(number_of("FANIN_IO_THREADS"));
  o.affinity = *parse_flag(text_of(spec_of("FANIN_AFFINITY")));
  o.poll_us = static_cast<int>(number_of("FANIN_POLL_US"));
  o.net_sockets = static_cast<unsigned>(number_of("FANIN_NET_SOCKETS"));
  o.ports = ports_of("FANIN_PORT_RANGE");
  o.worker_bw = rate_of("FANIN_WORKER_BW");
  o.stats_file = text_of(spec_of("FANIN_STATS_FILE"));
  o.tuner = *parse_flag(text_of(spec_of("FANIN_TUNER")));
  o.tuner_file = text_of(spec_of("FANIN_TUNER_FILE"));
  return o;
}

const Options& options() {
  static Lasting<const Options> o(read_options);
  return *o;
}

}  // namespace fanin::plugin
