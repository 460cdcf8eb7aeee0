// The first error of a session, kept for good. Any thread.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>

#include "fanin/error.h"
#include "fanin/wire.h"

namespace fanin::plugin::collnet {

class Failure {
 public:
  // True for the first caller, who logs it and tells the others.
  bool set(Error error, wire::AbortCode code) {
    std::lock_guard lock(mutex_);
    if (error_) return false;
    error_ = std::move(error);
    code_ = code;
    is_set_.store(true, std::memory_order_release);
    return true;
  }
  bool is_set() const { return is_set_.load(std::memory_order_acquire); }
  // Once is_set(): never changes any more.
  const Error& error() const { return *error_; }
  wire::AbortCode code() const { return code_; }

 private:
  std::atomic<bool> is_set_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
  wire::AbortCode code_{};
};

}  // namespace fanin::plugin::collnet
