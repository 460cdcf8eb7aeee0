// Starting the reducer's threads: named, with every signal blocked (signals belong to the process that hosts
// the reducer, be it fanin-reducer or a training process), in the default floating-point environment (a thread
// inherits its creator's, and frameworks flush denormals or round otherwise; sums must not depend on that), and
// failure as a value.
#pragma once
#include <functional>
#include <thread>

#include "fanin/error.h"

namespace fanin::reducer {

Result<std::thread> start_thread(const std::string& name, std::function<void()> body);

}  // namespace fanin::reducer
