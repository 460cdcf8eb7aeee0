#include "topology/host_list.h"

#include <algorithm>
#include <charconv>

namespace fanin {
namespace {

constexpr size_t kMaxName = 255;  // of a host, as in DNS
constexpr const char* kTooMany = "more than 4096 hosts";
constexpr const char* kBalance = "unbalanced brackets";

// What a list has that it should not, or "".
using Complaint = const char*;

std::string_view trim(std::string_view s) {
  const char* blank = " \t\r\n";
  const size_t a = s.find_first_not_of(blank);
  return a == std::string_view::npos ? std::string_view() : s.substr(a, s.find_last_not_of(blank) - a + 1);
}

bool read_number(std::string_view text, uint32_t& out) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  return ec == std::errc() && end == text.data() + text.size() && text.size() <= 9;
}

std::string padded(uint32_t value, size_t width) {
  std::string digits = std::to_string(value);
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

// "01-03,7" -> 01 02 03 7
Complaint expand_numbers(std::string_view text, std::vector<std::string>& out) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t dash = std::min(item.find('-'), item.size());
    const std::string_view first = item.substr(0, dash);
    const std::string_view last = dash < item.size() ? item.substr(dash + 1) : first;
    uint32_t from = 0, to = 0;
    if (!read_number(first, from) || !read_number(last, to))
      return "something other than numbers and ranges in brackets ([01-03,7])";
    if (from > to) return "a range that goes down";
    if (to - from >= kMaxHosts - out.size()) return kTooMany;
    for (uint32_t n = from; n <= to; ++n) out.push_back(padded(n, first.size()));
  }
  return "";
}

// Every one of `names` with every one of `ends`.
Complaint append(std::vector<std::string>& names, const std::vector<std::string>& ends) {
  if (ends.size() > kMaxHosts / names.size()) return kTooMany;
  std::vector<std::string> out;
  out.reserve(names.size() * ends.size());
  for (const std::string& n : names)
    for (const std::string& e : ends) {
      if (n.size() + e.size() > kMaxName) return "a name of more than 255 characters";
      out.push_back(n + e);
    }
  names = std::move(out);
  return "";
}

// One entry: literals and brackets in turn.
Complaint expand_entry(std::string_view entry, std::vector<std::string>& names) {
  names = {""};
  while (!entry.empty()) {
    Complaint bad = "";
    if (entry.front() == '[') {
      const size_t close = entry.find(']');
      if (close == std::string_view::npos) return kBalance;
      std::vector<std::string> numbers;
      bad = expand_numbers(entry.substr(1, close - 1), numbers);
      if (!*bad) bad = append(names, numbers);
      entry.remove_prefix(close + 1);
    } else {
      const std::string_view literal = entry.substr(0, entry.find('['));
      if (literal.find(']') != std::string_view::npos) return kBalance;
      bad = append(names, {std::string(literal)});
      entry.remove_prefix(literal.size());
    }
    if (*bad) return bad;
  }
  return "";
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> out;
  bool within = false;
  for (size_t begin = 0, i = 0; i <= list.size(); ++i) {
    if (i < list.size() && (list[i] == '[' || list[i] == ']')) within = list[i] == '[';
    if (i < list.size() && (within || list[i] != ',')) continue;
    if (const std::string_view entry = trim(list.substr(begin, i - begin)); !entry.empty())
      out.push_back(entry);
    begin = i + 1;
  }
  return out;
}

Result<std::vector<std::string>> expand_hosts(std::string_view list) {
  auto bad = [&](const char* why) {
    return Error(Errc::kInvalidUsage, "the host list " + quoted(list) + " has " + why);
  };
  std::vector<std::string> hosts, names;
  for (const std::string_view entry : split_list(list)) {
    if (Complaint c = expand_entry(entry, names); *c) return bad(c);
    if (names.size() > kMaxHosts - hosts.size()) return bad(kTooMany);
    hosts.insert(hosts.end(), names.begin(), names.end());
  }
  if (hosts.empty()) return Error(Errc::kInvalidUsage, "the host list " + quoted(list) + " is empty");
  return hosts;
}

}  // namespace fanin
