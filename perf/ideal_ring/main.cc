// ideal-ring: one rank of the ring all-reduce in ring.h.
#include "perf/ideal_ring/ring.h"

int main(int argc, char** argv) {
  return fanin::perf::run_peer(argc, argv, "ideal-ring", fanin::perf::IdealRing::make);
}
