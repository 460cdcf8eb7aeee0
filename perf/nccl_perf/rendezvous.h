// How the processes of a run find each other: process 0 listens, the others connect and say who they are.
//
// Strangers on the port (scrapes, scanners, silence) are dropped and disturb nothing. Blocks, within the
// deadline; while it waits for long it says for whom, on stderr.
#pragma once
#include <cstdint>
#include <vector>

#include "fanin/error.h"
#include "perf/nccl_perf/peer.h"
#include "transport/deadline.h"
#include "transport/tcp/address.h"

namespace fanin::nccl_perf {

// What every process must agree on to be part of one run.
struct Membership {
  uint32_t process = 0, processes = 1;
  uint64_t run = 0;  // digest of what was asked for, so that processes with other options are told apart
};

// The listener for process 0: on every interface, or on loopback when the host is loopback.
Result<Fd> listen_at(const tcp::HostPort& meet);

// Connections to processes 1 … processes-1, in that order.
Result<std::vector<Peer>> await_peers(const Fd& listener, const Membership& self, Deadline deadline);

// The connection to process 0.
Result<Peer> join(const tcp::HostPort& meet, const Membership& self, Deadline deadline);

}  // namespace fanin::nccl_perf
