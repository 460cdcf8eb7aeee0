#include "tests/nccl/device/stream.h"

#include <thread>
#include <unordered_map>

#include "tests/nccl/device/settings.h"

namespace cpudev {

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // An operation may be running inline on a caller's thread: wait until it is this one's turn.
    changed_.wait(lock, [&] {
      return (!queue_.empty() && done_ + 1 == queue_.front().position) || (closing_ && queue_.empty());
    });
    if (queue_.empty()) return;
    auto operation = std::move(queue_.front().operation);
    queue_.pop_front();
    lock.unlock();
    operation();
    operation = nullptr;  // what it holds may take locks when it goes
    lock.lock();
    done_++;
    changed_.notify_all();
  }
}

void Stream::push(std::function<void()> operation, Where where) {
  std::unique_lock lock(mutex_);
  const uint64_t position = ++pushed_;
  if (where == Where::kInlineIfIdle && done_ + 1 == position) {
    lock.unlock();
    operation();
    lock.lock();
    done_++;
    changed_.notify_all();
    return;
  }
  queue_.push_back({position, std::move(operation)});
  if (!has_worker_) {
    has_worker_ = true;
    std::thread([self = shared_from_this()] { self->work(); }).detach();
  }
  changed_.notify_all();
}

uint64_t Stream::pushed() {
  std::lock_guard lock(mutex_);
  return pushed_;
}

bool Stream::reached(uint64_t position) {
  std::lock_guard lock(mutex_);
  return done_ >= position;
}

void Stream::wait_for(uint64_t position) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= position; });
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

namespace {

// Never destroyed: worker threads and NCCL's destructors use it until the process ends.
struct Streams {
  std::mutex mutex;
  std::unordered_map<void*, std::shared_ptr<Stream>> made;
  std::unordered_map<int, std::shared_ptr<Stream>> defaults;  // by device
};
Streams& streams() {
  static Streams* s = new Streams;
  return *s;
}

}  // namespace

std::shared_ptr<Stream> stream_of(void* handle) {
  std::lock_guard lock(streams().mutex);
  if (reinterpret_cast<uintptr_t>(handle) <= 2) {
    auto& s = streams().defaults[current_device()];
    if (!s) s = std::make_shared<Stream>(current_device());
    return s;
  }
  auto it = streams().made.find(handle);
  return it == streams().made.end() ? nullptr : it->second;
}

void* register_stream(std::shared_ptr<Stream> stream) {
  void* handle = stream.get();
  std::lock_guard lock(streams().mutex);
  streams().made[handle] = std::move(stream);
  return handle;
}

std::shared_ptr<Stream> unregister_stream(void* handle) {
  std::lock_guard lock(streams().mutex);
  auto it = streams().made.find(handle);
  if (it == streams().made.end()) return nullptr;
  auto stream = std::move(it->second);
  streams().made.erase(it);
  return stream;
}

std::vector<std::shared_ptr<Stream>> streams_of_device(int device) {
  std::vector<std::shared_ptr<Stream>> all;
  std::lock_guard lock(streams().mutex);
  for (const auto& [handle, s] : streams().made)
    if (s->device() == device) all.push_back(s);
  if (auto it = streams().defaults.find(device); it != streams().defaults.end()) all.push_back(it->second);
  return all;
}

}  // namespace cpudev
