// What became of the connections that came to a reducer's port. Written by the acceptor's thread only, read by any: relaxed
// atomics.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "fanin/wire.h"

namespace fanin::reducer {

enum class GuestEnd : uint8_t {
  kAdmitted,    // handed to a lane
  kRefused,     // told why; by code in GuestCounts::refused
  kAnswered,    // asked, and was told
  kNotAllowed,  // its address is not on the list
  kNotFanin,    // spoke something else
  kSilent,      // did not get through the handshake in time
  kHungUp,      // left in the middle of it
  kCrowdedOut,  // made room for others: too many at once, no descriptor, or no memory
};
inline constexpr size_t kGuestEnds = 8;

constexpr const char* guest_end_name(GuestEnd e) {
  constexpr const char* names[kGuestEnds] = {"admitted",  "refused", "answered", "not_allowed",
                                             "not_fanin", "silent",  "hung_up",  "crowded_out"};
  return names[static_cast<size_t>(e)];
}

// A snapshot.
struct GuestCounts {
  uint64_t accepted = 0;
  uint64_t waiting =
      0;  // handshakes in progress, refused ones being read to their end, and questions in the council
  std::array<uint64_t, kGuestEnds> ended{};
  std::array<uint64_t, wire::kNumRefusals> refused{};  // by wire::Refusal
  uint64_t operator[](GuestEnd e) const { return ended[static_cast<size_t>(e)]; }
  uint64_t operator[](wire::Refusal r) const { return refused[static_cast<size_t>(r)]; }
  // Everyone who was neither admitted nor told why.
  uint64_t strangers() const {
    uint64_t n = 0;
    for (size_t i = static_cast<size_t>(GuestEnd::kNotAllowed); i < kGuestEnds; ++i) n += ended[i];
    return n;
  }
};

class GuestCounters {
 public:
  void accepted() { add(accepted_); }
  void waiting(uint64_t n) { waiting_.store(n, std::memory_order_relaxed); }
  void ended(GuestEnd e) { add(ended_[static_cast<size_t>(e)]); }
  void refused(wire::Refusal r) {
    ended(GuestEnd::kRefused);
    add(refused_[static_cast<size_t>(r)]);
  }
  GuestCounts counts() const {
    GuestCounts c;
    c.accepted = accepted_.load(std::memory_order_relaxed);
    c.waiting = waiting_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < kGuestEnds; ++i) c.ended[i] = ended_[i].load(std::memory_order_relaxed);
    for (size_t i = 0; i < c.refused.size(); ++i) c.refused[i] = refused_[i].load(std::memory_order_relaxed);
    return c;
  }

 private:
  static void add(std::atomic<uint64_t>& a) {
    a.store(a.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<uint64_t> accepted_{0}, waiting_{0};
  std::array<std::atomic<uint64_t>, kGuestEnds> ended_{};
  std::array<std::atomic<uint64_t>, wire::kNumRefusals> refused_{};
};

}  // namespace fanin::reducer
