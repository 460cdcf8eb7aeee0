// How often a test repeats itself: few times in `make test`, many in `make soak` (FANIN_TEST_LONG=1).
#pragma once
#include <cstdlib>

namespace fanin::test {

inline int repeats(int in_short, int in_long) {
  const char* v = getenv("FANIN_TEST_LONG");
  return v && *v == '1' ? in_long : in_short;
}

}  // namespace fanin::test
