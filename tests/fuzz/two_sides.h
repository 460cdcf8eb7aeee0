// For targets that play one of the two sides of a conversation.
#pragma once
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"

namespace fanin::fuzz {

// The body of LLVMFuzzerTestOneInput: the input's first byte says which side runs on the rest. Each is made from an Input and
// has run(). Afterwards no socket may be open (kernel::reset).
template <class Odd, class Even>
int run_one_side(const uint8_t* data, size_t size) {
  Input in(data, size);
  in.u8() % 2 ? Odd(in).run() : Even(in).run();
  kernel::reset();
  return 0;
}

}  // namespace fanin::fuzz
