#include "perf/doctor/reach.h"

#include <poll.h>
#include <string.h>

#include "perf/common/clock.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/socket.h"

namespace fanin::doctor {
namespace {

struct Attempt {
  size_t member;
  std::string address;
  Fd fd;
};

}  // namespace

std::vector<Reached> reach(const std::vector<PoolMember>& members, std::chrono::milliseconds patience) {
  std::vector<Reached> reached(members.size());
  std::vector<Attempt> attempts;
  const double started = perf::seconds();
  for (size_t m = 0; m < members.size(); m++) {
    reached[m].error = members[m].unknown;
    for (const tcp::Address& address : members[m].addresses) {
      Result<Fd> fd = tcp::start_connect(address);
      if (fd)
        attempts.push_back({m, address.text(), std::move(*fd)});
      else
        reached[m].error = fd.error().text();
    }
  }
  const Deadline until = Deadline::after(patience);
  while (!attempts.empty() && !until.passed()) {
    std::vector<pollfd> fds;
    for (const Attempt& a : attempts) fds.push_back({a.fd.get(), POLLOUT, 0});
    if (::poll(fds.data(), fds.size(), until.poll_ms()) <= 0) continue;
    for (size_t i = attempts.size(); i-- > 0;) {
      if (fds[i].revents == 0) continue;
      Reached& r = reached[attempts[i].member];
      const tcp::ConnectOutcome outcome = tcp::finish_connect(attempts[i].fd.get());
      if (outcome.err != 0) {
        r.error = attempts[i].address + ": " + strerror(outcome.err);
      } else if (!r.yes) {
        r.yes = true;
        r.seconds = perf::seconds() - started;
      }
      attempts.erase(attempts.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const Attempt& a : attempts)
    reached[a.member].error = a.address + " answered nothing for " + std::to_string(patience.count()) + " ms";
  return reached;
}

}  // namespace fanin::doctor
