#include <algorithm>
#include <set>

#include "topology/cli/plan.h"
#include "topology/cli/text.h"
#include "topology/rate.h"
#include "topology/sizing.h"

namespace fanin::topo {
namespace {

std::string note(const PlanAnswer& a, const PlanPoint& p) {
  std::string text;
  auto add = [&](const char* what) { text += (text.empty() ? "  " : ", ") + std::string(what); };
  if (p.reducers > 0 && p.rate < a.ring.rate) add("slower than the ring");
  if (p.reducers == a.beat) add("the fewest that beat the ring");
  if (p.reducers == a.match) add("as much as the workers");
  if (p.reducers == a.cheapest) add("cheapest");
  if (p.reducers == a.asked.reducers) add("yours");
  return text;
}

std::string row(const PlanAnswer& a, const PlanPoint& p) {
  const std::string reducers = p.reducers == 0 ? "ring" : format("%u", p.reducers);
  const std::string share = p.reducers == 0 ? "-" : format("%.0f %%", p.share * 100);
  std::string line =
      format("  %8s  %11s  %13s  %6.2f  %11s  %7.3f s", reducers.c_str(), share.c_str(),
             rate_text(p.rate).c_str(), p.rate / a.ring.rate, time_text(p.all_reduce_s).c_str(), p.step_s);
  // Workers for nothing make the ring cost nothing.
  if (p.cost)
    line += format("  %10.5g  %5s", *p.cost,
                   *a.ring.cost > 0 ? format("%.3f", *p.cost / *a.ring.cost).c_str() : "-");
  return line + note(a, p) + "\n";
}

}  // namespace

std::string plan_text(const PlanAnswer& a) {
  const PlanQuestion& q = a.asked;
  std::string out = format("%u workers with %s each, reducers with %s each\n\n", q.workers,
                           rate_text(q.worker).c_str(), rate_text(q.reducer).c_str());
  out += format("  %u reducers have the workers' bandwidth (%u x %s / %s = %.2f)\n", a.match, q.workers,
                rate_text(q.worker).c_str(), rate_text(q.reducer).c_str(), q.workers * q.worker / q.reducer);
  if (a.beat)
    out += format(
        "  %u reducers are the fewest that beat a ring (more than %.1f %% of the workers' bandwidth)\n",
        *a.beat, sizing::break_even_share(q.workers) * 100);
  else
    out += "  no pool beats a ring of two: it loads each link no more than a pool does\n";
  if (a.cheapest) {
    const PlanPoint best = a.at(*a.cheapest);
    out += *a.cheapest == 0 ? "  the ring is cheapest\n"
                            : format("  %u reducers are cheapest: %.1f %% less per step than the ring\n",
                                     *a.cheapest, (1 - *best.cost / *a.ring.cost) * 100);
  }
  out += format("\n  %8s  %11s  %13s  %6s  %11s  %9s%s\n", "reducers", "of workers'", "algbw", "ring=1",
                bytes_text(static_cast<double>(q.bytes)).c_str(), "step",
                a.ring.cost ? "   cost/step  ring=1" : "");
  std::set<unsigned> rows{a.match, a.chosen.reducers, std::max(1u, a.match / 4), std::max(1u, a.match / 2)};
  if (a.beat) rows.insert(*a.beat), rows.insert((*a.beat + a.match) / 2);
  if (a.beat && *a.beat > 1) rows.insert(*a.beat - 1);
  if (a.cheapest && *a.cheapest > 0) rows.insert(*a.cheapest);
  out += row(a, a.ring);
  for (unsigned k : rows) out += row(a, a.at(k));
  out += format("\n  step: one that takes %g s with the ring, %g %% of it in all-reduces between nodes\n",
                q.step_s, q.comm_fraction * 100);
  out += format(
      "  with %u reducers of %u lanes each, %s: %s of memory for blocks on each,\n"
      "  %llu connections on each worker, %llu on each reducer\n",
      a.chosen.reducers, q.lanes,
      (std::to_string(q.sessions) + (q.sessions == 1 ? " session" : " sessions")).c_str(),
      bytes_text(static_cast<double>(a.memory)).c_str(),
      static_cast<unsigned long long>(a.worker_connections),
      static_cast<unsigned long long>(a.reducer_connections));
  if (a.fit().loses()) out += "\nwarning: " + a.fit().text() + "; " + a.fit().remedy() + "\n";
  return out;
}

}  // namespace fanin::topo
