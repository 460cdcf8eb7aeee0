// The receiver's table of posted receives: where each arriving chunk belongs, and when a receive is complete.
//
// Chunks are checked against what was posted before a byte is placed, so a peer that breaks the protocol
// cannot write outside the posted buffers. One thread; no allocation.
#pragma once
#include <array>
#include <string>

#include "fanin/error.h"
#include "plugin/net/frames.h"
#include "plugin/net/net.h"

namespace fanin::plugin::net {

// One part of a posted receive.
struct Part {
  char* data = nullptr;
  size_t posted = 0;
  int tag = 0;
  bool begun = false;  // the message's size is known
  size_t total = 0;    // of the message
  size_t claimed = 0;  // bytes of chunks seen
  size_t arrived = 0;  // bytes placed
  int slot = 0;
  bool complete() const { return begun && arrived == total; }
};

class Postings {
 public:
  struct Slot {
    int n = 0;     // parts; 0: free
    int left = 0;  // parts not complete
    uint32_t sequence = 0;
    std::array<Part, kMaxGroupedReceives> parts;
  };

  // A free slot's index, filled; -1 when all are taken.
  int post(int n, void* const* data, const size_t* sizes, const int* tags) {
    int i = 0;
    while (i < kMaxRequests && slots_[i].n) i++;
    if (i == kMaxRequests) return -1;
    Slot& s = slots_[i];
    s.n = s.left = n;
    s.sequence = next_++;
    for (int p = 0; p < n; p++) {
      s.parts[p] = Part{static_cast<char*>(data[p]), sizes[p], tags[p]};
      s.parts[p].slot = i;
    }
    open_++;
    return i;
  }
  void release(int slot) {
    if (slots_[slot].left) open_--;
    slots_[slot].n = slots_[slot].left = 0;
  }
  const Slot& at(int slot) const { return slots_[slot]; }
  int open() const { return open_; }  // receives not complete

  // The part a chunk is for. Errors name the peer; kInvalidUsage when the message does not fit its receive.
  Result<Part*> claim(const Chunk& c, const std::string& peer) {
    if (c.slot >= kMaxRequests || c.part >= slots_[c.slot].n || slots_[c.slot].sequence != c.sequence)
      return Error(Errc::kRemote,
                   "peer " + peer + " broke the protocol: data for a receive that is not posted");
    Part& p = slots_[c.slot].parts[c.part];
    if (c.total > p.posted)
      return Error(Errc::kInvalidUsage, "peer " + peer + " sent " + std::to_string(c.total) +
                                            " bytes with tag " + std::to_string(p.tag) + " to a receive of " +
                                            std::to_string(p.posted) +
                                            " bytes; make both sides use one count and type");
    bool repeated = p.begun && (p.total != c.total || c.length == 0);
    if (repeated || p.claimed + c.length > c.total || c.offset > c.total - c.length)
      return Error(Errc::kRemote, "peer " + peer + " broke the protocol: a piece outside its message");
    p.begun = true;
    p.total = c.total;
    p.claimed += c.length;
    if (c.total == 0) finish(p);
    return &p;
  }
  void arrived(Part& p, size_t bytes) {
    p.arrived += bytes;
    if (p.arrived == p.total) finish(p);
  }

 private:
  void finish(const Part& p) {
    if (--slots_[p.slot].left == 0) open_--;
  }

  std::array<Slot, kMaxRequests> slots_;
  uint32_t next_ = 0;
  int open_ = 0;
};

}  // namespace fanin::plugin::net
