// A stream is an in-order queue of operations. A short operation runs on the calling thread when the queue is
// empty; the rest run on one worker thread per stream, made on first need.
//
// shared_ptr because that thread, events and handles outlive one another in any order, as CUDA allows. Any
// thread.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace cpudev {

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(int device) : device_(device) {}
  int device() const { return device_; }

  enum class Where { kWorker, kInlineIfIdle };
  void push(std::function<void()> operation, Where where);
  void sync() { wait_for(pushed()); }
  bool idle() { return reached(pushed()); }
  // Positions: pushed() counts operations so far; reached(n) tells whether the first n have finished.
  uint64_t pushed();
  bool reached(uint64_t position);
  void wait_for(uint64_t position);
  // The worker ends once the queue is empty; nothing may be pushed afterwards.
  void close();

 private:
  struct Item {
    uint64_t position;
    std::function<void()> operation;
  };
  void work();

  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t pushed_ = 0, done_ = 0;
  std::deque<Item> queue_;
  bool has_worker_ = false, closing_ = false;
};

// Handles as the CUDA API passes them. Handles 0, 1 and 2 are the current device's default stream.
std::shared_ptr<Stream> stream_of(void* handle);  // null: no such stream
void* register_stream(std::shared_ptr<Stream> stream);
std::shared_ptr<Stream> unregister_stream(void* handle);
// All streams of one device, the default one included.
std::vector<std::shared_ptr<Stream>> streams_of_device(int device);

}  // namespace cpudev
