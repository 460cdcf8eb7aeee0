// The status page, reducer/metrics/page.html, as it lies in the program. It loads nothing but /sessions.
#pragma once
#include <string_view>

namespace fanin::reducer::metrics {

std::string_view page();

}  // namespace fanin::reducer::metrics
