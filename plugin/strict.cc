#include "plugin/strict.h"

#include <atomic>

#include "plugin/lasting.h"

namespace fanin::plugin {
namespace {

std::atomic<const Error*> g_reason = nullptr;

}  // namespace

void refuse_service(const Error& reason) {
  static Lasting<const Error> first([&] { return reason; });
  g_reason.store(&*first, std::memory_order_release);
}

Status service_refused() {
  const Error* reason = g_reason.load(std::memory_order_acquire);
  if (reason) [[unlikely]]
    return *reason;
  return {};
}

}  // namespace fanin::plugin
