// Reaches every reducer of a pool, all at once, and joins a session on each of their lanes.
//
// Lane 0 of a reducer first (its Welcome tells how many lanes there are), then the others in parallel.
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
#include "topology/pool.h"
#include "transport/deadline.h"

namespace fanin::plugin::collnet {

inline constexpr std::chrono::milliseconds kRefusalPatience{1500};

struct JoinRequest {
  wire::SessionId session{};
  uint32_t rank = 0, nranks = 1;
  uint64_t window = 0;                 // bytes of the whole session, shared out over the lanes
  std::optional<tcp::Address> source;  // the NIC to leave from
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
  std::string why;                    // none: why not
};

// In the pool's order. Error (kInvalidUsage): two members are the same reducer.
Result<std::vector<Joined>> join_pool(const std::vector<PoolMember>& pool, const JoinRequest& request,
                                      Deadline deadline);

// Leaves a session on connections that will not be used.
void leave(std::vector<LaneConnection>& lanes);

}  // namespace fanin::plugin::collnet
