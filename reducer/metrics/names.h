// Values of labels for what the wire has numbers for; "" for numbers that are none.
#pragma once
#include "fanin/wire.h"

namespace fanin::reducer::metrics {

constexpr const char* name_of(wire::Refusal r) {
  switch (r) {
    case wire::Refusal::kVersion:
      return "version";
    case wire::Refusal::kMalformed:
      return "malformed";
    case wire::Refusal::kNoMemory:
      return "no_memory";
    case wire::Refusal::kDraining:
      return "draining";
    case wire::Refusal::kDuplicate:
      return "duplicate";
    case wire::Refusal::kMismatch:
      return "mismatch";
    case wire::Refusal::kTooMany:
      return "too_many";
    case wire::Refusal::kBroken:
      return "broken";
    case wire::Refusal::kAuth:
      return "auth";
    case wire::Refusal::kNone:
    case wire::Refusal::kChallenge:
    case wire::Refusal::kAnswer:
      break;
  }
  return "";
}

constexpr const char* name_of(wire::AbortCode c) {
  switch (c) {
    case wire::AbortCode::kRankLost:
      return "rank_lost";
    case wire::AbortCode::kDisagreement:
      return "disagreement";
    case wire::AbortCode::kProtocol:
      return "protocol";
    case wire::AbortCode::kRankLeft:
      return "rank_left";
    case wire::AbortCode::kShutdown:
      return "shutdown";
    case wire::AbortCode::kInternal:
      return "internal";
    case wire::AbortCode::kTimeout:
      return "timeout";
    case wire::AbortCode::kDamaged:
      return "damaged";
  }
  return "";
}

}  // namespace fanin::reducer::metrics
