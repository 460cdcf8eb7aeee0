// What makes a rendezvous frame one of a rank that knows the job's secret: 32 bytes behind the body.
//
// A keyed hash over the session (all ranks' handles, so every rank's own fresh nonce), a nonce of rank 0's that is new for each
// connection, the rank, the direction, the frame's number, its type and its body. So no frame heard elsewhere, earlier or
// from the other side fits, and none can be left out or changed. One thread.
#pragma once
#include <cstdint>
#include <string_view>

#include "fanin/secret.h"
#include "fanin/wire.h"

namespace fanin::plugin::collnet {

// What all ranks of a session share when their job has a secret.
struct SessionKey {
  Secret secret;
  wire::Proof session;  // over all handles, in rank order
};

class FrameSeal {
 public:
  enum class Side : uint8_t { kRoot, kRank };
  FrameSeal(const SessionKey& key, const wire::Nonce& connection, uint32_t rank, Side side)
      : key_(key), connection_(connection), rank_(rank), side_(side) {}

  // Of the next frame to send.
  wire::Proof next(uint16_t type, std::string_view body) { return over(side_, sent_++, type, body); }
  // Whether this belongs to the next frame received.
  bool fits(uint16_t type, std::string_view body, const wire::Proof& seal) {
    return equal(seal, over(side_ == Side::kRoot ? Side::kRank : Side::kRoot, received_++, type, body));
  }

 private:
  wire::Proof over(Side from, uint32_t number, uint16_t type, std::string_view body) const {
    const struct {
      uint32_t rank, number;
      uint16_t type, zero[3];
    } frame{rank_, number, type, {}};
    static_assert(sizeof frame == 16);
    return key_.secret.prove(
        from == Side::kRoot ? "fanin rdv root  " : "fanin rdv rank  ",
        {std::as_bytes(std::span(key_.session)), std::as_bytes(std::span(connection_)),
         std::as_bytes(std::span(&frame, 1)), std::as_bytes(std::span(body.data(), body.size()))});
  }

  SessionKey key_;
  wire::Nonce connection_;
  uint32_t rank_;
  Side side_;
  uint32_t sent_ = 0, received_ = 0;
};

}  // namespace fanin::plugin::collnet
