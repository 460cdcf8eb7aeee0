#include "tests/nccl/device/event.h"

namespace cpudev {

void Event::record(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(mutex_);
  mark_.at = nullptr;
  if (timing_) {
    auto at = std::make_shared<Clock::time_point>();
    stream->push([at] { *at = Clock::now(); }, Stream::Where::kInlineIfIdle);
    mark_.at = at;
  }
  mark_.stream = stream;
  mark_.position = stream->pushed();
}

bool Event::reached() const {
  const Mark m = mark();
  return !m.stream || m.stream->reached(m.position);
}

void Event::wait() const {
  const Mark m = mark();
  if (m.stream) m.stream->wait_for(m.position);
}

void Event::hold_back(Stream* stream) const {
  const Mark m = mark();
  if (!m.stream || m.stream.get() == stream || m.stream->reached(m.position)) return;
  stream->push([m] { m.stream->wait_for(m.position); }, Stream::Where::kWorker);
}

std::optional<float> Event::milliseconds(const Event& from, const Event& to) {
  const Mark a = from.mark(), b = to.mark();
  if (!a.at || !b.at || !a.stream->reached(a.position) || !b.stream->reached(b.position)) return std::nullopt;
  return std::chrono::duration<float, std::milli>(*b.at - *a.at).count();
}

}  // namespace cpudev
