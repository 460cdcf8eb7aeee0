// One rank's collnet communicator, made and ended through the C ABI in the order NCCL uses.
//
// Move-only; the destructor closes what close() has not. Calls of the table other than the ones here are made
// through table() and comm(). One thread at a time, except that the progress thread may call iallreduce …
// test meanwhile, as in NCCL.
#pragma once
#include <vector>

#include "fanin/error.h"
#include "perf/common/group.h"
#include "perf/common/plugin.h"

namespace fanin::perf {

class CollComm {
 public:
  // init, listen, exchange of handles, connect, closeListen; collective over the group. An error of one
  // rank's calls is an error on every rank (the others get kRemote naming it).
  static Result<CollComm> make(const Plugin& plugin, Group& group, int dev = 0);
  CollComm(CollComm&& o) noexcept;
  CollComm& operator=(CollComm&&) = delete;
  ~CollComm() { (void)close(); }

  const ncclCollNet_v12_t& table() const { return *table_; }
  // Null: the plugin decided against using reducers, as it may; its log says why.
  void* comm() const { return comm_; }

  // regMr of host memory; close() deregisters.
  Result<void*> register_memory(void* data, size_t bytes);
  // deregMr, closeColl, finalize. The first failure is reported, the rest still done.
  Status close();

 private:
  explicit CollComm(const ncclCollNet_v12_t* table) : table_(table) {}
  const ncclCollNet_v12_t* table_;
  void* context_ = nullptr;
  void* comm_ = nullptr;
  bool initialized_ = false;
  std::vector<void*> mhandles_;
};

}  // namespace fanin::perf
