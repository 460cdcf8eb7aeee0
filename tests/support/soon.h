// What "at once" may take in a test. A machine that is slow and busy with other tests delays a process by seconds, so this
// is long; it tells a loss that is noticed from one that is waited for, which the tests let take far longer (time-outs of
// 20 s and more, or none).
#pragma once
#include <chrono>

namespace fanin::test {

inline constexpr std::chrono::milliseconds kSoon{10000};

}  // namespace fanin::test
