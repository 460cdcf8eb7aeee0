#include "fanin/json.h"
#include "topology/cli/plan.h"

namespace fanin::topo {
namespace {

void put(Json& j, const PlanPoint& p) {
  j.open('{').key("reducers").value(p.reducers).key("pool_share").value(p.share);
  j.key("algbw_bits_per_s").value(p.rate).key("optimum_bits_per_s").value(p.optimum);
  j.key("all_reduce_s").value(p.all_reduce_s).key("step_s").value(p.step_s).key("cost_per_step");
  p.cost ? j.value(*p.cost) : j.null();
  j.close('}');
}

void put(Json& j, const char* key, const std::optional<unsigned>& v) {
  j.key(key);
  v ? j.value(*v) : j.null();
}

}  // namespace

std::string plan_json(const PlanAnswer& a) {
  const PlanQuestion& q = a.asked;
  Json j;
  j.open('{').key("workers").value(q.workers);
  j.key("worker_bits_per_s").value(q.worker).key("reducer_bits_per_s").value(q.reducer);
  j.key("all_reduce_bytes").value(q.bytes).key("comm_fraction").value(q.comm_fraction);
  j.key("reducers_to_match").value(a.match);
  put(j, "reducers_to_beat_ring", a.beat);
  put(j, "reducers_cheapest", a.cheapest);
  put(j.key("ring"), a.ring);
  put(j.key("chosen"), a.chosen);
  j.key("loses_to_ring").value(a.fit().loses()).key("sessions").value(q.sessions).key("lanes").value(q.lanes);
  j.key("memory_per_reducer_bytes").value(a.memory);
  j.key("connections_per_worker").value(a.worker_connections);
  j.key("connections_per_reducer").value(a.reducer_connections);
  j.key("points").open('[');
  for (const PlanPoint& p : a.points) put(j, p);
  j.close(']').close('}');
  return j.text() + "\n";
}

}  // namespace fanin::topo
