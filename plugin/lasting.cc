#include "plugin/lasting.h"

#include <atomic>

namespace fanin::plugin {
namespace {

constinit std::atomic<Kept*> g_kept{nullptr};
constinit bool g_exiting = false, g_unloading = false;

// Objects of static storage are destroyed first of all by exit(), before any library's destructor functions; by dlclose
// after those that have no priority. So in unload() this tells one from the other.
struct Exit {
  ~Exit() { g_exiting = true; }
} const g_exit;

}  // namespace

void Kept::keep() {
  next_ = g_kept.load(std::memory_order_relaxed);
  while (!g_kept.compare_exchange_weak(next_, this, std::memory_order_acq_rel)) {
  }
}

[[gnu::destructor]] void unload() {
  if (g_exiting) return;
  g_unloading = true;
  for (Kept* k = g_kept.exchange(nullptr, std::memory_order_acquire); k;) {
    Kept* const next = k->next_;
    k->destroy_(*k);
    k = next;
  }
}

bool unloading() { return g_unloading; }

}  // namespace fanin::plugin
