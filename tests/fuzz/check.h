// What a target holds to besides memory: said, and the program ends, which a fuzzer takes for a finding.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace fanin::fuzz {

inline void check(bool ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  abort();
}

}  // namespace fanin::fuzz
