// Ports that a firewall lets through: "20000-20999", or a single one. Plain value; free functions without state.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "fanin/error.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::tcp {

struct PortRange {
  uint16_t low = 0, high = 0;  // 1 <= low <= high
  uint32_t size() const { return uint32_t{high} - low + 1; }
  std::string text() const;
};

// The error proposes what was probably meant.
Result<PortRange> parse_port_range(std::string_view text);

// As listen_on, on the first port that can be had: begins with number start (modulo size()), so that processes which begin
// elsewhere do not try the same ones, and goes round. kInvalidUsage: none can be had.
Result<Fd> listen_within(const PortRange& range, Address at, uint32_t start);

}  // namespace fanin::tcp
