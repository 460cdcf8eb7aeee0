// One thread block of a kernel launch: works through one channel's batches of work. Driven by poking, never
// blocks. One thread; NCCL's proxies run concurrently behind the links.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/nccl/device/kernel/layout.h"
#include "tests/nccl/device/kernel/work.h"

namespace cpudev {

class ChannelRun {
 public:
  // All of these live as long as this; arguments: the launch's argument buffer. Starts with batch first_batch.
  ChannelRun(const Layout& layout, const abi::KernelComm& comm, const char* arguments, int channel,
             int first_batch);
  bool finished() const { return done_; }
  bool poke();  // true if something moved

 private:
  struct alignas(16) Slot {
    char bytes[kMaxWorkBytes];
    const abi::WorkP2p& p2p() const { return *reinterpret_cast<const abi::WorkP2p*>(bytes); }
  };
  void load();  // the works of the batch at batch_ and of those that extend it
  void copy_work(uint32_t at, size_t size, Slot* to) const;
  void start();  // makes the groups of works_[work_]
  void start_collective(const abi::WorkColl& args);
  void stamp(bool begin);  // tells NCCL's profiler

  const char* arguments_;
  const abi::KernelArgs* header_;
  const int channel_;
  int batch_, next_ = -1;
  const Layout& layout_;
  const abi::KernelComm& comm_;
  const abi::Channel state_;
  unsigned type_ = 0;
  unsigned function_ = 0;
  size_t work_ = 0;
  std::vector<Slot> works_;
  Groups groups_;
  bool done_ = false;
};

}  // namespace cpudev
