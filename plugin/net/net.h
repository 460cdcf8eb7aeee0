// Point-to-point network: what every ncclNet ABI version's shim (plugin/abi/) calls.
//
// Threads: listen, connect, accept, register and close from NCCL's service or user threads; isend, irecv,
// iflush and test from one progress thread per communicator; different comms from different threads at once.
// Nothing here blocks. Ownership: comms belong to the caller until closed; a Request belongs to its comm and
// is free again once test said done. Buffers must stay valid until then. Errors: kRemote when the peer is
// gone; every later call on that comm gives the same error.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fanin/error.h"

namespace fanin::plugin::net {

inline constexpr int kMaxGroupedReceives = 8;
inline constexpr int kMaxRequests = 32;  // in flight per comm; one more gives a null request
inline constexpr size_t kHandleBytes = 128;

class ListenComm;
class SendComm;
class RecvComm;
class Request;

// Opens a listener on device dev and describes it in handle[0 … kHandleBytes).
Result<ListenComm*> listen(int dev, void* handle);
// Null until connected; call again with the same handle bytes, in which progress is kept.
Result<SendComm*> connect(int dev, void* handle);
// Null until a whole connection has arrived.
Result<RecvComm*> accept(ListenComm* listener);

// Only host memory (NCCL_PTR_HOST). The handle is never null; the same region may be registered many times.
Result<void*> register_memory(const void* data, size_t bytes, int ptr_type);
Status deregister_memory(void* handle);

// Null: try again later.
Result<Request*> isend(SendComm* comm, const void* data, size_t bytes, int tag, const void* mhandle);
// n receives (1 … kMaxGroupedReceives) with a tag each; sizes are upper bounds.
Result<Request*> irecv(RecvComm* comm, int n, void* const* data, const size_t* sizes, const int* tags,
                       void* const* mhandles);
// Host memory needs no flush: always null (nothing to wait for).
Result<Request*> iflush(RecvComm* comm, int n, void* const* data, const int* sizes, void* const* mhandles);
// True once done; then sizes[0 … n) (if given) are the bytes sent or received and the request is free.
Result<bool> test(Request* request, size_t* sizes);

// Prompt whatever is in flight. Null is ignored.
Status close_send(SendComm* comm);
Status close_recv(RecvComm* comm);
Status close_listen(ListenComm* listener);

}  // namespace fanin::plugin::net
