// A connection that is introducing itself, or that was refused and is being read to its end so that the refusal is not lost
// in a reset.
#pragma once
#include "reducer/introduction.h"
#include "reducer/peer_list.h"

namespace fanin::reducer {

struct Guest : Visitor {
  bool refused = false;  // or answered
  Introduction intro;
};

}  // namespace fanin::reducer
