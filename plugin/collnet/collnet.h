// Collectives over a pool of reducers: what every ncclCollNet ABI version's shim (plugin/abi/) calls.
//
// Threads: listen, connect, closes and registration on NCCL's service threads; iallreduce … test on one
// progress thread per communicator; several communicators at once. Only connect may block (bounded by
// FANIN_CONNECT_TIMEOUT_MS). Ownership: a Comm belongs to the caller until closed, a Request to its Comm
// until test said done or the Comm closed. Errors: kRemote names the reducer or rank that was lost; every
// later call on the comm gives the same error at once.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fanin/dtype.h"
#include "fanin/error.h"

namespace fanin::plugin::collnet {

inline constexpr size_t kHandleBytes = 128;

class Listener;
class Comm;
class Request;

// A part of a buffer with its registration.
struct Part {
  void* mhandle;
  void* address;
  size_t bytes;
};

// The window of the concatenation of all ranks' bytes_per_rank that one all-gather or reduce-scatter call
// covers.
struct Window {
  size_t bytes_per_rank;
  size_t offset;
  size_t bytes;
};

// Puts this rank's rendezvous address and a nonce into handle[0 … kHandleBytes).
Result<Listener*> listen(int dev, void* handle);

// Reaches the reducers and agrees with the other ranks on one verdict. Null: all ranks agreed not to use
// reducers (NCCL then uses the ring); the reason was logged. handles: nranks pointers to kHandleBytes each.
Result<Comm*> connect(void* const* handles, int nranks, int rank, Listener* listener);

// Every element type × sum, prod, max, min.
bool reduce_supported(int nccl_type, int nccl_op);

// Only host memory; the same region may be registered many times.
Result<void*> register_memory(Comm* comm, const void* data, size_t bytes, int ptr_type);
// The region may be freed afterwards. Messages in flight in it, as after ncclCommAbort, end the session.
Status deregister_memory(Comm* comm, void* handle);

// Null request: the window is full, call again. send and recv may be equal. count in elements.
Result<Request*> iallreduce(Comm* comm, const void* send, void* recv, size_t count, DType type, RedOp op);
// send: this rank's part of the window (maybe empty). recv.address: where the whole window goes.
Result<Request*> iallgather(Comm* comm, const void* send, const Part& recv, const Window& window);
// send.address: the whole window of this rank's input. recv: where this rank's part of the sum goes (maybe
// empty).
Result<Request*> ireducescatter(Comm* comm, const Part& send, void* recv, const Window& window, DType type,
                                RedOp op);
// Host memory needs no flush: always null.
Result<Request*> iflush(Comm* comm);
// True once done; *bytes (if given) is what was received. The request is free then.
Result<bool> test(Request* request, size_t* bytes);

// Prompt (< 100 ms) whatever is in flight. Null is ignored.
Status close(Comm* comm);
Status close_listener(Listener* listener);

}  // namespace fanin::plugin::collnet
