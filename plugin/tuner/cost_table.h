// NCCL's estimates for one collective: float[algorithms][protocols], microseconds, below 0 for what cannot be used. What takes an
// hour it does not use either.
//
// A view; what cannot be used is never touched, nothing is made unusable, and costs stay finite and at least 0.
#pragma once
#include "nccl/tuner_v6.h"

namespace fanin::plugin::tuner {

class CostTable {
 public:
  // table: what NCCL passes, which is declared float** and is not.
  CostTable(float** table, int algorithms, int protocols)
      : costs_(reinterpret_cast<float*>(table)), algorithms_(algorithms), protocols_(protocols) {}

  bool available(int algorithm, int protocol) const;
  // Makes it the cheapest by far. False, and nothing is changed, when it is not available.
  bool choose(int algorithm, int protocol);

  // The reducers' (CollNet direct and chain, and NVLS between nodes) against all others. Nothing changes where one side
  // has nothing available, or NCCL's estimates say the same already.
  void prefer_reducers();
  void prefer_others();

 private:
  static bool through_reducers(int algorithm) {
    return algorithm == NCCL_TUNER_COLLNET_DIRECT || algorithm == NCCL_TUNER_COLLNET_CHAIN ||
           algorithm == NCCL_TUNER_NVLS;
  }
  float& at(int algorithm, int protocol) const { return costs_[algorithm * protocols_ + protocol]; }
  // The cheapest available entry of a side, or null.
  float* cheapest(bool reducers) const;

  float* const costs_;
  const int algorithms_, protocols_;
};

}  // namespace fanin::plugin::tuner
