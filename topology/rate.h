// Link rates as people write and read them: bits per second in powers of 1000, as vendors of networks count.
// Pure functions.
#pragma once
#include <string>
#include <string_view>

#include "fanin/error.h"

namespace fanin {

// "100G", "32Gbit/s", "25 Gbps", "12.5GB/s" (bytes), "8x400G" (eight NICs) -> bits per second, 1e6 to 1e15.
Result<double> parse_rate(std::string_view text);
// "100 Gbit/s", "62.5 Gbit/s", "950 Mbit/s"
std::string rate_text(double bits_per_second);

}  // namespace fanin
