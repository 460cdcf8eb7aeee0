#include "plugin/tuner/tuner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "fanin/text_file.h"
#include "fanin/version.h"
#include "plugin/collnet/measured.h"
#include "plugin/log.h"
#include "plugin/tuner/agreement.h"

namespace fanin::plugin::tuner {
namespace {

// Another file, named by mistake, may have a million lines.
constexpr size_t kMistakesNamed = 8;

// CollNet is not used with more.
constexpr uint64_t kMaxRanksPerNode = 8;

// Of what crossover() answers: powers of two, and halves more.
std::string size_text(uint64_t bytes) {
  if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + (bytes % (1 << 20) != 0 ? ".5" : "") + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " bytes";
}

struct RuleFile {
  std::vector<Rule> rules;
  std::string text;
};

RuleFile read_rules(const std::string& path) {
  if (path.empty()) return {};
  Result<std::string> text = read_text_file(path);
  if (!text) {
    FANIN_WARN("FANIN_TUNER_FILE: %s; no rules", text.error().text().c_str());
    return {};
  }
  Rules parsed = parse_rules(*text);
  const size_t wrong = parsed.mistakes.size(), named = std::min(wrong, kMistakesNamed);
  for (size_t i = 0; i < named; ++i)
    FANIN_WARN("FANIN_TUNER_FILE=%s %s; the line is ignored", path.c_str(), parsed.mistakes[i].c_str());
  if (wrong > named)
    FANIN_WARN("FANIN_TUNER_FILE=%s: %zu more lines are no rules and ignored", path.c_str(), wrong - named);
  return {std::move(parsed.rules), *std::move(text)};
}

// Of all that decides besides shape and figures: the rules, and the model, which another fanin may have another of.
uint64_t settings_hash(const std::string& rules) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::string& part : {std::string(kFaninVersion), rules})
    for (const char* c = part.c_str(); c <= part.c_str() + part.size(); ++c)
      hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
  return hash;
}

std::string figures_text(const Figures& f) {
  if (f == kAssumed) return "assumed: links of 10 Gbit/s; no effect without a session at the reducers";
  char text[160];
  snprintf(text, sizeof text, "measured: 256 bytes %.0f us, 32 KiB %.0f us, %.3g GB/s of %.3g, %u rail%s",
           f.small_us, f.chunk_us, f.pool_rate / 1e3, f.link_rate / 1e3, f.rails, f.rails == 1 ? "" : "s");
  return text;
}

bool is_set(const char* name) {
  const char* value = getenv(name);
  return value && *value;
}

}  // namespace

void Tuner::fill(Call& call) const {
  call.nodes = shape_.nodes;
  call.ranks = shape_.ranks;
}

void Tuner::decide(Call call, CostTable costs, int* channels) const {
  fill(call);
  for (const Rule& rule : rules_)
    if (matches(rule, call) && costs.choose(rule.algorithm, rule.protocol)) {
      if (rule.channels > 0) *channels = rule.channels;
      return;
    }
  if (!model_ || call.collective != NCCL_TUNER_ALL_REDUCE) return;
  if (call.bytes >= from_bytes_)
    costs.prefer_reducers();
  else
    costs.prefer_others();
}

Tuner::Choice Tuner::decide(Call call, bool collnet) const {
  if (is_set("NCCL_PROTO")) return {};  // NCCL would not look whether ours is allowed
  fill(call);
  const bool all_reduce = call.collective == NCCL_TUNER_ALL_REDUCE;
  const bool chain = all_reduce && collnet && shape_.ranks <= shape_.nodes * kMaxRanksPerNode;
  for (const Rule& rule : rules_) {
    if (!matches(rule, call)) continue;
    const bool surely =
        (rule.algorithm == NCCL_TUNER_RING && rule.protocol != NCCL_TUNER_LL128) ||
        (rule.algorithm == NCCL_TUNER_TREE && rule.protocol != NCCL_TUNER_LL128 && all_reduce) ||
        (rule.algorithm == NCCL_TUNER_COLLNET_CHAIN && rule.protocol == NCCL_TUNER_SIMPLE && chain);
    if (surely) return {rule.algorithm, rule.protocol, rule.channels > 0 ? rule.channels : 0};
  }
  if (model_ && chain && call.bytes >= from_bytes_) return {NCCL_TUNER_COLLNET_CHAIN, NCCL_TUNER_SIMPLE, 0};
  return {};
}

Result<Tuner> make_tuner(const Options& options, const Shape& shape, std::optional<uint64_t> communicator) {
  // Without a pool ranks have nobody through whom to agree, on rules either.
  if (!options.tuner || shape.nodes < 2 || options.pool.spec.empty()) return Tuner();
  if (is_set("NCCL_ALGO")) {
    FANIN_INFO(NCCL_INIT | NCCL_TUNING, "tuner: NCCL_ALGO is set, NCCL's choice is left alone");
    return Tuner();
  }
  RuleFile file = read_rules(options.tuner_file);
  Figures figures = kAssumed;
  // All ranks see the same pool, id and shape, so all ask or none does.
  if (communicator && shape.ranks <= wire::kMaxRanks) {
    Result<Agreed> agreed = agree(options, {*communicator, shape, settings_hash(file.text), collnet::take()});
    if (!agreed) return agreed.error();
    if (!agreed->all) {
      FANIN_INFO(NCCL_INIT | NCCL_TUNING, "tuner: NCCL's choice is left alone: %s", agreed->why.c_str());
      return Tuner();
    }
    figures = agreed->figures.value_or(kAssumed);
  }
  const uint64_t from = crossover(shape, figures);
  const std::string rules = options.tuner_file.empty() ? ""
                                                       : "; " + std::to_string(file.rules.size()) +
                                                             " rules of " + options.tuner_file;
  FANIN_INFO(NCCL_INIT | NCCL_TUNING, "tuner: %llu nodes, %llu ranks: all-reduce %s (%s)%s",
             static_cast<unsigned long long>(shape.nodes), static_cast<unsigned long long>(shape.ranks),
             from == kNever ? "never through the reducers"
             : from == 0    ? "of any size through the reducers"
                            : ("from " + size_text(from) + " on through the reducers").c_str(),
             figures_text(figures).c_str(), rules.c_str());
  return Tuner(shape, from, std::move(file.rules));
}

}  // namespace fanin::plugin::tuner
