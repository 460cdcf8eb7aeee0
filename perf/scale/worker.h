// One rank of one rail: a communicator of the plugin's and its messages in flight. Used by one thread at a time.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "perf/common/plugin.h"

namespace fanin::perf {

class ScaleRank {
 public:
  ScaleRank(const ncclCollNet_v12_t& table, size_t rank) : table_(&table), rank_(rank) {}
  ScaleRank(ScaleRank&& o) noexcept;
  ScaleRank& operator=(ScaleRank&&) = delete;
  ~ScaleRank();

  // Writes this rank's handle (NCCL_NET_HANDLE_MAXSIZE bytes).
  Status listen(char* handle);
  // handles: all ranks', in rank order. Blocks until the session's verdict.
  Status connect(const std::vector<void*>& handles);
  // Messages in flight, each with a receive buffer of its own: results may pass through where others land.
  static constexpr size_t kInFlight = 8;
  // Registers both buffers, recv of kInFlight * bytes; they must outlive the rank.
  Status attach(void* send, void* recv, size_t bytes);

  // Posts and tests what can be, without waiting, until `messages` in all have been completed since start().
  void start(size_t messages) { wanted_ = messages, posted_ = done_ = 0; }
  Status progress(bool* moved);
  bool finished() const { return done_ == wanted_; }
  // The plugin took no more at the last try: the window is full.
  bool blocked() const { return blocked_; }

 private:
  const ncclCollNet_v12_t* table_;
  size_t rank_;
  void *context_ = nullptr, *listener_ = nullptr, *comm_ = nullptr;
  void* send_ = nullptr;
  std::byte* recv_ = nullptr;
  void *send_mhandle_ = nullptr, *recv_mhandle_ = nullptr;
  size_t bytes_ = 0;
  std::array<void*, kInFlight> requests_{};
  size_t wanted_ = 0, posted_ = 0, done_ = 0;
  bool blocked_ = false;
};

}  // namespace fanin::perf
