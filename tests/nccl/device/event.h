// A mark in a stream: reached when everything pushed before record() has finished. One record() at a time
// wins; any thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "tests/nccl/device/stream.h"

namespace cpudev {

class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}
  void record(const std::shared_ptr<Stream>& stream);
  bool reached() const;  // an event never recorded counts as reached
  void wait() const;
  // Later operations of this stream run after the event.
  void hold_back(Stream* stream) const;
  // Nothing when either was made without timing, or is not recorded or reached yet.
  static std::optional<float> milliseconds(const Event& from, const Event& to);

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark {
    std::shared_ptr<Stream> stream;
    uint64_t position = 0;
    std::shared_ptr<Clock::time_point> at;  // written by the stream's operation
  };
  Mark mark() const {
    std::lock_guard lock(mutex_);
    return mark_;
  }

  const bool timing_;
  mutable std::mutex mutex_;
  Mark mark_;
};

}  // namespace cpudev
