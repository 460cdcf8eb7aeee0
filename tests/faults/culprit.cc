#include "tests/faults/culprit.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace fanin::faults {
namespace {

// "rank 3" but not "rank 3 of 4", with which every error of rank 3's own begins, nor "rank 31".
bool rank_in(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::string rest = text.substr(at + name.size());
    if (!rest.starts_with(" of ") && (rest.empty() || !isdigit(static_cast<unsigned char>(rest[0]))))
      return true;
  }
  return false;
}

}  // namespace

Culprit::Culprit(const Scenario& scenario, const std::string& reducers) : s_(scenario) {
  std::istringstream list(reducers);
  for (std::string r; std::getline(list, r, ',');) reducers_.push_back(r);
}

bool Culprit::reducer_in(const std::string& text) const {
  return std::any_of(reducers_.begin(), reducers_.end(),
                     [&](const std::string& r) { return text.find(r) != std::string::npos; });
}

bool Culprit::named_in(const std::string& text) const {
  if (s_.has_rank_victim()) return rank_in(text, "rank " + std::to_string(s_.victim));
  if (s_.has_reducer_victim()) return text.find(reducers_.back()) != std::string::npos;
  return anyone_named_in(text, -1);
}

bool Culprit::anyone_named_in(const std::string& text, int speaker) const {
  if (reducer_in(text)) return true;
  for (int r = 0; r < s_.nranks; ++r)
    if (r != speaker && rank_in(text, "rank " + std::to_string(r))) return true;
  return false;
}

}  // namespace fanin::faults
