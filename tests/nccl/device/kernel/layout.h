// Where each NCCL release puts what its kernels read, and readers that turn it into the structures of abi.h.
//
// Offsets are NCCL's, taken with offsetof from each release's own headers (src/include/device.h) and asserted by runs under each.
// Constant; any thread.
#pragma once
#include "tests/nccl/device/kernel/abi.h"

namespace cpudev {

struct Layout {
  int since;  // as ncclGetVersion says it
  struct {
    size_t consumed, dense_ranks, profiler;  // 0: has none
  } comm;
  struct {
    size_t bytes, ring_index, tree, counter;
  } channel;
  struct {
    size_t buffers, parts, argument, bytes;
  } coll;
  bool wide_registration;  // up to 2.23 how buffers are registered was a number
  bool mirrored_parts;     // up to 2.27 channels took the parts of a message in bit-reversed order

  abi::KernelComm read_comm(const void* comm) const;
  abi::Channel read_channel(const abi::KernelComm& comm, int channel) const;
  abi::WorkColl read_coll(const char* work) const;
  size_t work_bytes(unsigned type) const;
};
// The most that work_bytes() answers.
inline constexpr size_t kMaxWorkBytes = 320;

// Null where the work of kernels is not known: before 2.22, whose kernels take other work, and from 2.31 on, whose source was
// not published when this was written.
const Layout* layout_of(int nccl_version);

// Of the NCCL in this process.
int nccl_version();
const Layout* layout();

}  // namespace cpudev
