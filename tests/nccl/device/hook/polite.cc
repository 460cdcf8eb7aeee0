#include "tests/nccl/device/hook/polite.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace cpudev {
namespace {

constexpr int kSpin = 8, kYieldSpin = 64;  // idle rounds before the first nap
thread_local int t_idle = 0;

void nap() {
  static thread_local bool slack_set = false;
  if (!slack_set) {
    prctl(PR_SET_TIMERSLACK, 1000);
    slack_set = true;
  }
  const int saved = errno;
  const timespec t{0, t_idle < 32 ? 20000 : t_idle < 200 ? 100000 : 500000};
  nanosleep(&t, nullptr);
  errno = saved;
}

ssize_t polite_recv(int fd, void* p, size_t n, int flags) {
  const ssize_t r = ::recv(fd, p, n, flags);
  if (r > 0)
    t_idle = 0;
  else if (r < 0 && errno == EAGAIN && ++t_idle > kSpin)
    nap();
  return r;
}
int polite_poll(pollfd* f, nfds_t n, int timeout) {
  const int r = ::poll(f, n, timeout);
  if (r > 0)
    t_idle = 0;
  else if (r == 0 && timeout == 0 && ++t_idle > kSpin)
    nap();
  return r;
}
int polite_yield() {
  static thread_local int yields = 0;
  if (++yields % kYieldSpin == 0) nap();
  return ::sched_yield();
}

struct Hook {
  const char* name;
  void* function;
};

}  // namespace

void install_polite_waits() {
  if (getenv("CPUDEV_IMPOLITE")) return;
  const Hook hooks[] = {{"recv", reinterpret_cast<void*>(&polite_recv)},
                        {"poll", reinterpret_cast<void*>(&polite_poll)},
                        {"sched_yield", reinterpret_cast<void*>(&polite_yield)}};
  void* nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (!nccl || dlinfo(nccl, RTLD_DI_LINKMAP, &map) != 0 || !map) return;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* slots = nullptr;
  size_t bytes = 0;
  for (const Elf64_Dyn* d = map->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const Elf64_Sym*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_JMPREL) slots = reinterpret_cast<const Elf64_Rela*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
  }
  if (!symbols || !names || !slots) return;
  for (size_t i = 0; i < bytes / sizeof *slots; i++) {
    const char* name = names + symbols[ELF64_R_SYM(slots[i].r_info)].st_name;
    for (const Hook& h : hooks) {
      if (strcmp(name, h.name) != 0) continue;
      const uintptr_t slot = map->l_addr + slots[i].r_offset;
      mprotect(reinterpret_cast<void*>(slot & ~uintptr_t{4095}), 4096, PROT_READ | PROT_WRITE);
      *reinterpret_cast<void**>(slot) = h.function;
    }
  }
}

}  // namespace cpudev
