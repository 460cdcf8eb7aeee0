#include "fanin/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

namespace fanin {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

std::string size_text(int64_t v) {
  const char* unit = "";
  for (const char* u : {"K", "M", "G", "T"}) {
    if (v < 1024 || v % 1024) break;
    v /= 1024;
    unit = u;
  }
  return std::to_string(v) + unit;
}

// Levenshtein distance, for names of a few dozen characters.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

Result<int64_t> parse_int(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size() || value < min || value > max)
    return Error(Errc::kInvalidUsage, quoted(text) + " is not a whole number from " + std::to_string(min) +
                                          " to " + std::to_string(max));
  return value;
}

Result<int64_t> parse_size(std::string_view text, int64_t min, int64_t max) {
  Error bad(Errc::kInvalidUsage, quoted(text) + " is not a size from " + size_text(min) + " to " +
                                     size_text(max) + " (bytes, or a number with K, M, G or T)");
  double value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || !std::isfinite(value) || value < 0) return bad;
  std::string unit = lower(std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)));
  if (unit.ends_with("ib"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with("b"))
    unit.resize(unit.size() - 1);
  const std::string_view units = "kmgt";
  if (unit.size() > 1 || (unit.size() == 1 && units.find(unit[0]) == std::string_view::npos)) return bad;
  if (unit.size() == 1) value = std::ldexp(value, 10 * (1 + static_cast<int>(units.find(unit[0]))));
  // Compared as doubles before the cast: anything above max would overflow it.
  if (value != std::floor(value) || value < static_cast<double>(min) || value > static_cast<double>(max))
    return bad;
  return static_cast<int64_t>(value);
}

Result<bool> parse_flag(std::string_view text) {
  std::string t = lower(text);
  if (t == "1" || t == "true" || t == "yes" || t == "on") return true;
  if (t == "0" || t == "false" || t == "no" || t == "off") return false;
  return Error(Errc::kInvalidUsage, quoted(text) + " is neither 0 nor 1");
}

Status check_option(const OptionSpec& spec, std::string_view text) {
  bool automatic = spec.fallback == std::string_view("auto");
  if (automatic && text == "auto") return {};
  Status status;
  switch (spec.type) {
    case OptionType::kText:
      break;
    case OptionType::kFlag:
      if (auto r = parse_flag(text); !r) status = r.error();
      break;
    case OptionType::kInt:
      if (auto r = parse_int(text, spec.min, spec.max); !r) status = r.error();
      break;
    case OptionType::kSize:
      if (auto r = parse_size(text, spec.min, spec.max); !r) status = r.error();
      break;
  }
  if (status) return {};
  Error e = status.error().in(spec.name);
  return automatic ? Error(e.code(), e.text() + ", nor auto") : e;
}

bool set_by_kubernetes(std::string_view variable) {
  if (variable.ends_with("_SERVICE_HOST") || variable.ends_with("_PORT")) return true;
  if (variable.find("_SERVICE_PORT") != std::string_view::npos) return true;
  const size_t port = variable.rfind("_PORT_");
  return port != std::string_view::npos && port + 6 < variable.size() && variable[port + 6] >= '0' &&
         variable[port + 6] <= '9';
}

std::string nearest_option(std::span<const OptionSpec> table, std::string_view name) {
  std::string best;
  // Further than a third is another word; FANIN_, which all variables begin with, makes no two alike.
  const size_t word = name.size() - (name.starts_with("FANIN_") ? 6 : 0);
  size_t best_distance = (word + 1) / 3 + 1;
  for (const OptionSpec& spec : table) {
    size_t d = distance(lower(spec.name), lower(name));
    if (d < best_distance) {
      best = spec.name;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace fanin
