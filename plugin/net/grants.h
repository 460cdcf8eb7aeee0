// The sender's table of receives the peer has posted: which part of which receive the next send with a tag
// goes to.
//
// Oldest first within a tag, as NCCL expects of grouped receives. One thread; no allocation.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "plugin/net/frames.h"
#include "plugin/net/net.h"

namespace fanin::plugin::net {

// Leave to send one message of at most `bytes`.
struct Grant {
  uint64_t bytes = 0;
  uint32_t sequence = 0;
  uint16_t slot = 0;
  uint16_t part = 0;
};

class Grants {
 public:
  // False when the credit cannot be: a slot out of range or still open, no parts or too many.
  bool add(const Credit& credit, const CreditPart* parts) {
    if (!valid(credit) || slots_[credit.slot].left != 0) return false;
    Slot& s = slots_[credit.slot];
    s.sequence = credit.sequence;
    s.parts = s.left = credit.parts;
    for (int i = 0; i < credit.parts; i++) {
      s.part[i] = parts[i];
      s.taken[i] = false;
    }
    order_[open_++] = credit.slot;
    return true;
  }
  static bool valid(const Credit& c) {
    return c.slot < kMaxRequests && c.parts >= 1 && c.parts <= kMaxGroupedReceives;
  }

  std::optional<Grant> take(int tag) {
    for (int o = 0; o < open_; o++) {
      Slot& s = slots_[order_[o]];
      for (uint16_t p = 0; p < s.parts; p++) {
        if (s.taken[p] || s.part[p].tag != tag) continue;
        Grant g{s.part[p].bytes, s.sequence, order_[o], p};
        s.taken[p] = true;
        if (--s.left == 0) {
          for (int i = o + 1; i < open_; i++) order_[i - 1] = order_[i];
          open_--;
        }
        return g;
      }
    }
    return std::nullopt;
  }

 private:
  struct Slot {
    uint32_t sequence = 0;
    uint16_t parts = 0, left = 0;
    std::array<CreditPart, kMaxGroupedReceives> part;
    std::array<bool, kMaxGroupedReceives> taken{};
  };
  std::array<Slot, kMaxRequests> slots_;
  std::array<uint16_t, kMaxRequests> order_{};  // open slots, oldest first
  int open_ = 0;
};

}  // namespace fanin::plugin::net
