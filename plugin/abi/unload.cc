// What this library's own copy of the C++ runtime leaves behind when it is unloaded: the memory it keeps for exceptions
// when there is no other, 72 KiB. A process that loads and unloads plugins would lose them each time.
#include <dlfcn.h>

#include "plugin/lasting.h"

namespace __gnu_cxx {
[[gnu::weak]] void __freeres();  // libstdc++'s, made for leak checkers; other C++ libraries have none
}

namespace fanin::plugin::abi {
namespace {

void* base_of(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// After the destructors of static objects. Only where the runtime is part of this library: a shared one is the host's.
[[gnu::destructor(101)]] void free_runtime() {
  if (!unloading()) return;
  auto* const free_all = &__gnu_cxx::__freeres;
  if (free_all &&
      base_of(reinterpret_cast<void*>(free_all)) == base_of(reinterpret_cast<void*>(&free_runtime)))
    free_all();
}

}  // namespace
}  // namespace fanin::plugin::abi
