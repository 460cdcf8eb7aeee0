// Runs when libcpudev.so is mapped: overwrites the CUDA runtime inside libnccl with jumps to this library's
// functions of the same names. This library depends on libnccl, so that one is mapped and constructed first.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/nccl/device/hook/polite.h"
#include "tests/nccl/device/hook/thunk.h"
#include "tests/nccl/device/kernel/layout.h"
#include "tests/nccl/device/settings.h"
#include "tests/nccl/device/symbols.h"

namespace cpudev {
namespace {

// Only the public runtime API: cuda + capital letter. The registration functions (__cudaRegister*) stay: they
// only record what nvcc emitted.
bool is_runtime_function(const Symbol& s) {
  return s.is_function && s.size >= kEntryBytes && s.name.starts_with("cuda") && s.name.size() > 4 &&
         s.name[4] >= 'A' && s.name[4] <= 'Z' && s.name.find('.') == std::string::npos;
}

void patch(const SymbolTable& table) {
  Dl_info self;
  if (!dladdr(reinterpret_cast<void*>(&patch), &self)) return;
  void* me = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  int provided = 0, missing = 0;
  for (const Symbol& s : table.all()) {
    if (!is_runtime_function(s)) continue;
    void* mine = me ? dlsym(me, s.name.c_str()) : nullptr;
    Dl_info where;
    if (mine && dladdr(mine, &where) && where.dli_fbase != self.dli_fbase)
      mine = nullptr;  // the program's own libcudart
    overwrite_entry(s.address, mine ? counting_thunk(s.name.c_str(), mine) : missing_thunk(s.name.c_str()));
    ++(mine ? provided : missing);
  }
  if (verbose()) logf("patched %d runtime functions, %d answer 'not supported'", provided, missing);
}

__attribute__((constructor)) void start() {
  const SymbolTable* table = nccl_symbols();
  if (!table) {
    logf("libnccl.so.2 not found or stripped; nothing patched");
    return;
  }
  patch(*table);
  install_polite_waits();
  // The kernel reads structures whose layout changes between NCCL releases.
  if (!layout())
    logf("NCCL %d is not one of 2.22 to 2.30: communicators can be made, collectives not run",
         nccl_version());
  setenv("NCCL_PROTO", "^LL128", 0);  // the one protocol that is not written
}

__attribute__((destructor)) void stop() {
  const char* path = getenv("CPUDEV_COUNTS");
  if (path && *path) write_counts((std::string(path) + "." + std::to_string(getpid())).c_str());
}

}  // namespace
}  // namespace cpudev
