// A process ends, or lets the library go, while there is something of it: NCCL's own threads run on while exit() destroys
// static objects, and what the library has made once must still be there for them; dlclose leaves nothing of it.
#include <gtest/gtest.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "perf/common/plugin.h"
#include "perf/common/plugin_log.h"
#include "tests/support/heap.h"
#include "tests/support/program.h"

namespace {

std::atomic<bool> no_leak_check{false};

}  // namespace

// LeakSanitizer asks for it before it looks.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return no_leak_check; }

namespace fanin::test {
namespace {

perf::Plugin& never_closed() {
  static perf::Plugin& p = *new perf::Plugin(*perf::Plugin::open(built("lib/libnccl-net-fanin.so")));
  return p;
}

// What NCCL asks whenever it likes: devices, and a listener with its secret and a half-made connection.
bool works(const perf::Plugin& p) {
  int n = 0;
  ncclNetProperties_v12_t properties{};
  if (p.net().devices(&n) != ncclSuccess || n != 1 || p.net().getProperties(0, &properties) != ncclSuccess ||
      strcmp(properties.name, "lo") != 0)
    return false;
  char handle[NCCL_NET_HANDLE_MAXSIZE] = {};
  void *listener = nullptr, *sender = nullptr;
  ncclNetDeviceHandle_v12_t* device = nullptr;
  const bool good = p.net().listen(nullptr, 0, handle, &listener) == ncclSuccess &&
                    p.net().connect(nullptr, 0, handle, &sender, &device) == ncclSuccess;
  if (sender) p.net().closeSend(sender);
  return p.net().closeListen(listener) == ncclSuccess && good;
}

bool start(const perf::Plugin& p) {
  void* context = nullptr;
  ncclNetCommConfig_v12_t config{};
  return p.net().init(&context, 0, &config, perf::plugin_logger(), nullptr) == ncclSuccess && works(p);
}

// The exit status of a process that does this.
template <class Body>
int status_of(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
    setenv("FANIN_SECRET", "asecretforthetest", 1);
    perf::set_plugin_log(NCCL_LOG_NONE, "");
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Exit, TheLibraryStillWorksAfterItsStaticObjectsAreDestroyed) {
  EXPECT_EQ(status_of([] {
              // Registered before the library's, so run after them.
              atexit([] {
                if (!works(never_closed())) _exit(1);
              });
              if (!start(never_closed())) _exit(2);
              exit(0);
            }),
            0);
}

TEST(Exit, WhileThreadsUseTheLibrary) {
  EXPECT_EQ(status_of([] {
              // GCC 12's crashes over threads that run and have used the thread-local data of a library that was loaded late.
              no_leak_check = true;
              if (!start(never_closed())) _exit(2);
              static std::atomic<int> rounds{0};
              for (int i = 0; i < 2; ++i)
                std::thread([] {
                  for (; works(never_closed()); rounds.fetch_add(1)) {
                  }
                  _exit(1);
                }).detach();
              while (rounds.load() < 20) std::this_thread::yield();
              exit(0);
            }),
            0);
}

TEST(Exit, UnloadingLeavesNothing) {
  EXPECT_EQ(status_of([] {
              size_t before = 0;
              for (int i = 0; i < 60; ++i) {
                Result<perf::Plugin> p = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
                if (!p || !start(*p)) _exit(2);
                if (i == 9) before = heap();
              }
              const size_t after = heap();
              if (kHeapCounted && after > before + kHeapSlack) {
                fprintf(stderr, "%zu bytes became %zu\n", before, after);
                _exit(1);
              }
              exit(0);
            }),
            0);
}

}  // namespace
}  // namespace fanin::test
