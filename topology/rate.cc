#include "topology/rate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace fanin {
namespace {

constexpr std::string_view kPrefixes = "KMGT";
constexpr std::array<std::string_view, 6> kBits = {"", "bit/s", "bits/s", "bit", "bps", "b/s"};
// What is less is a number without its unit: "100".
constexpr double kLeast = 1e6, kMost = 1e15;
constexpr unsigned kMostNics = 1024;

Error bad(std::string_view text) {
  return Error(Errc::kInvalidUsage,
               quoted(text) + " is no link rate; write bits per second as 100G, 32Gbit/s, 25Gbps or 8x400G");
}

}  // namespace

Result<double> parse_rate(std::string_view text) {
  if (const size_t times = text.find('x'); times != std::string_view::npos) {
    unsigned count = 0;
    const auto [rest, failed] = std::from_chars(text.data(), text.data() + times, count);
    if (failed != std::errc() || rest != text.data() + times || count == 0 || count > kMostNics)
      return bad(text);
    const std::string_view one = text.substr(times + 1);
    if (one.find('x') != std::string_view::npos) return bad(text);
    Result<double> rate = parse_rate(one);
    if (!rate || *rate * count > kMost) return bad(text);
    return *rate * count;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (failed != std::errc()) return bad(text);
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (!unit.empty()) {
    const char prefix = unit[0] == 'k' ? 'K' : unit[0];
    for (size_t i = 0; i < kPrefixes.size(); ++i)
      if (prefix == kPrefixes[i]) {
        for (size_t n = 0; n <= i; ++n) value *= 1000;
        unit.remove_prefix(1);
        break;
      }
  }
  if (unit == "B/s")
    value *= 8;
  else if (std::find(kBits.begin(), kBits.end(), unit) == kBits.end())
    return bad(text);
  if (!(value > 0) || value > kMost) return bad(text);
  if (value < kLeast)
    return Error(Errc::kInvalidUsage,
                 quoted(text) +
                     " is less than 1 Mbit/s; look at the unit: bits per second as 100G, 32Gbit/s or 25Gbps");
  return value;
}

std::string rate_text(double rate) {
  const char* prefix = "";
  for (const char* next : {"K", "M", "G", "T"}) {
    if (rate < 999.95) break;
    rate /= 1000;
    prefix = next;
  }
  char out[32];
  snprintf(out, sizeof out, "%.4g %sbit/s", rate, prefix);
  return out;
}

}  // namespace fanin
