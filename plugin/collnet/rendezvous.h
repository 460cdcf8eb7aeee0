// All ranks of a session reach one verdict through rank 0: the same set of reducers, or none.
//
// Why this cannot end with some ranks on reducers and others on the ring (NCCL would hang):
//  1. Rank 0 commits only when it holds an ACK of every other rank.
//  2. A rank may fall back on its own only before it has sent its ACK. It closes its connection then, so that
//     its ACK can never arrive, and by 1 rank 0 cannot commit: everyone falls back.
//  3. A rank that has sent its ACK never falls back on its own: it gets COMMIT or NONE, or returns an error. NCCL
//     ignores the error of a collnet connect, so the caller then refuses point-to-point service too, and the rank
//     fails, and with it, cleanly, the job.
//  4. Rank 0 falls back only with NONE, before any COMMIT was sent. Once it begins to send COMMIT it uses the
//     reducers.
// Rank 0 gives up earlier (Deadlines) than the others lose patience, so that a late rank leads to NONE, not
// to 3.
//
// Strangers on rank 0's port, other sessions' ranks and second reports of one rank are dropped. Where the job has a
// secret, every frame is proved by it, both ways (frame_seal.h): nobody else can take part, or change a word. Who has not
// proved anything (without a secret: does not know the session's id) is not listened to for longer than that takes.
// Blocks; service threads.
#pragma once
#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "fanin/error.h"
#include "plugin/collnet/frame_seal.h"
#include "plugin/collnet/verdict.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::plugin::collnet {

// How FANIN_CONNECT_TIMEOUT_MS is spent, counted from this rank's call of connect.
struct Deadlines {
  Deadline reducers;                    // trying the pool
  Deadline collect;                     // rank 0: all reports are in
  Deadline ack;                         // rank 0: all ACKs are in
  Deadline patience;                    // others: the proposal has come
  std::chrono::milliseconds after_ack;  // others: from the ACK to COMMIT or NONE
  std::chrono::milliseconds quiet;      // rank 0: before it says whom it waits for
  static Deadlines within(std::chrono::milliseconds total) {
    return {Deadline::after(total * 6 / 10),
            Deadline::after(total * 85 / 100),
            Deadline::after(total * 95 / 100),
            Deadline::after(total * 125 / 100),
            total,
            std::min(std::chrono::milliseconds(2000), total / 5)};
  }
};

// Rank 0. listener: the one its handle names; ranks: the addresses in all handles, by which those that do not come are
// named.
Verdict lead_rendezvous(int listener, const Report& own, std::span<const tcp::Address> ranks,
                        const Deadlines& deadlines, const std::optional<SessionKey>& key = std::nullopt);

// Ranks 1 … nranks-1. Verdict::use false may also be this rank's own decision (rank 0 cannot be reached).
// Error (kRemote): rank 0 vanished between ACK and COMMIT.
Result<Verdict> follow_rendezvous(const tcp::Address& root, const std::optional<tcp::Address>& source,
                                  const Report& own, const Deadlines& deadlines,
                                  const std::optional<SessionKey>& key = std::nullopt);

}  // namespace fanin::plugin::collnet
