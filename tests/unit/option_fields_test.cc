// Where the value of every option goes: each of both tables is set alone, through the environment or the command line, and one
// field of the struct that the program works with must change, to that value, and no other.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "fanin/options.h"
#include "plugin/options.h"
#include "reducer/cli/command_line.h"
#include "reducer/cli/settings.h"

namespace fanin {
namespace {

template <class T>
struct Field {
  const char* option;
  const char* value;     // a legal one that is not the default
  std::string expected;  // the field then, as text
  std::function<std::string(const T&)> text;
};

std::string text(uint64_t v) { return std::to_string(v); }
std::string text(std::chrono::milliseconds v) { return std::to_string(v.count()) + " ms"; }

// options_with(nullptr): with none set.
template <class T, size_t N>
void expect_each_has_its_field(const std::vector<Field<T>>& fields, const OptionSpec (&table)[N],
                               const std::function<T(const Field<T>*)>& options_with) {
  for (const OptionSpec& spec : table)
    EXPECT_EQ(std::count_if(fields.begin(), fields.end(),
                            [&](const Field<T>& f) { return std::string_view(f.option) == spec.name; }),
              1)
        << spec.name << " must stand once in this test's list";
  EXPECT_EQ(fields.size(), N);
  const T defaults = options_with(nullptr);
  for (const Field<T>& set : fields) {
    const T options = options_with(&set);
    for (const Field<T>& seen : fields)
      EXPECT_EQ(seen.text(options), &seen == &set ? set.expected : seen.text(defaults))
          << "the field of " << seen.option << ", with " << set.option << " set";
    EXPECT_NE(set.text(defaults), set.expected) << set.option << ": the value here is the default";
  }
}

using plugin::Options;
#define FIELD(name) [](const Options& o) { return text(o.name); }
const std::vector<Field<Options>> kPlugin = {
    {"FANIN_REDUCERS", "a:1,b:2", "a:1,b:2", [](const Options& o) { return o.pool.spec; }},
    {"FANIN_EXPECT_REDUCERS", "17", "17", FIELD(expect_reducers)},
    {"FANIN_SECRET_FILE", "/a/secret", "/a/secret", [](const Options& o) { return o.secret_file; }},
    {"FANIN_SECRET", "0123456789abcdef", "0123456789abcdef", [](const Options& o) { return o.secret; }},
    {"FANIN_STRICT", "1", "1", FIELD(strict)},
    {"FANIN_COLLNET", "0", "0", FIELD(collnet)},
    {"FANIN_CONNECT_TIMEOUT_MS", "10001", "10001 ms", FIELD(connect_timeout)},
    {"FANIN_TIMEOUT_MS", "10002", "10002 ms", FIELD(timeout)},
    {"FANIN_STALL_MS", "10003", "10003 ms", FIELD(stall)},
    {"FANIN_KEEPALIVE_MS", "10004", "10004 ms", FIELD(keepalive)},
    {"FANIN_PORT_RANGE", "20000-20999", "20000-20999",
     [](const Options& o) { return o.ports ? o.ports->text() : "any"; }},
    {"FANIN_WINDOW", "1M", "1048576", FIELD(window)},
    {"FANIN_MIN_SLICE", "12K", "12288", FIELD(min_slice)},
    {"FANIN_CHECKSUM", "1", "1", FIELD(checksums)},
    {"FANIN_WORKER_BW", "25G", "25000000000",
     [](const Options& o) { return o.worker_bw ? text(static_cast<uint64_t>(*o.worker_bw)) : "auto"; }},
    {"FANIN_IO_THREADS", "5", "5", FIELD(io_threads)},
    {"FANIN_POLL_US", "6", "6", FIELD(poll_us)},
    {"FANIN_TUNER", "0", "0", FIELD(tuner)},
    {"FANIN_TUNER_FILE", "/a/tuner", "/a/tuner", [](const Options& o) { return o.tuner_file; }},
    {"FANIN_STATS_FILE", "/a/stats", "/a/stats", [](const Options& o) { return o.stats_file; }},
    {"FANIN_NET_SOCKETS", "7", "7", FIELD(net_sockets)},
    {"FANIN_AFFINITY", "off", "0", FIELD(affinity)},
};
#undef FIELD

TEST(OptionFields, OfThePlugin) {
  for (const OptionSpec& spec : kPluginOptions) unsetenv(spec.name);
  expect_each_has_its_field<Options>(kPlugin, kPluginOptions, [](const Field<Options>* set) {
    if (set) setenv(set->option, set->value, 1);
    Options o = plugin::read_options();
    if (set) unsetenv(set->option);
    return o;
  });
}

using reducer::cli::ServeConfig;
#define FIELD(name) [](const ServeConfig& c) { return text(c.name); }
const std::vector<Field<ServeConfig>> kReducer = {
    {"listen", "127.0.0.1:4711", "127.0.0.1:4711",
     [](const ServeConfig& c) { return c.listen.empty() ? "" : c.listen.front().text(); }},
    {"advertise", "10.0.0.7=100G", "10.0.0.7=100G", [](const ServeConfig& c) { return c.advertise; }},
    {"lanes", "3", "3", FIELD(reducer.lanes)},
    {"affinity", "off", "0", FIELD(affinity)},
    {"memory", "77M", "80740352", FIELD(reducer.memory)},
    {"block", "8K", "8192", FIELD(reducer.block_bytes)},
    {"secret-file", "/no/such/secret", "/no/such/secret",
     [](const ServeConfig& c) -> std::string {
       reducer::cli::SecretSource s = c.secrets;
       if (!s.has_file()) return "none";
       const auto loaded = s.load();
       return !loaded && loaded.error().text().find("/no/such/secret") != std::string::npos
                  ? "/no/such/secret"
                  : "another";
     }},
    {"port-file", "/a/port", "/a/port", [](const ServeConfig& c) { return c.port_file; }},
    {"metrics", "127.0.0.1:4712", "127.0.0.1:4712",
     [](const ServeConfig& c) {
       return !c.metrics.on || c.metrics.automatic || c.metrics.listen.empty()
                  ? "auto or off"
                  : c.metrics.listen.front().text();
     }},
    {"admin-secret-file", "/an/admin", "/an/admin", [](const ServeConfig& c) { return c.admin_secret_file; }},
    {"handshake-timeout-ms", "20001", "20001 ms", FIELD(reducer.handshake_timeout)},
    {"timeout-ms", "20002", "20002 ms", FIELD(reducer.timeout)},
    {"join-timeout-ms", "20003", "20003 ms", FIELD(reducer.join_timeout)},
    {"allow", "10.0.0.0/8", "10.0.0.0/8",
     [](const ServeConfig& c) {
       const auto in = [&](const char* ip) {
         return c.reducer.allow.contains(*tcp::Address::numeric(ip, 1));
       };
       return !c.reducer.allow.empty() && in("10.1.2.3") && !in("11.0.0.1") ? c.allow : "all";
     }},
    {"stall-ms", "20004", "20004 ms", FIELD(reducer.stall)},
    {"keepalive-ms", "20005", "20005 ms", FIELD(reducer.keepalive)},
    {"max-connections", "101", "101", FIELD(reducer.max_connections)},
    {"max-sessions", "102", "102", FIELD(reducer.max_sessions)},
    {"max-session-memory", "11M", "11534336", FIELD(reducer.max_session_memory)},
    {"max-job-memory", "12M", "12582912", FIELD(reducer.max_job_memory)},
    {"max-half-open", "103", "103", FIELD(reducer.max_half_open)},
    {"max-half-open-per-address", "104", "104", FIELD(reducer.max_half_open_per_address)},
};
#undef FIELD

ServeConfig config_of(const std::vector<std::string>& args, const std::vector<std::string>& environment) {
  Result<reducer::cli::CommandLine> line = reducer::cli::read_command_line(args, environment);
  if (!line) {
    ADD_FAILURE() << line.error().text();
    return {};
  }
  Result<ServeConfig> config = reducer::cli::interpret(line->settings, line->secret, line->own_port);
  if (!config) {
    ADD_FAILURE() << config.error().text();
    return {};
  }
  return *std::move(config);
}

TEST(OptionFields, OfTheReducersCommandLine) {
  expect_each_has_its_field<ServeConfig>(kReducer, kReducerOptions, [](const Field<ServeConfig>* set) {
    if (!set) return config_of({}, {});
    return config_of({std::string("--") + set->option, set->value}, {});
  });
}

TEST(OptionFields, OfTheReducersEnvironment) {
  expect_each_has_its_field<ServeConfig>(kReducer, kReducerOptions, [](const Field<ServeConfig>* set) {
    if (!set) return config_of({}, {});
    return config_of({}, {reducer::cli::variable_of(set->option) + "=" + set->value});
  });
}

}  // namespace
}  // namespace fanin
