// The plugin library as NCCL loads it: dlopen(RTLD_NOW | RTLD_LOCAL) and its newest tables.
//
// Move-only owner of the dlopen handle; the tables are valid while it lives. init/finalize of the tables are
// the caller's (see coll_comm.h, net_ring.h). Any thread.
#pragma once
#include <string>

#include "fanin/error.h"
#include "nccl/collnet_v12.h"
#include "nccl/net_v12.h"

namespace fanin::perf {

class Plugin {
 public:
  // Errors (kInvalidUsage) name the file and what the loader said.
  static Result<Plugin> open(const std::string& path);
  Plugin(Plugin&& o) noexcept;
  Plugin& operator=(Plugin&& o) noexcept;
  ~Plugin();
  const ncclNet_v12_t& net() const { return *net_; }
  const ncclCollNet_v12_t& collnet() const { return *collnet_; }

 private:
  Plugin() = default;
  void* handle_ = nullptr;
  const ncclNet_v12_t* net_ = nullptr;
  const ncclCollNet_v12_t* collnet_ = nullptr;
};

// The failure of one call of a table: "iallreduce: ncclRemoteError", and the last warning the plugin logged.
Error call_failed(const char* call, ncclResult_t result, Where where = Where::here());
const char* result_name(ncclResult_t result);

}  // namespace fanin::perf
