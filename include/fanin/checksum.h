// What a session with checksums (FANIN_CHECKSUM=1) sends besides: docs/protocol.md, "Checksums". XXH3, 64 bits.
//
// A payload's sum is seeded with its header, so that it also tells a block that lies at another place, or belongs to another
// message, from the right one. Pure functions; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "fanin/wire.h"

namespace fanin {

uint64_t checksum(const void* data, size_t bytes, uint64_t seed = 0);

// What `reserved` holds: the sum of the bytes before it …
inline uint64_t header_sum(const wire::SliceHeader& h) {
  return checksum(&h, offsetof(wire::SliceHeader, reserved));
}
// … and in results, of the payload or text too.
inline uint64_t frame_sum(const wire::ResultHeader& h, const void* payload, size_t bytes) {
  return checksum(payload, bytes, checksum(&h, offsetof(wire::ResultHeader, reserved)));
}
// What follows a rank's part of a block, which starts at `offset` of the message's window.
inline uint64_t part_sum(uint64_t header_sum, uint64_t offset, const void* part, size_t bytes) {
  return checksum(part, bytes, header_sum + offset);
}

// "sent with checksum 0123456789abcdef, arrived with …"
std::string sums_text(uint64_t sent, uint64_t arrived);

}  // namespace fanin
