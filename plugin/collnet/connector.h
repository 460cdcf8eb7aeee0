// Reaches every reducer of a pool, all at once, and joins a session on each of their lanes.
//
// A reducer is asked first how many lanes it has and at which addresses (rails.h), then joined on all lanes in parallel.
// Refused and broken attempts are repeated with back-off, over a member's addresses in turn, until the
// deadline; a member whose every address does nothing but refuse is given up after a while, so that
// a pool that is not there does not hold up the job. Blocks; service threads only. What takes long is logged
// while it does.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fanin/secret.h"
#include "fanin/wire.h"
#include "plugin/collnet/lane.h"
#include "plugin/collnet/rails.h"
#include "topology/pool.h"
#include "transport/deadline.h"

namespace fanin::plugin::collnet {

inline constexpr std::chrono::milliseconds kRefusalPatience{1500};

struct JoinRequest {
  wire::SessionId session{};
  uint32_t rank = 0, nranks = 1;
  uint64_t window = 0;          // bytes of the whole session, shared out over the lanes
  std::optional<Nic> nic;       // to leave from, and whose subnet to stay in
  std::vector<Nic> other_nics;  // of this node, whose sessions use the reducers too
  std::chrono::milliseconds keepalive{30000};
  // How long a reducer may do nothing but refuse.
  std::chrono::milliseconds refusals = kRefusalPatience;
  std::optional<Secret> secret;  // to be proved by both sides
  bool checksums = false;
};

// One member of the pool, tried.
struct Joined {
  std::string name;
  wire::ReducerId id{};
  std::vector<LaneConnection> lanes;  // all lanes of the reducer, or none
  uint32_t mbps = 0;                  // what the NICs of it that are used carry; 0: unknown
  uint32_t node_mbps = 0;             // the same with request.other_nics; 0: unknown
  std::string at;                     // the addresses of the lanes, "10.0.0.7:4000, 10.0.1.7:4000"
  std::string why;                    // none: why not
};

// In the pool's order. Error (kInvalidUsage): two members are the same reducer.
Result<std::vector<Joined>> join_pool(const std::vector<PoolMember>& pool, const JoinRequest& request,
                                      Deadline deadline);

// Leaves a session on connections that will not be used.
void leave(std::vector<LaneConnection>& lanes);

}  // namespace fanin::plugin::collnet
