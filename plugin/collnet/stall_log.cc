#include "plugin/collnet/stall_log.h"

#include <algorithm>
#include <utility>

#include "plugin/log.h"

namespace fanin::plugin::collnet {
namespace {

long long seconds(StallLog::Duration d) {
  return std::chrono::duration_cast<std::chrono::seconds>(d).count();
}

// A reducer that works names a rank at about the same moment: its word is worth waiting for a little.
StallLog::Duration grace(StallLog::Duration due) {
  return std::min<StallLog::Duration>(due / 4, std::chrono::seconds(2));
}

}  // namespace

std::string awaited_text(const std::string& lane, const std::string& awaited) {
  if (awaited.empty())
    return lane + ", which says nothing (is its process stopped, its host or the network down?)";
  const size_t message = awaited.rfind(" in message ");
  if (message == std::string::npos) return awaited + " on " + lane;
  return awaited.substr(0, message) + " on " + lane + "," + awaited.substr(message);
}

StallLog::StallLog(std::string who, std::chrono::milliseconds first, std::chrono::milliseconds timeout)
    : who_(std::move(who)),
      first_(first.count() == 0 ? Duration::max() : Duration(first)),
      warn_at_(timeout.count() == 0 ? Duration::max() : Duration(timeout) * 3 / 4),
      next_(first_) {}

void StallLog::waiting(Duration waited, const std::string& lane, const std::string& awaited) {
  bool warn = false;
  {
    std::lock_guard lock(mutex_);
    if (first_ == Duration::max()) return;
    warn = waited >= warn_at_ && waited >= first_ && !warned_;
    if (!warn && (waited < next_ || (awaited.empty() && waited < next_ + grace(next_)))) return;
    while (next_ <= waited) next_ *= 2;
    told_ = true;
    warned_ |= warn;
  }
  const std::string text = awaited_text(lane, awaited);
  if (warn) {
    FANIN_WARN("%s has been waiting %lld s for %s; FANIN_TIMEOUT_MS (%lld s) ends the session", who_.c_str(),
               seconds(waited), text.c_str(), seconds(warn_at_ * 4 / 3));
  } else {
    FANIN_INFO(NCCL_NET, "%s has been waiting %lld s for %s", who_.c_str(), seconds(waited), text.c_str());
  }
}

void StallLog::went_on(Duration waited) {
  {
    std::lock_guard lock(mutex_);
    next_ = first_;
    warned_ = false;
    if (!std::exchange(told_, false)) return;
  }
  FANIN_INFO(NCCL_NET, "%s goes on after waiting %lld s", who_.c_str(), seconds(waited));
}

}  // namespace fanin::plugin::collnet
