// Making TCP connections without ever blocking: listen, accept, connect. Every descriptor is close-on-exec
// and non-blocking. Free functions without state; any thread.
#pragma once
#include <optional>

#include "fanin/error.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::tcp {

// A listening socket; [::] takes IPv4 as well. Port 0 picks a free one (see local_address). SO_REUSEADDR is set, so that a restarted
// server gets its port back while old connections linger.
Result<Fd> listen_on(const Address& at, int backlog = 1024);

// The next waiting connection, or an empty Fd when there is none. Connections that died in the queue
// (ECONNABORTED) are skipped; only descriptor or memory exhaustion is an error, and the queue stays intact
// then.
Result<Fd> accept_from(int listener);

// Starts to connect. source, if given and of the same family, is the local address to leave from (port
// ignored): each NIC uses its own link. Where the kernel finds no route from source, the connection is made
// from any address.
Result<Fd> start_connect(const Address& to, const std::optional<Address>& source = std::nullopt);

// Result of a started connect once the descriptor is writable. retry tells refusals that may pass (the peer
// is not up yet, a route flaps) from ones that will not.
struct ConnectOutcome {
  int err = 0;  // 0: connected
  bool retry = false;
};
ConnectOutcome finish_connect(int fd);

// No Nagle delay; keep-alive probes after 10 s of silence so that a vanished host is noticed.
Status tune(int fd);

}  // namespace fanin::tcp
