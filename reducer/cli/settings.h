// The values of all of kReducerOptions as text, and what they mean.
//
// Precedence: command line, then FANIN_REDUCER_<NAME>, then the --config file, then the table's default.
// Every value is checked against the table whatever its source; errors name the option where the user wrote
// it. Start-up only.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "fanin/options.h"
#include "reducer/reducer.h"

namespace fanin::reducer::cli {

inline constexpr size_t kNumOptions = std::size(kReducerOptions);

struct Settings {
  std::array<std::string, kNumOptions> text;  // in the table's order
  const std::string& operator[](std::string_view name) const;
};

// "handshake-timeout-ms" -> "FANIN_REDUCER_HANDSHAKE_TIMEOUT_MS"
std::string variable_of(std::string_view option);

// Settings as a configuration file that --config reads, with every option's sentence.
std::string config_file_of(const Settings& settings);

struct ServeConfig {
  std::vector<tcp::Address> listen;  // all addresses of the name given; the first that can be bound is used
  std::string port_file;
  ReducerConfig reducer;  // all but .listen and .log
};
// Resolves names and "auto". Settings must have passed check_option.
Result<ServeConfig> interpret(const Settings& settings);

}  // namespace fanin::reducer::cli
