#include "tests/nccl/device/kernel/kernel.h"

#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "tests/nccl/device/kernel/channel_run.h"
#include "tests/nccl/device/settings.h"
#include "tests/nccl/device/symbols.h"

namespace cpudev {

const Kernel* kernel_of(const void* host_stub) {
  static std::mutex mutex;
  static auto* kernels = new std::map<const void*, Kernel>;
  std::lock_guard lock(mutex);
  auto it = kernels->find(host_stub);
  if (it == kernels->end()) {
    const SymbolTable* table = nccl_symbols();
    const Symbol* s = table ? table->at(reinterpret_cast<uintptr_t>(host_stub)) : nullptr;
    it = kernels->emplace(host_stub, Kernel{s ? s->name.c_str() : "unknown kernel"}).first;
  }
  return &it->second;
}

void run_kernel(const Kernel& kernel, const std::vector<char>& arguments, int grid) {
  if (!strstr(kernel.name, "ncclDevKernel_")) {
    logf("kernel %s is not implemented", kernel.name);
    return;
  }
  const auto* header = reinterpret_cast<const abi::KernelArgs*>(arguments.data());
  const Layout* how = layout();
  if (!how) {
    logf("kernel %s: the work of NCCL %d is not known to this device", kernel.name, nccl_version());
    return;
  }
  const abi::KernelComm comm = how->read_comm(header->comm);
  // Block b runs the b-th channel of the mask and starts with batch b.
  std::vector<std::unique_ptr<ChannelRun>> runs;
  for (int c = 0; c < abi::kMaxChannels && static_cast<int>(runs.size()) < grid; c++)
    if (header->channel_mask >> c & 1)
      runs.push_back(
          std::make_unique<ChannelRun>(*how, comm, arguments.data(), c, static_cast<int>(runs.size())));
  for (int idle = 0;;) {
    bool moved = false, all = true;
    for (auto& r : runs) {
      moved |= r->poke();
      all &= r->finished();
    }
    if (all) return;
    if (moved) {
      idle = 0;
      continue;
    }
    if (*comm.abort_flag) {
      if (verbose()) logf("kernel aborted");
      return;
    }
    // Many ranks share few cores: give way, then sleep.
    if (++idle < 200)
      sched_yield();
    else
      usleep(idle < 2000 ? 20 : 200);
  }
}

}  // namespace cpudev
