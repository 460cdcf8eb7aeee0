#include "plugin/collnet/verdict.h"

#include <algorithm>
#include <unordered_set>

namespace fanin::plugin::collnet {
namespace {

std::string who(const Report& r) { return "rank " + std::to_string(r.rank) + " (" + r.host + ")"; }

const Report::Reached* find(const Report& r, const wire::ReducerId& id) {
  auto it = std::find_if(r.reached.begin(), r.reached.end(), [&](auto& x) { return x.id == id; });
  return it == r.reached.end() ? nullptr : &*it;
}

// A cause and how it is tied to a rank: "connection refused" " from ".
struct Cause {
  std::string what, tie;
};

// Why this rank did not reach what another knows as `name`.
Cause why_missed(const Report& r, const std::string& name) {
  for (const Report::Missed& m : r.missed)
    if (m.name == name) return {m.why, " from "};
  return {"not in the pool", " of "};
}

// Joins a few complaints, each with a few of the ranks it comes from, so that a job of a thousand ranks still gets
// one line that holds every kind of cause.
class Sentence {
 public:
  void add(const Cause& cause, const Report& from) {
    auto it = std::find_if(said_.begin(), said_.end(),
                           [&](auto& s) { return s.cause.what == cause.what && s.cause.tie == cause.tie; });
    if (it == said_.end()) it = said_.insert(it, {cause, {}});
    if (std::find(it->from.begin(), it->from.end(), &from) == it->from.end()) it->from.push_back(&from);
  }
  std::string text(size_t nranks) const {
    std::string out;
    for (size_t i = 0; i < std::min(said_.size(), kMaxComplaints); ++i)
      out += (i == 0 ? "" : "; ") + said_[i].cause.what + ranks(said_[i], nranks);
    if (said_.size() > kMaxComplaints)
      out += "; and " + std::to_string(said_.size() - kMaxComplaints) + " more causes";
    return out;
  }

 private:
  static constexpr size_t kMaxComplaints = 4, kMaxRanks = 2;
  struct Complaint {
    Cause cause;
    std::vector<const Report*> from;
  };
  static std::string ranks(const Complaint& c, size_t nranks) {
    const size_t n = c.from.size();
    if (n == nranks && n > 1) return " (all " + std::to_string(n) + " ranks)";
    std::string out;
    for (size_t i = 0; i < std::min(n, kMaxRanks); ++i)
      out += (i == 0 ? c.cause.tie : ", ") + who(*c.from[i]);
    if (n > kMaxRanks) out += " and " + std::to_string(n - kMaxRanks) + " more";
    return out;
  }
  std::vector<Complaint> said_;
};

}  // namespace

Verdict decide(std::span<const Report> reports) {
  Verdict v;
  v.min_slice = reports[0].min_slice;
  v.measure = reports[0].measure;
  v.node_mbps = reports[0].node_mbps;
  for (const Report& r : reports) {
    v.strict |= r.strict;
    v.node_mbps = std::min(v.node_mbps, r.node_mbps);
  }
  // What everyone reached, in rank 0's order.
  for (const Report::Reached& x : reports[0].reached) {
    bool by_all = true;
    uint32_t slowest = x.mbps;
    for (const Report& r : reports) {
      const Report::Reached* there = find(r, x.id);
      by_all &= there != nullptr;
      if (there) slowest = std::min(slowest, there->mbps);
    }
    if (!by_all) continue;
    v.reducers.push_back(x.id);
    v.weights.push_back(slowest);
  }
  if (std::find(v.weights.begin(), v.weights.end(), 0u) != v.weights.end()) v.weights.clear();

  Sentence sentence;
  for (const Report& r : reports)
    if (!r.config_error.empty()) sentence.add({r.config_error, " on "}, r);
  for (const Report& r : reports)
    if (!r.configured) sentence.add({"FANIN_REDUCERS is not set", " on "}, r);
  // What some rank reached and another did not; then what a rank did not reach and nobody else did.
  std::vector<wire::ReducerId> seen;
  for (const Report& r : reports)
    for (const Report::Reached& x : r.reached) {
      if (std::find(seen.begin(), seen.end(), x.id) != seen.end()) continue;
      seen.push_back(x.id);
      for (const Report& other : reports)
        if (!find(other, x.id) && other.configured && other.config_error.empty()) {
          const Cause why = why_missed(other, x.name);
          sentence.add({x.name + ": " + why.what, why.tie}, other);
        }
    }
  std::unordered_set<std::string> reached;
  for (const Report& r : reports)
    for (const Report::Reached& x : r.reached) reached.insert(x.name);
  for (const Report& r : reports)
    for (const Report::Missed& m : r.missed)
      if (!reached.contains(m.name)) sentence.add({m.name + ": " + m.why, " from "}, r);
  v.reason = sentence.text(reports.size());
  v.use = !v.reducers.empty();
  if (!v.use && v.reason.empty()) v.reason = "no reducer is reached by all ranks";
  return v;
}

}  // namespace fanin::plugin::collnet
