#include "tests/nccl/device/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "tests/nccl/device/event.h"
#include "tests/nccl/device/settings.h"

namespace cpudev::test {
namespace {

constexpr auto kWorker = Stream::Where::kWorker;
constexpr auto kInline = Stream::Where::kInlineIfIdle;

// An operation that waits until it is let go.
struct Gate {
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  void open() { go.set_value(); }
  std::function<void()> operation() {
    return [g = gone] { g.wait(); };
  }
};

TEST(Stream, RunsInOrder) {
  auto s = std::make_shared<Stream>(0);
  std::vector<int> order;
  for (int i = 0; i < 100; i++) s->push([&order, i] { order.push_back(i); }, i % 3 ? kWorker : kInline);
  s->sync();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; i++) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  s->close();
}

TEST(Stream, ShortOperationsRunAtOnceWhenIdle) {
  auto s = std::make_shared<Stream>(0);
  std::thread::id ran;
  s->push([&] { ran = std::this_thread::get_id(); }, kInline);
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_TRUE(s->idle());
  // Behind a longer one it must wait for its turn.
  Gate gate;
  s->push(gate.operation(), kWorker);
  ran = {};
  s->push([&] { ran = std::this_thread::get_id(); }, kInline);
  EXPECT_FALSE(s->idle());
  EXPECT_EQ(ran, std::thread::id());
  gate.open();
  s->sync();
  EXPECT_NE(ran, std::this_thread::get_id());
  s->close();
}

TEST(Stream, EventsMarkPositions) {
  auto s = std::make_shared<Stream>(0);
  Event never(true), first(true), second(true);
  EXPECT_TRUE(never.reached());
  EXPECT_FALSE(Event::milliseconds(never, first));
  first.record(s);
  EXPECT_TRUE(first.reached());
  Gate gate;
  s->push(gate.operation(), kWorker);
  second.record(s);
  EXPECT_FALSE(second.reached());
  EXPECT_FALSE(Event::milliseconds(first, second));
  gate.open();
  second.wait();
  ASSERT_TRUE(Event::milliseconds(first, second));
  EXPECT_GE(*Event::milliseconds(first, second), 0.f);
  s->close();
}

TEST(Stream, EventsHoldOtherStreamsBack) {
  auto a = std::make_shared<Stream>(0), b = std::make_shared<Stream>(0);
  Gate gate;
  Event event(false);
  std::atomic<bool> ran{false};
  a->push(gate.operation(), kWorker);
  event.record(a);
  event.hold_back(b.get());
  b->push([&] { ran = true; }, kInline);
  EXPECT_FALSE(ran);
  EXPECT_FALSE(b->idle());
  gate.open();
  b->sync();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(event.reached());
  a->close();
  b->close();
}

TEST(Stream, HandlesAndDefaults) {
  void* handle = register_stream(std::make_shared<Stream>(3));
  ASSERT_TRUE(stream_of(handle));
  EXPECT_EQ(stream_of(handle)->device(), 3);
  EXPECT_EQ(streams_of_device(3).size(), 1u);
  set_current_device(1);
  const auto one = stream_of(nullptr);
  set_current_device(2);
  EXPECT_NE(stream_of(nullptr), one) << "each device has a default stream";
  set_current_device(0);
  ASSERT_TRUE(unregister_stream(handle));
  EXPECT_FALSE(stream_of(handle));
  EXPECT_FALSE(unregister_stream(handle));
}

}  // namespace
}  // namespace cpudev::test
