// Who may drain a reducer over HTTP: who proves an admin secret (fanin/drain_proof.h). Without one, nobody; signals still
// do. One thread.
//
//   GET /drain   200: a challenge        403: no admin secret was given to this reducer
//   POST /drain  Authorization: fanin CHALLENGE PROOF    202: draining    401: no proof    403: not a good one
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fanin/secret_file.h"
#include "reducer/http/request.h"
#include "reducer/http/response.h"
#include "transport/deadline.h"

namespace fanin::reducer::metrics {

class DrainDoor {
 public:
  static constexpr std::chrono::seconds kChallengeLives{30};

  DrainDoor() = default;  // closed
  // drain: called for each request that may; quick.
  static Result<DrainDoor> make(std::vector<NamedSecret> admins,
                                std::function<void(const std::string& who)> drain);
  http::Response answer(const http::Request& request, Deadline::Clock::time_point now);

 private:
  std::string challenge(int64_t good_until) const;
  std::vector<NamedSecret> admins_;
  std::function<void(const std::string&)> drain_;
  std::optional<Secret> own_;  // proves that a challenge is this reducer's
};

}  // namespace fanin::reducer::metrics
