// The values of all of kReducerOptions as text, and what they mean.
//
// Precedence: command line, then FANIN_REDUCER_<NAME>, then the --config file, then the table's default.
// Every value is checked against the table whatever its source; errors name the option where the user wrote
// it. Start-up only.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "fanin/error.h"
#include "fanin/options.h"
#include "reducer/cli/secret_source.h"
#include "reducer/reducer.h"

namespace fanin::reducer::cli {

inline constexpr size_t kNumOptions = std::size(kReducerOptions);

struct Settings {
  std::array<std::string, kNumOptions> text;  // in the table's order
  const std::string& operator[](std::string_view name) const;
  std::string& operator[](std::string_view name) {
    return const_cast<std::string&>(std::as_const(*this)[name]);
  }
};

// "handshake-timeout-ms" -> "FANIN_REDUCER_HANDSHAKE_TIMEOUT_MS"
std::string variable_of(std::string_view option);

// Settings as a configuration file that --config reads, with every option's sentence.
std::string config_file_of(const Settings& settings);

// --metrics: where the status server listens.
struct MetricsSetting {
  bool on = true;
  bool automatic = false;            // loopback, next to --listen
  std::vector<tcp::Address> listen;  // else: all addresses of the name given
};

struct ServeConfig {
  std::vector<tcp::Address> listen;  // all addresses of the name given; the first that can be bound is used
  std::string port_file;
  bool affinity = true;
  MetricsSetting metrics;
  std::string admin_secret_file;
  std::string allow;      // as it was written
  std::string advertise;  // as advertised() takes it
  SecretSource secrets;
  ReducerConfig reducer;  // all but .listen, .log and .secrets
};
inline constexpr uint16_t kDefaultPort = 4000;
// Resolves names and "auto", but reducer.lanes: 0 then, until place() has looked at the host. Settings must have passed check_option. secret: FANIN_SECRET, used where there is no
// --secret-file. own_port: of --listen auto.
Result<ServeConfig> interpret(const Settings& settings, const std::string& secret = "",
                              uint16_t own_port = kDefaultPort);

}  // namespace fanin::reducer::cli
