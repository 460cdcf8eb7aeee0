#include "plugin/collnet/verdict.h"

#include <algorithm>

namespace fanin::plugin::collnet {
namespace {

std::string who(const Report& r) { return "rank " + std::to_string(r.rank) + " (" + r.host + ")"; }

const Report::Reached* find(const Report& r, const wire::ReducerId& id) {
  auto it = std::find_if(r.reached.begin(), r.reached.end(), [&](auto& x) { return x.id == id; });
  return it == r.reached.end() ? nullptr : &*it;
}

// Why this rank did not reach what another knows as `name`.
std::string why_missed(const Report& r, const std::string& name) {
  if (!r.configured) return "FANIN_REDUCERS is not set on " + who(r);
  if (!r.config_error.empty()) return r.config_error + " on " + who(r);
  for (const Report::Missed& m : r.missed)
    if (m.name == name) return m.why + " from " + who(r);
  return "not among the FANIN_REDUCERS of " + who(r);
}

// Joins a few complaints, so that a job of a thousand ranks still gets one line.
class Sentence {
 public:
  void add(const std::string& text) {
    if (std::find(said_.begin(), said_.end(), text) != said_.end()) return;
    if (++n_ <= kMax) said_.push_back(text);
  }
  std::string text() const {
    std::string out;
    for (const std::string& s : said_) out += (out.empty() ? "" : "; ") + s;
    if (n_ > kMax) out += "; and " + std::to_string(n_ - kMax) + " more";
    return out;
  }

 private:
  static constexpr size_t kMax = 4;
  std::vector<std::string> said_;
  size_t n_ = 0;
};

}  // namespace

Verdict decide(std::span<const Report> reports) {
  Verdict v;
  v.min_slice = reports[0].min_slice;
  for (const Report& r : reports) {
    v.strict |= r.strict;
    v.configured |= r.configured;
  }
  // What everyone reached, in rank 0's order.
  for (const Report::Reached& x : reports[0].reached)
    if (std::all_of(reports.begin(), reports.end(), [&](auto& r) { return find(r, x.id) != nullptr; }))
      v.reducers.push_back(x.id);

  Sentence sentence;
  for (const Report& r : reports)
    if (!r.config_error.empty()) sentence.add(r.config_error + " on " + who(r));
  for (const Report& r : reports)
    if (!r.configured) sentence.add("FANIN_REDUCERS is not set on " + who(r));
  // What some rank reached and another did not; then what a rank did not reach and nobody else did.
  std::vector<wire::ReducerId> seen;
  for (const Report& r : reports)
    for (const Report::Reached& x : r.reached) {
      if (std::find(seen.begin(), seen.end(), x.id) != seen.end()) continue;
      seen.push_back(x.id);
      for (const Report& other : reports)
        if (!find(other, x.id) && other.configured && other.config_error.empty())
          sentence.add(x.name + ": " + why_missed(other, x.name));
    }
  for (const Report& r : reports)
    for (const Report::Missed& m : r.missed) {
      const bool others_did = std::any_of(reports.begin(), reports.end(), [&](const Report& o) {
        return std::any_of(o.reached.begin(), o.reached.end(), [&](auto& x) { return x.name == m.name; });
      });
      if (!others_did) sentence.add(m.name + ": " + m.why + " from " + who(r));
    }
  v.reason = sentence.text();
  v.use = !v.reducers.empty();
  if (!v.use && v.reason.empty()) v.reason = "no reducer is reached by all ranks";
  return v;
}

}  // namespace fanin::plugin::collnet
