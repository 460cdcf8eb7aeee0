#include "plugin/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>

namespace fanin::plugin {
namespace {

// Without destructors: a process may exit while communicators are open.
constinit std::mutex g_mutex;
constinit ForkGuard* g_first = nullptr;
constinit std::once_flag g_once;

}  // namespace

ForkGuard::ForkGuard(int fd) : fd_(fd) {
  // Forgotten by the C library when this library is unloaded. Without memory for it children keep the descriptors, as they
  // would without this class.
  std::call_once(g_once,
                 [] { (void)pthread_atfork([] { g_mutex.lock(); }, [] { g_mutex.unlock(); }, in_child); });
  std::lock_guard lock(g_mutex);
  next_ = g_first;
  at_ = &g_first;
  if (next_) next_->at_ = &next_;
  g_first = this;
}

ForkGuard::~ForkGuard() {
  std::lock_guard lock(g_mutex);
  *at_ = next_;
  if (next_) next_->at_ = at_;
}

// Of the parent's threads only the forking one exists here: system calls only.
void ForkGuard::in_child() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const ForkGuard* g = g_first; g; g = g->next_) {
    if (null >= 0)
      ::dup3(null, g->fd_, O_CLOEXEC);
    else
      ::close(g->fd_);
  }
  if (null >= 0) ::close(null);
  g_mutex.unlock();
}

}  // namespace fanin::plugin
