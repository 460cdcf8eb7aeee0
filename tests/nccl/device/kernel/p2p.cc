// Send and receive.
#include <algorithm>
#include <cstring>

#include "tests/nccl/device/kernel/work.h"

namespace cpudev {
namespace {

// Chunk sizes come as 5 bits of exponent and 3 of mantissa.
int64_t decode_chunk(uint8_t x) {
  const int64_t mantissa = x & 7, exponent = x >> 3;
  return exponent == 0 ? mantissa : (8 | mantissa) << (exponent - 1);
}

// Which part of a message the channel takes that is `place` channels behind its first; there are a power of two.
size_t part_of(int place, int channels, bool mirrored) {
  if (!mirrored) return static_cast<size_t>(place);
  size_t part = 0;
  for (int c = channels; c > 1; c >>= 1, place >>= 1) part = part << 1 | static_cast<size_t>(place & 1);
  return part;
}

// A channel's part of a message that several channels share.
struct Range {
  char* begin;
  int64_t bytes;
};
Range range_of(void* data, size_t bytes, size_t part, size_t parts) {
  const size_t per = round_up<size_t>(div_up<size_t>(bytes, parts), 4096);
  const size_t begin = std::min(part * per, bytes), end = std::min((part + 1) * per, bytes);
  return {static_cast<char*>(data) + begin, static_cast<int64_t>(end - begin)};
}

std::unique_ptr<Group> transfer(const abi::KernelComm* comm, abi::ConnInfo* conn, Link::Direction direction,
                                Range range, int64_t chunk, bool ll) {
  auto g = std::make_unique<Group>();
  g->step_elements = comm->p2p_chunk_size;
  g->ll = ll;
  const bool send = direction == Link::Direction::kSend;
  const size_t lines = ll ? static_cast<size_t>(comm->buff_sizes[abi::kProtoLL] / abi::kSteps / 16) : 0;
  (send ? g->send : g->recv).emplace_back(conn, direction, 1, lines);
  // An empty message is still one step.
  g->next = [=, cursor = int64_t{0}, first = true](Op& op) mutable {
    if (!first && cursor >= range.bytes) return false;
    first = false;
    const int64_t n = std::min(chunk, range.bytes - cursor);
    char* p = range.begin + cursor;
    op.send = send;
    op.recv = !send;
    op.elements = n;
    op.move = [=](int64_t offset, int64_t count, char** in, char** out, int64_t*) {
      if (send)
        memcpy(out[0], p + offset, static_cast<size_t>(count));
      else
        memcpy(p + offset, in[0], static_cast<size_t>(count));
    };
    cursor += n;
    return true;
  };
  return g;
}

}  // namespace

void build_p2p(const abi::KernelComm* comm, const abi::Channel* channel, int channel_id, bool mirrored_parts,
               const abi::WorkP2p& w, Groups* groups) {
  const size_t part =
      part_of((channel_id - w.channel_base) & (w.n_channels - 1), w.n_channels, mirrored_parts);
  const bool send = part < w.n_send_channels, recv = part < w.n_recv_channels;
  const Range out = send ? range_of(w.send_addr, w.send_bytes, part, w.n_send_channels) : Range{};
  const Range in = recv ? range_of(w.recv_addr, w.recv_bytes, part, w.n_recv_channels) : Range{};
  if (w.send_rank == comm->rank) {
    if (send && recv && out.bytes > 0) memmove(in.begin, out.begin, static_cast<size_t>(out.bytes));
    return;
  }
  if (send)
    groups->push_back(transfer(comm, &channel->peers[w.send_rank]->send[1], Link::Direction::kSend, out,
                               decode_chunk(w.send_chunk_fp8), w.send_ll));
  if (recv)
    groups->push_back(transfer(comm, &channel->peers[w.recv_rank]->recv[1], Link::Direction::kRecv, in,
                               decode_chunk(w.recv_chunk_fp8), w.recv_ll));
}

}  // namespace cpudev
