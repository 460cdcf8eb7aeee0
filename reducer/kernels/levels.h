// Chooses the SIMD levels for every kernel file; must come before any Highway header.
//
// Each *.cc of this folder but reduce.cc holds the kernels of one family of types, compiled once per level by
// hwy/foreach_target.h into its own namespace fanin::N_<LEVEL>, and defines there
//     ReduceFn pick_<family>(DType, RedOp);
// reduce.cc joins the families of each level and chooses a level at run time.
#pragma once

// Every level, also those that the compiler's baseline (-march=native, say) makes superfluous: tests compare
// them all.
#define HWY_COMPILE_ALL_ATTAINABLE
// Accumulators live in structs, which the sizeless vectors of SVE and RISC-V forbid; Arm runs NEON, others
// the fallback.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#include "fanin/dtype.h"
#include "reducer/kernels/reduce.h"
