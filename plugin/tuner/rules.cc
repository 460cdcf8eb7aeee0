#include "plugin/tuner/rules.h"

#include <strings.h>

#include <array>
#include <charconv>
#include <climits>
#include <optional>
#include <span>

#include "fanin/error.h"
#include "nccl/tuner_v6.h"

namespace fanin::plugin::tuner {
namespace {

constexpr uint64_t kNoLimit = 4294967295;  // as NCCL's example has it
constexpr int kMaxChannels = 64;

struct Name {
  const char* text;
  int value;
};
constexpr Name kCollectives[] = {{"broadcast", NCCL_TUNER_BROADCAST},
                                 {"reduce", NCCL_TUNER_REDUCE},
                                 {"allgather", NCCL_TUNER_ALL_GATHER},
                                 {"reducescatter", NCCL_TUNER_REDUCE_SCATTER},
                                 {"allreduce", NCCL_TUNER_ALL_REDUCE}};
constexpr Name kAlgorithms[] = {{"tree", NCCL_TUNER_TREE},
                                {"ring", NCCL_TUNER_RING},
                                {"collnet_direct", NCCL_TUNER_COLLNET_DIRECT},
                                {"collnet_chain", NCCL_TUNER_COLLNET_CHAIN},
                                {"nvls", NCCL_TUNER_NVLS},
                                {"nvls_tree", NCCL_TUNER_NVLS_TREE},
                                {"pat", NCCL_TUNER_PAT}};
constexpr Name kProtocols[] = {
    {"ll", NCCL_TUNER_LL}, {"ll128", NCCL_TUNER_LL128}, {"simple", NCCL_TUNER_SIMPLE}};

constexpr size_t kMinFields = 8, kMaxFields = 10;
constexpr std::array<const char*, kMaxFields> kFields = {"collective", "min_bytes", "max_bytes", "algorithm",
                                                         "protocol",   "channels",  "nNodes",    "nRanks",
                                                         "numPipeOps", "regBuff"};

std::string_view trim(std::string_view s) {
  const size_t first = s.find_first_not_of(" \t\r");
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view s, char at) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t end = s.find(at);
    out.push_back(s.substr(0, end));
    if (end == s.npos) return out;
    s.remove_prefix(end + 1);
  }
}

// One line's fields, with the first mistake.
struct Fields {
  std::vector<std::string_view> text;
  std::string mistake;

  void wrong(size_t i, const std::string& what) {
    if (mistake.empty()) mistake = std::string(kFields[i]) + " \"" + printable(text[i], 40) + "\" " + what;
  }
  int name(size_t i, std::span<const Name> names) {
    std::string all;
    for (const Name& n : names) {
      if (text[i].size() == std::string_view(n.text).size() &&
          strncasecmp(text[i].data(), n.text, text[i].size()) == 0)
        return n.value;
      all += (all.empty() ? "" : ", ") + std::string(n.text);
    }
    wrong(i, "is none of " + all);
    return 0;
  }
  int64_t number(size_t i, int64_t min, int64_t max) {
    if (i >= text.size()) return -1;
    int64_t value = 0;
    const char* const end = text[i].data() + text[i].size();
    const auto [stop, error] = std::from_chars(text[i].data(), end, value);
    if (error == std::errc() && stop == end && value >= min && value <= max) return value;
    wrong(i, "is not a number from " + std::to_string(min) + " to " + std::to_string(max));
    return min;
  }
};

Rule parse_line(Fields& f) {
  Rule r;
  r.collective = f.name(0, kCollectives);
  r.min_bytes = static_cast<uint64_t>(f.number(1, 0, INT64_MAX));
  r.max_bytes = static_cast<uint64_t>(f.number(2, 0, INT64_MAX));
  if (r.max_bytes == kNoLimit) r.max_bytes = UINT64_MAX;
  if (r.max_bytes < r.min_bytes) f.wrong(2, "is less than min_bytes");
  r.algorithm = f.name(3, kAlgorithms);
  r.protocol = f.name(4, kProtocols);
  r.channels = static_cast<int>(f.number(5, -1, kMaxChannels));
  if (r.channels == 0) f.wrong(5, "is not -1 or a number of channels");
  r.nodes = static_cast<int>(f.number(6, -1, INT_MAX));
  r.ranks = static_cast<int>(f.number(7, -1, INT_MAX));
  r.pipe_ops = static_cast<int>(f.number(8, -1, INT_MAX));
  r.reg_buff = static_cast<int>(f.number(9, -1, 1));
  return r;
}

}  // namespace

bool matches(const Rule& r, const Call& c) {
  const auto is = [](int wanted, uint64_t value) {
    return wanted < 0 || static_cast<uint64_t>(wanted) == value;
  };
  return r.collective == c.collective && c.bytes >= r.min_bytes && c.bytes <= r.max_bytes &&
         is(r.nodes, c.nodes) && is(r.ranks, c.ranks) && (r.pipe_ops < 0 || r.pipe_ops == c.pipe_ops) &&
         (r.reg_buff < 0 || r.reg_buff == c.reg_buff);
}

Rules parse_rules(std::string_view text) {
  Rules out;
  size_t number = 0;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark: spreadsheets write one
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    Fields fields{split(line, ','), {}};
    for (std::string_view& field : fields.text) field = trim(field);
    if (fields.text[0] == "collective_type" || fields.text[0] == kFields[0]) continue;  // the heading
    Rule rule;
    if (fields.text.size() < kMinFields || fields.text.size() > kMaxFields)
      fields.mistake = std::to_string(fields.text.size()) + " fields, not 8 to 10";
    else
      rule = parse_line(fields);
    if (fields.mistake.empty())
      out.rules.push_back(rule);
    else
      out.mistakes.push_back("line " + std::to_string(number) + ": " + fields.mistake);
  }
  return out;
}

}  // namespace fanin::plugin::tuner
