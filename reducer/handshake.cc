#include "reducer/handshake.h"

#include <algorithm>
#include <cstring>

#include "fanin/figures.h"

namespace fanin::reducer {

HelloState hello_state(const std::byte* bytes, size_t have) {
  // Byte by byte: "GET /" is known for a stranger at its first letter.
  const uint32_t magic = wire::kMagic;
  if (memcmp(bytes, &magic, std::min(have, sizeof magic)) != 0) return HelloState::kStranger;
  if (have < sizeof(wire::Preamble)) return HelloState::kMore;
  wire::Preamble p;
  memcpy(&p, bytes, sizeof p);
  if (p.version != wire::kVersion) return HelloState::kVersion;
  if (p.bytes != sizeof(wire::Hello)) return HelloState::kStranger;
  return have < sizeof(wire::Hello) ? HelloState::kMore : HelloState::kComplete;
}

bool proof_so_far(const std::byte* bytes, size_t have) {
  const wire::Preamble expected{wire::kMagic, wire::kVersion, sizeof(wire::HelloProof)};
  return memcmp(bytes, &expected, std::min(have, sizeof expected)) == 0;
}

std::string version_text(uint16_t theirs) {
  return "the worker speaks protocol version " + std::to_string(theirs) + ", this reducer " +
         std::to_string(wire::kVersion) + "; upgrade " +
         (theirs > wire::kVersion ? "the reducer" : "libnccl-net-fanin.so on the worker");
}

std::optional<std::string> check_hello(const wire::Hello& h, uint32_t lanes) {
  auto text = [](uint64_t v) { return std::to_string(v); };
  if (h.nranks == 0 || h.nranks > wire::kMaxRanks)
    return "a session of " + text(h.nranks) + " ranks is impossible; 1 to " + text(wire::kMaxRanks) + " are";
  if (h.rank >= h.nranks)
    return "rank " + text(h.rank) + " of " + text(h.nranks) +
           " is impossible; ranks count from 0 to nranks - 1";
  if (h.lane >= lanes && h.lane != wire::kFiguresLane)
    return "this reducer has " + text(lanes) + " lanes, lane " + text(h.lane) + " is not one of them";
  if (h.window_bytes > wire::kMaxWindowBytes)
    return "a window of " + text(h.window_bytes) + " bytes is above the limit of " +
           text(wire::kMaxWindowBytes) + "; lower FANIN_WINDOW";
  if ((h.capabilities & ~(wire::kChecksums | wire::kAsk)) != 0)
    return "the worker asks for something this reducer does not know (capabilities " + text(h.capabilities) +
           "); upgrade the reducer";
  return std::nullopt;
}

std::string welcome_bytes(wire::Welcome welcome, std::string_view text) {
  text = text.substr(0, wire::kMaxText);
  welcome.preamble = {wire::kMagic, wire::kVersion, sizeof(wire::Welcome)};
  welcome.text_bytes = static_cast<uint32_t>(text.size());
  std::string out(reinterpret_cast<const char*>(&welcome), sizeof welcome);
  return out.append(text);
}

}  // namespace fanin::reducer
