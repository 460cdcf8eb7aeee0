#include "topology/pool_fit.h"

#include <cstdio>

#include "topology/rate.h"
#include "topology/sizing.h"

namespace fanin {
namespace {

std::string percent(double share) {
  char text[32];
  snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

// As parse_rate reads it: "100G", "33.3333G", "950M".
std::string rate_argument(double rate) {
  char text[32];
  snprintf(text, sizeof text, "%.6g%c", rate >= 1e9 ? rate / 1e9 : rate / 1e6, rate >= 1e9 ? 'G' : 'M');
  return text;
}

std::string count(unsigned n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

bool PoolFit::loses() const { return sizing::loses(nodes, node, pool); }

bool PoolFit::below_the_nodes() const {
  return reducers < sizing::reducers_to_match(nodes, node, pool / reducers);
}

std::string PoolFit::text(const std::string& note) const {
  return (loses() ? "the pool is too small: " : "") + count(reducers, "reducer") +
         (reducers == 1 ? " has " : " have ") + rate_text(pool) + (reducers == 1 ? "" : " together") + ", " +
         percent(pool / (node * nodes)) + " of what " + std::to_string(nodes) + " nodes with " +
         rate_text(node) + " each" + (note.empty() ? "" : " (" + note + ")") + " have; below " +
         percent(sizing::break_even_share(nodes)) + " a ring is faster";
}

std::string PoolFit::remedy() const {
  const double each = pool / reducers;
  const std::optional<unsigned> beat = sizing::reducers_to_beat_ring(nodes, node, each);
  return (beat ? std::to_string(*beat) + " such reducers beat the ring, "
               : "no pool beats a ring of two nodes, ") +
         std::to_string(sizing::reducers_to_match(nodes, node, each)) + " have the nodes' bandwidth";
}

std::string PoolFit::command() const {
  return "fanin-topo plan --workers " + std::to_string(nodes) + " --worker-bw " + rate_argument(node) +
         " --reducer-bw " + rate_argument(pool / reducers) + " --reducers " + std::to_string(reducers);
}

}  // namespace fanin
