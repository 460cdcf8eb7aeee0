#include "tests/nccl/device/hook/thunk.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>

#include "tests/nccl/device/settings.h"

namespace cpudev {
namespace {

struct Counter {
  uint64_t hits;
  std::string name;
  bool missing;
};

// Counters have stable addresses: code points to them. Never destroyed: the last calls come from destructors.
struct Thunks {
  std::mutex mutex;
  std::deque<Counter> counters;
  unsigned char* code = nullptr;
  size_t used = 0, size = 0;

  unsigned char* space(size_t n) {
    if (used + n > size) {
      size = 1 << 20;
      used = 0;
      void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      code = static_cast<unsigned char*>(p);
    }
    unsigned char* p = code + used;
    used += (n + 15) & ~size_t{15};
    return p;
  }
};
Thunks& thunks() {
  static Thunks* t = new Thunks;
  return *t;
}

int not_provided(const char* name) {
  logf("CUDA function not provided by the CPU device: %s", name);
  return 801;  // cudaErrorNotSupported
}

// Writes instructions one after the other.
class Assembler {
 public:
  explicit Assembler(unsigned char* at) : at_(at) {}
  void load_r11(const void* v) { bytes({0x49, 0xbb}).immediate(v); }
  void load_rdi(const void* v) { bytes({0x48, 0xbf}).immediate(v); }
  void locked_increment_at_r11() { bytes({0xf0, 0x49, 0xff, 0x03}); }
  void jump_r11() { bytes({0x41, 0xff, 0xe3}); }

 private:
  Assembler& bytes(std::initializer_list<unsigned char> list) {
    for (unsigned char b : list) *at_++ = b;
    return *this;
  }
  void immediate(const void* v) {
    memcpy(at_, &v, 8);
    at_ += 8;
  }
  unsigned char* at_;
};

}  // namespace

// Only r11 is touched: the caller's arguments pass through.
void* counting_thunk(const char* name, void* target) {
  std::lock_guard lock(thunks().mutex);
  Counter& c = thunks().counters.emplace_back(Counter{0, name, false});
  unsigned char* start = thunks().space(32);
  Assembler code(start);
  code.load_r11(&c.hits);
  code.locked_increment_at_r11();
  code.load_r11(target);
  code.jump_r11();
  return start;
}

void* missing_thunk(const char* name) {
  std::lock_guard lock(thunks().mutex);
  Counter& c = thunks().counters.emplace_back(Counter{0, name, true});
  unsigned char* start = thunks().space(48);
  Assembler code(start);
  code.load_r11(&c.hits);
  code.locked_increment_at_r11();
  code.load_rdi(c.name.c_str());
  code.load_r11(reinterpret_cast<const void*>(&not_provided));
  code.jump_r11();
  return start;
}

void overwrite_entry(uintptr_t address, const void* target) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t low = address & ~(page - 1), high = (address + kEntryBytes + page - 1) & ~(page - 1);
  mprotect(reinterpret_cast<void*>(low), high - low, PROT_READ | PROT_WRITE | PROT_EXEC);
  Assembler code(reinterpret_cast<unsigned char*>(address));
  code.load_r11(target);
  code.jump_r11();
  mprotect(reinterpret_cast<void*>(low), high - low, PROT_READ | PROT_EXEC);
}

void write_counts(const char* path) {
  FILE* f = fopen(path, "w");
  if (!f) return;
  std::lock_guard lock(thunks().mutex);
  for (const Counter& c : thunks().counters)
    if (c.hits)
      fprintf(f, "%10llu %s%s\n", static_cast<unsigned long long>(c.hits), c.name.c_str(),
              c.missing ? " (missing)" : "");
  fclose(f);
}

}  // namespace cpudev
