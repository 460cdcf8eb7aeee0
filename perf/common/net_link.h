// One directed ring link of point-to-point connections: a send comm to the next rank and a receive comm from
// the previous one, made through the C ABI in the order NCCL uses (connect and accept polled until ready).
//
// Move-only; the destructor closes what close() has not. Threads as coll_comm.h.
#pragma once
#include <vector>

#include "fanin/error.h"
#include "perf/common/group.h"
#include "perf/common/plugin.h"

namespace fanin::perf {

class NetLink {
 public:
  // init and finalize of the table are the caller's (once per process and communicator, see NetContext).
  // Collective.
  static Result<NetLink> make(const Plugin& plugin, void* context, Group& group,
                              std::chrono::milliseconds patience, int dev = 0);
  NetLink(NetLink&& o) noexcept;
  NetLink& operator=(NetLink&&) = delete;
  ~NetLink() { (void)close(); }

  const ncclNet_v12_t& table() const { return *table_; }
  void* send_comm() const { return send_; }
  void* recv_comm() const { return recv_; }

  // regMr of host memory with the send or the receive comm; close() deregisters.
  Result<void*> register_send(void* data, size_t bytes) { return add(send_, data, bytes); }
  Result<void*> register_recv(void* data, size_t bytes) { return add(recv_, data, bytes); }
  Status close();

 private:
  explicit NetLink(const ncclNet_v12_t* table) : table_(table) {}
  Result<void*> add(void* comm, void* data, size_t bytes);
  struct Registration {
    void* comm;
    void* mhandle;
  };
  const ncclNet_v12_t* table_;
  void* send_ = nullptr;
  void* recv_ = nullptr;
  std::vector<Registration> registrations_;
};

// init … finalize of the point-to-point table. Move-only.
class NetContext {
 public:
  static Result<NetContext> make(const Plugin& plugin);
  NetContext(NetContext&& o) noexcept
      : table_(std::exchange(o.table_, nullptr)), context_(std::exchange(o.context_, nullptr)) {}
  NetContext& operator=(NetContext&&) = delete;
  ~NetContext() {
    if (table_) (void)table_->finalize(context_);
  }
  void* get() const { return context_; }

 private:
  NetContext() = default;
  const ncclNet_v12_t* table_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace fanin::perf
