#include "plugin/abi/edge.h"

#include <chrono>
#include <exception>
#include <functional>
#include <new>
#include <string_view>

#include "plugin/log.h"

namespace fanin::plugin::abi {
namespace {

// Trivial, so that nothing of it keeps the library loaded.
struct Last {
  size_t hash;
  int64_t second;
};
constinit thread_local Last last{0, 0};

// True when this thread has just logged the same text.
bool said_before(std::string_view text) {
  const size_t hash = std::hash<std::string_view>()(text) | 1;
  const int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  const bool again = hash == last.hash && now - last.second <= 10;
  if (!again) last = {hash, now};
  return again;
}

}  // namespace

void make_room_for_this_thread() noexcept { *static_cast<volatile int64_t*>(&last.second) = last.second; }

ncclResult_t result_of(Errc code) {
  switch (code) {
    case Errc::kSystem:
      return ncclSystemError;
    case Errc::kInternal:
      return ncclInternalError;
    case Errc::kInvalidArgument:
      return ncclInvalidArgument;
    case Errc::kInvalidUsage:
      return ncclInvalidUsage;
    case Errc::kRemote:
      return ncclRemoteError;
  }
  return ncclInternalError;
}

ncclResult_t report(const Call& call, const Error& error) noexcept {
  if (!call.progress || !said_before(error.text())) log_error(call.name, error);
  return result_of(error.code());
}

ncclResult_t report_exception(const Call& call) noexcept {
  // Only text that exists already: the reason may be that memory ran out.
  ncclResult_t result = ncclInternalError;
  try {
    throw;  // cppcheck-suppress rethrowNoCurrentException ; called in catch handlers only
  } catch (const std::bad_alloc&) {
    result = ncclSystemError;
    if (!call.progress || !said_before(call.name)) FANIN_WARN("%s: out of memory", call.name);
  } catch (const std::exception& e) {
    if (!call.progress || !said_before(call.name)) FANIN_WARN("%s: internal error: %s", call.name, e.what());
  } catch (...) {
    if (!call.progress || !said_before(call.name))
      FANIN_WARN("%s: internal error: unknown exception", call.name);
  }
  return result;
}

}  // namespace fanin::plugin::abi
