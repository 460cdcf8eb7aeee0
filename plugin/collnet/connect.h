// From handles to a communicator: try the pool, agree with the other ranks, start the I/O threads.
//
// What collnet::connect does, with the options as an argument. Blocks, bounded by about
// FANIN_CONNECT_TIMEOUT_MS.
#pragma once
#include <memory>

#include "fanin/error.h"
#include "plugin/collnet/comm.h"
#include "plugin/collnet/handle.h"
#include "plugin/collnet/listener.h"
#include "plugin/options.h"

namespace fanin::plugin::collnet {

// Opens this rank's listener on a device and describes it. A secret that cannot be read fails the session, not this.
// node: all NICs that NCCL may use, which outlive the listener.
Result<std::unique_ptr<Listener>> open_listener(const Options& options, const NetDevice& device,
                                                Handle& handle, std::span<const NetDevice> node = {});

// Null: all ranks agreed not to use reducers; the reason was logged.
Result<std::unique_ptr<Comm>> connect_session(const Options& options, void* const* handles, int nranks,
                                              int rank, const Listener& listener);

}  // namespace fanin::plugin::collnet
