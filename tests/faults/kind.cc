#include "tests/faults/kind.h"

#include <array>
#include <cstddef>

namespace fanin::faults {
namespace {

constexpr size_t kKinds = static_cast<size_t>(Kind::kCount);

// In the order of Kind: name, disturbs, silent, proxied, links, nccl.
constexpr std::array<KindFacts, kKinds> kFacts = {{
    {"kill-worker", true, false, false, false, true},
    {"exit-worker", true, false, false, false, false},
    {"abort-worker", true, false, false, false, false},
    {"stop-worker", true, true, false, false, true},
    {"pause-worker", false, false, false, false, true},
    {"kill-reducer", true, false, false, false, true},
    {"restart-reducer", true, false, false, false, true},
    {"stop-reducer", true, true, false, false, true},
    {"pause-reducer", false, false, false, false, true},
    {"drain-reducer", false, false, false, false, true},
    {"shut-socket", true, false, false, false, false},
    {"cut", true, false, true, false, true},
    {"reset", true, false, true, false, true},
    {"half-close", true, false, true, false, true},
    {"delay", false, false, true, false, true},
    {"crumbs", false, false, true, false, true},
    {"stall", true, true, true, false, true},
    {"pause-traffic", false, false, true, false, true},
    {"link-down", true, true, false, true, false},
    {"link-flap", false, false, false, true, false},
    {"drop-out", true, true, false, true, false},
    {"drop-in", true, true, false, true, false},
    {"drop-briefly", false, false, false, true, false},
}};

}  // namespace

const KindFacts& facts(Kind kind) { return kFacts[static_cast<size_t>(kind)]; }

std::optional<Kind> kind_named(const std::string& name) {
  for (size_t k = 0; k < kKinds; ++k)
    if (name == kFacts[k].name) return static_cast<Kind>(k);
  return std::nullopt;
}

std::vector<Kind> kinds(bool links) {
  std::vector<Kind> all;
  for (size_t k = 0; k < kKinds; ++k)
    if (links || !kFacts[k].links) all.push_back(static_cast<Kind>(k));
  return all;
}

const char* moment_name(Moment moment) {
  switch (moment) {
    case Moment::kConnect:
      return "connect";
    case Moment::kRun:
      return "run";
    case Moment::kClose:
      return "close";
  }
  return "?";
}

}  // namespace fanin::faults
