// One communicator on the pool: requests, lanes and I/O threads, after the ranks agreed to use reducers.
//
// Threads as in collnet.h: post and test on one progress thread, everything else on service threads,
// slice_done and fail on I/O threads. post is O(lanes): no allocation, no lock, no blocking; a message small
// enough to go at once on idle lanes is sent from the caller's thread, anything else by the I/O threads. A
// message gets its number only when accepted. An error is given out only once no I/O thread is left, so that the
// caller may free its buffers then.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "plugin/collnet/comm_stats.h"
#include "plugin/collnet/failure.h"
#include "plugin/collnet/io_thread.h"
#include "plugin/collnet/lane.h"
#include "plugin/collnet/memory.h"
#include "plugin/collnet/plan.h"
#include "plugin/collnet/request.h"
#include "plugin/collnet/stall_log.h"
#include "plugin/collnet/time_histogram.h"

namespace fanin::plugin::collnet {

struct CommConfig {
  uint32_t rank = 0, nranks = 1;
  uint64_t window = 16 << 20;  // bytes outstanding; a single larger message is let through alone
  uint64_t min_slice = 6 << 10;
  unsigned io_threads = 1;
  IoTuning tuning;
  std::string session;     // its name in logs
  std::string stats_file;  // FANIN_STATS_FILE
};

class Comm final : public IoOwner {
 public:
  // Largest message sent from the caller's own thread.
  static constexpr uint64_t kInlineBytes = 64 << 10;
  static constexpr size_t kMaxIoThreads = 64;  // bits of a word

  // connections: in plan order, at least one, with their weights, equal on all ranks.
  // Never fails: the other ranks use reducers by now, and NCCL would go on without them on this rank alone if
  // connect returned an error. Without a thread or a descriptor the communicator is born failed: every call
  // returns why, and all ranks learn.
  static std::unique_ptr<Comm> start(const CommConfig& config, std::vector<LaneConnection> connections,
                                     std::vector<uint32_t> weights);
  // Prompt: says goodbye, or why not, on every lane.
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // op without its message number. Null: window or requests are exhausted, call again.
  Result<Request*> post(const Op& op);
  Result<bool> test(Request* request, size_t* bytes);

  uint32_t rank() const { return config_.rank; }
  uint32_t nranks() const { return config_.nranks; }
  size_t lanes() const { return lanes_.size(); }
  size_t io_threads() const { return threads_.size(); }
  Result<void*> register_memory(const void* data, size_t bytes, int ptr_type) {
    return memory_.add(data, bytes, ptr_type);
  }
  // Afterwards the region is not touched any more: NCCL frees it before it closes the communicator. Where messages in it
  // are in flight, which is so only when the application aborted, the session ends here.
  Status deregister_memory(void* handle);

  void slice_done(Request* request, Lane* lane) override;
  void fail(Error error, wire::AbortCode code) override;
  const Failure& failure() const override { return failure_; }
  size_t lane_count() const override { return lanes_.size(); }
  void waiting(const Lane& lane, std::chrono::steady_clock::duration waited) override {
    stall_log_.waiting(waited, lane.name(), lane.awaited);
  }
  void went_on(std::chrono::steady_clock::duration waited) override { stall_log_.went_on(waited); }
  void io_ended() override { io_running_.fetch_sub(1, std::memory_order_release); }

 private:
  explicit Comm(const CommConfig& config, std::vector<uint32_t> weights);
  Status start_io();
  // The session failed and no I/O thread is left.
  bool over() const { return failure_.is_set() && io_running_.load(std::memory_order_acquire) == 0; }
  void stop_io();
  CommStats stats() const;  // no I/O thread is left

  const CommConfig config_;
  const Plan plan_;
  MemoryRegistry memory_;
  Failure failure_;
  StallLog stall_log_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<IoThread>> threads_;  // lane i is served by thread i % size
  std::atomic<size_t> io_running_{0};
  std::mutex stop_mutex_;  // stop_io: deregistration and close may come from different threads

  std::unique_ptr<Request[]> requests_;
  std::vector<Request*> free_;  // progress thread
  uint64_t next_message_ = 0;   // progress thread
  uint64_t messages_ = 0;       // progress thread; without those that measured
  uint64_t bytes_posted_ = 0;   // progress thread
  TimeHistogram times_;         // progress thread
  const std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
  std::atomic<uint64_t> bytes_done_{0};
  alignas(64) std::atomic<uint64_t> outstanding_{0};  // bytes accepted and not yet complete
};

}  // namespace fanin::plugin::collnet
