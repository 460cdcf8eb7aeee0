// Where sessions leave what they measured for the tuner of their communicator, which is made right after them by the same
// process. One session's figures are taken by one tuner, the newest first: some may be left of sessions that no tuner came for. Which one
// of several threads takes which does not matter, since all ranks' are put together.
//
// Any thread. At most kMost are kept, of those the newest.
#pragma once
#include <optional>

#include "fanin/figures.h"

namespace fanin::plugin::collnet {

// Whether this NCCL will ask for a communicator's tuner with its id (ncclTuner v5), without which ranks cannot agree, and
// the tuner will have a say (NCCL_ALGO is not set, nor NCCL_TUNER_PLUGIN to none).
void expect_questions();
bool questions_expected();

inline constexpr size_t kMost = 64;
void put(const wire::PoolFigures& figures);
std::optional<wire::PoolFigures> take();

}  // namespace fanin::plugin::collnet
