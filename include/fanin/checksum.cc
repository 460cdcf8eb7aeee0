#include "fanin/checksum.h"

#include <cinttypes>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fanin {

uint64_t checksum(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::string sums_text(uint64_t sent, uint64_t arrived) {
  char text[80];
  snprintf(text, sizeof text, "sent with checksum %016" PRIx64 ", arrived with %016" PRIx64, sent, arrived);
  return text;
}

}  // namespace fanin
