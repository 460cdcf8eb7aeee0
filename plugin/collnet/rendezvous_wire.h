// Frames between a rank and rank 0 while they agree on a verdict. All ranks run the same library; the version
// is there to tell politely when they do not: who meets another one says its own before it closes (a header in any
// version begins with magic and version). A header, then body_bytes of body, then, where the job has a secret, a
// seal of 32 bytes on all frames but the first two (frame_seal.h).
//
//   rank k                                rank 0
//                     <-----------------  kGreeting (nonce)      with a secret only
//   kIntroduction     ----------------->                         with a secret only
//   kReport (Report)  ----------------->
//                     <-----------------  kPropose (Verdict)     verdict.use
//   kAck              ----------------->                         verdict.use
//                     <-----------------  kCommit, or kNone (Verdict without reducers)
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugin/collnet/bytes.h"
#include "plugin/collnet/verdict.h"

namespace fanin::plugin::collnet {

enum class RendezvousType : uint16_t {
  kReport = 1,
  kPropose = 2,
  kAck = 3,
  kCommit = 4,
  kNone = 5,
  kGreeting = 6,
  kIntroduction = 7
};

struct RendezvousHeader {
  static constexpr uint32_t kMagic = 0x56524e46;  // "FNRV"
  static constexpr uint16_t kVersion = 4;
  uint32_t magic;
  uint16_t version;
  RendezvousType type;
  uint32_t body_bytes;
};
static_assert(sizeof(RendezvousHeader) == 12);

// Says which rank this is and proves it; what follows may be long. proof: as the seal of a frame with the body before it.
struct Introduction {
  wire::SessionId session;
  uint32_t rank, nranks;
  wire::Proof proof;
  std::string_view proved() const { return {reinterpret_cast<const char*>(this), 24}; }
};
static_assert(sizeof(Introduction) == 56);

inline constexpr uint32_t kMaxBody = 1 << 20;
inline constexpr size_t kMaxReason = 900;  // fits a log line
inline constexpr size_t kMaxWhy = 200;     // of one reducer that a rank missed
// What rank 0 will read of it. Every rank's report is made of this, so that the same cause is the same text.
std::string clipped_why(std::string why);
inline constexpr uint32_t kMaxReducers = 4096;

// "THEM runs another version of fanin (…); upgrade … on HOST", for a peer that speaks version `theirs`; them_at and us_at:
// the two hosts.
std::string version_differs(uint16_t theirs, const std::string& them, const std::string& them_at,
                            const std::string& us_at);

std::string encode(RendezvousType type, const std::string& body = {});
std::string encode_report(const Report& report);     // the body
std::string encode_verdict(const Verdict& verdict);  // the body
// Null: not a well-formed body.
std::optional<Report> decode_report(std::span<const char> body);
std::optional<Verdict> decode_verdict(std::span<const char> body);

}  // namespace fanin::plugin::collnet
