// 64 random bits from the kernel, for nonces and connection ids that strangers cannot guess. Any thread.
#pragma once
#include <sys/random.h>

#include <cstdint>

namespace fanin::plugin::net {

inline uint64_t random_u64() {
  uint64_t bits = 0;
  // Eight bytes are never cut short; only an early-boot system may interrupt the call.
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
  }
  return bits;
}

}  // namespace fanin::plugin::net
