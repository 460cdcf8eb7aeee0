#include "plugin/strict.h"

#include <atomic>
#include <memory>

namespace fanin::plugin {
namespace {

std::atomic<const Error*> g_reason = nullptr;

// Frees it when the library is unloaded.
struct Owner {
  ~Owner() { delete g_reason.exchange(nullptr); }
} g_owner;

}  // namespace

void refuse_service(const Error& reason) {
  auto mine = std::make_unique<Error>(reason);
  const Error* none = nullptr;
  if (g_reason.compare_exchange_strong(none, mine.get())) mine.release();
}

Status service_refused() {
  const Error* reason = g_reason.load(std::memory_order_acquire);
  if (reason) [[unlikely]]
    return *reason;
  return {};
}

}  // namespace fanin::plugin
