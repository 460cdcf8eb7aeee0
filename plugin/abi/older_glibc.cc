#include "plugin/abi/older_glibc.h"

#include <elf.h>
#include <link.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 36)
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  for (;;) {
    if (getrandom(&value, sizeof value, 0) == sizeof value) return value;
    if (errno != EINTR) abort();  // as glibc's does: there is no such thing as a weak random number
  }
}
#endif

#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace fanin::plugin::abi {
namespace {

struct Search {
  uintptr_t pc;
  dl_find_object* found;
};

int visit(dl_phdr_info* info, size_t, void* opaque) {
  const Search& search = *static_cast<Search*>(opaque);
  uintptr_t start = UINTPTR_MAX, end = 0;
  void* unwind_table = nullptr;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t at = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      start = std::min(start, at);
      end = std::max(end, at + segment.p_memsz);
      inside = inside || (search.pc >= at && search.pc < at + segment.p_memsz);
    } else if (segment.p_type == DLFO_EH_SEGMENT_TYPE) {
      unwind_table = reinterpret_cast<void*>(at);
    }
  }
  if (!inside) return 0;
  if (!unwind_table) return -1;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(start);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = unwind_table;
  return 1;
}

}  // namespace

int find_object(const void* pc, dl_find_object* found) {
  Search search{reinterpret_cast<uintptr_t>(pc), found};
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}

}  // namespace fanin::plugin::abi

extern "C" int _dl_find_object(void* pc, dl_find_object* found) noexcept {
  return fanin::plugin::abi::find_object(pc, found);
}
#endif
