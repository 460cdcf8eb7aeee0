#include "plugin/net/net.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "nccl/types.h"
#include "plugin/job_secret.h"
#include "plugin/lasting.h"
#include "plugin/net/connector.h"
#include "plugin/net/device.h"
#include "plugin/net/handle.h"
#include "plugin/net/listen_comm.h"
#include "plugin/net/random.h"
#include "plugin/net/recv_comm.h"
#include "plugin/net/request.h"
#include "plugin/net/send_comm.h"
#include "plugin/options.h"

namespace fanin::plugin::net {
namespace {

Result<const NetDevice*> device(int dev) {
  Result<std::span<const NetDevice>> all = net_devices();
  if (!all) return all.error();
  if (dev < 0 || static_cast<size_t>(dev) >= all->size())
    return Error(Errc::kInvalidArgument, "device " + std::to_string(dev) + " does not exist; there are " +
                                             std::to_string(all->size()));
  return &(*all)[static_cast<size_t>(dev)];
}

// One TCP flow fills about 10 Gbit/s without effort.
int data_sockets(const NetDevice& d) {
  if (options().net_sockets) return static_cast<int>(options().net_sockets);
  return d.speed_mbps <= 10000 ? 1 : d.speed_mbps <= 25000 ? 2 : 4;
}

// Held while the host forks, so that a child does not inherit the table half changed. Without a destructor.
constinit std::mutex g_attempts;

// Connects that are under way, by the number in their handle: a number, unlike a pointer, can be checked, and
// what NCCL abandons in the middle can be found and freed. Any thread.
class Attempts {
 public:
  Attempts() {
    (void)pthread_atfork([] { g_attempts.lock(); }, [] { g_attempts.unlock(); }, [] { g_attempts.unlock(); });
  }
  static Attempts& of_this_process() {
    static Lasting<Attempts> attempts([] { return Attempts(); });
    return *attempts;
  }
  // Null when unknown. The caller has it alone until it gives it back.
  std::unique_ptr<Connector> take(uint64_t number) {
    std::lock_guard lock(g_attempts);
    auto node = connectors_.extract(number);
    return node ? std::move(node.mapped()) : nullptr;
  }
  void put(uint64_t number, std::unique_ptr<Connector> c) {
    std::lock_guard lock(g_attempts);
    std::erase_if(connectors_, [](auto& e) { return e.second->abandoned(); });
    connectors_[number] = std::move(c);
  }

 private:
  std::map<uint64_t, std::unique_ptr<Connector>> connectors_;
};

// Host memory needs no registration; NCCL only wants to get something back.
char g_registration;

}  // namespace

Result<ListenComm*> listen(int dev, void* handle) {
  Result<const NetDevice*> d = device(dev);
  if (!d) return d.error();
  Result<std::optional<Secret>> secret = job_secret(options());
  if (!secret) return secret.error();
  const Options& o = options();
  // A sender connects once it has the handle and is called, so it is due before anything else of a job is.
  const std::chrono::milliseconds patience =
      o.timeout.count() == 0 ? o.timeout : std::max(o.timeout, o.connect_timeout);
  Result<std::unique_ptr<ListenComm>> l =
      ListenComm::open((*d)->address, o.connect_timeout, *secret, o.keepalive, o.ports, patience);
  if (!l) return l.error();
  Handle h;
  h.listener = (*l)->address();
  h.nonce = (*l)->nonce();
  if (*secret) h.key = (*secret)->id();
  h.write(handle);
  return l->release();
}

Result<SendComm*> connect(int dev, void* handle) {
  Result<Handle> h = Handle::read(handle);
  if (!h) return h.error();
  std::unique_ptr<Connector> c = h->attempt ? Attempts::of_this_process().take(h->attempt) : nullptr;
  if (!c) {
    Result<const NetDevice*> d = device(dev);
    if (!d) return d.error();
    Result<std::optional<Secret>> secret =
        shared_secret(options(), h->key, "the rank at " + h->listener.text());
    if (!secret) return secret.error();
    c = std::make_unique<Connector>(Connector::Plan{h->listener, (*d)->address, h->nonce, data_sockets(**d),
                                                    options().connect_timeout, *secret, options().keepalive});
    h->attempt = random_u64() | 1;
  }
  Result<std::unique_ptr<SendComm>> comm = c->progress();
  bool pending = comm && !*comm;
  uint64_t attempt = h->attempt;
  if (pending)
    Attempts::of_this_process().put(attempt, std::move(c));
  else
    h->attempt = 0;  // the handle may be connected to again
  h->write(handle);
  if (!comm) return comm.error();
  return comm->release();
}

Result<RecvComm*> accept(ListenComm* listener) {
  Result<std::unique_ptr<RecvComm>> comm = listener->accept();
  if (!comm) return comm.error();
  return comm->release();
}

Result<void*> register_memory(const void*, size_t, int ptr_type) {
  if (ptr_type != NCCL_PTR_HOST)
    return Error(Errc::kInvalidArgument, "only host memory can be registered (pointer type " +
                                             std::to_string(ptr_type) + " is not NCCL_PTR_HOST)");
  return static_cast<void*>(&g_registration);
}

Status deregister_memory(void* handle) {
  if (handle != &g_registration)
    return Error(Errc::kInvalidArgument, "this memory was never registered with fanin");
  return {};
}

Result<Request*> isend(SendComm* comm, const void* data, size_t bytes, int tag, const void*) {
  return comm->isend(data, bytes, tag);
}

Result<Request*> irecv(RecvComm* comm, int n, void* const* data, const size_t* sizes, const int* tags,
                       void* const*) {
  return comm->irecv(n, data, sizes, tags);
}

Result<Request*> iflush(RecvComm*, int, void* const*, const int*, void* const*) { return nullptr; }

Result<bool> test(Request* request, size_t* sizes) {
  if (!request) return Error(Errc::kInvalidArgument, "test of a null request");
  return request->test(sizes);
}

Status close_send(SendComm* comm) {
  std::unique_ptr<SendComm> owned(comm);
  return {};
}

Status close_recv(RecvComm* comm) {
  std::unique_ptr<RecvComm> owned(comm);
  return {};
}

Status close_listen(ListenComm* listener) {
  std::unique_ptr<ListenComm> owned(listener);
  return {};
}

}  // namespace fanin::plugin::net
