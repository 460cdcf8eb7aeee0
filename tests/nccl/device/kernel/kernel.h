// Kernels as the CUDA API hands them around, and what a launch of one does.
#pragma once
#include <vector>

namespace cpudev {

struct Kernel {
  const char* name;
};

// By the address of its host stub in libnccl; the same object each time, never freed. Any thread.
const Kernel* kernel_of(const void* host_stub);

// Runs an ncclDevKernel_* launch of `grid` blocks to its end, or until the communicator is aborted. Blocks
// the calling thread (a stream's worker), driving all channels from it.
void run_kernel(const Kernel& kernel, const std::vector<char>& arguments, int grid);

}  // namespace cpudev
