// Making TCP connections without ever blocking: listen, accept, connect. Every descriptor is close-on-exec
// and non-blocking. Free functions without state; any thread.
#pragma once
#include <chrono>
#include <optional>

#include "fanin/error.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::tcp {

// A listening socket; [::] takes IPv4 as well. Port 0 picks a free one (see local_address). SO_REUSEADDR is set, so that a restarted
// server gets its port back while old connections linger. err, if given: bind's or listen's
// errno, 0 where it was neither.
Result<Fd> listen_on(const Address& at, int* err = nullptr);

// The next waiting connection, or an empty Fd when there is none. Connections that died in the queue
// (ECONNABORTED) are skipped; only descriptor or memory exhaustion while one waits is an error, and the
// queue stays intact then.
Result<Fd> accept_from(int listener);

// Starts to connect. source, if given and of the same family, is the local address to leave from (port
// ignored): each NIC uses its own link. Where the kernel finds no route from source, the connection is made
// from any address.
Result<Fd> start_connect(const Address& to, const std::optional<Address>& source = std::nullopt);

// The local address the kernel would choose for connections to that one; none: it knows no way. Nothing is sent.
std::optional<Address> source_for(const Address& to);

// Result of a started connect once the descriptor is writable. retry tells refusals that may pass (the peer
// is not up yet, a route flaps) from ones that will not. A connection that met itself, because nobody listens on a
// port that the kernel then chose to leave from, counts as refused.
struct ConnectOutcome {
  int err = 0;  // 0: connected
  bool retry = false;
};
ConnectOutcome finish_connect(int fd);

// No Nagle delay; keep-alive probes, so that a host that vanishes while nothing is said is noticed after
// `silence` (in whole seconds, at least three).
//
// What keep-alive does not see is a host that vanishes with data on its way to it: see unanswered(). There is no
// TCP_USER_TIMEOUT, because it also ends connections to hosts that answer and only do not read for a while (a stopped
// or busy process).
inline constexpr std::chrono::milliseconds kKeepAlive{30000};
Status tune(int fd, std::chrono::milliseconds silence = kKeepAlive);

// A connection between two addresses of one host gets a send buffer of about twice `bytes`, or as much as net.core.wmem_max allows
// if that is at least `least`: there is no link to keep full, and what lies in a larger one has left the CPU's cache before the other
// process reads it. Other connections are left alone. An optimisation: never fails.
void keep_in_cache(int fd, int bytes, int least = 64 << 10);
inline constexpr int kLaneBuffer = 256 << 10;  // for both ends of a lane

// For how long the peer's host has answered nothing, neither data nor window probes, though it was asked again and
// again; zero while it answers.
std::chrono::milliseconds unanswered(int fd);
// Bytes per second the peer has lately been seen to take; 0: not known.
uint64_t delivery_rate(int fd);

}  // namespace fanin::tcp
