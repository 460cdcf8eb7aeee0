// A tuner's question for figures, asked by hand (fanin/figures.h).
#pragma once
#include <sys/socket.h>

#include <memory>
#include <optional>

#include "fanin/figures.h"
#include "tests/support/raw_worker.h"

namespace fanin::test {

// Of a rank that has measured nothing.
inline wire::FiguresAsk figures_ask() {
  wire::FiguresAsk ask{};
  ask.preamble = {wire::kMagic, wire::kVersion, sizeof ask};
  return ask;
}

// A rank of communicator `tag` that has been let in to ask, and has not asked yet.
inline std::unique_ptr<RawWorker> questioner(const tcp::Address& reducer, uint8_t tag, uint32_t nranks,
                                             const std::optional<tcp::Address>& from = {}) {
  auto w = std::make_unique<RawWorker>(reducer, from);
  w->join(RawWorker::hello(RawWorker::session(tag), 0, nranks, wire::kFiguresLane, 0));
  return w;
}

// What it is told, or nothing when the connection is closed first.
inline std::optional<wire::FiguresAnswer> told(int fd) {
  const timeval patience{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  wire::FiguresAnswer a{};
  if (::recv(fd, &a, sizeof a, MSG_WAITALL) != static_cast<ssize_t>(sizeof a)) return std::nullopt;
  return a;
}

}  // namespace fanin::test
