#include "plugin/collnet/lane_sender.h"

#include <algorithm>
#include <cerrno>

#include "fanin/checksum.h"

namespace fanin::plugin::collnet {
namespace {

constexpr int kMaxIov = 32;
constexpr uint32_t kHeaderBytes = sizeof(wire::SliceHeader);

}  // namespace

wire::SliceHeader LaneSender::header(const Slice& slice) const {
  const Op& op = slice.request->op;
  wire::SliceHeader h{};
  h.type = wire::FrameType::kSlice;
  h.coll = op.coll;
  h.dtype = op.dtype;
  h.op = op.redop;
  h.message = op.message;
  h.message_bytes = op.bytes;
  h.offset = slice.range.begin;
  h.length = slice.range.size();
  h.bytes_per_rank = op.bytes_per_rank;
  h.window_offset = op.window_offset;
  if (checksums_) h.reserved = header_sum(h);
  return h;
}

bool LaneSender::ready() const {
  if (error_ != 0 || at_.slice == queue_.posted()) return false;
  const uint64_t end = queue_.blocks_received() + window_blocks_;
  if (at_.first_block >= end) return false;
  if (at_.header_sent < kHeaderBytes || at_.sum_due) return true;
  return at_.payload < queue_.at(at_.slice).range.begin + (end - at_.first_block) * block_bytes_;
}

LaneSender::Outcome LaneSender::send(Stream& stream, uint64_t most) {
  return send_slices(stream, queue_.posted(), most);
}

LaneSender::Outcome LaneSender::send_rest(Stream& stream) {
  return send_slices(stream, at_.slice + (at_boundary() ? 0 : 1), UINT64_MAX);
}

LaneSender::Outcome LaneSender::send_slices(Stream& stream, uint32_t until, uint64_t most) {
  if (error_ != 0) return Outcome::kBroken;
  const uint64_t end_block = queue_.blocks_received() + window_blocks_;
  iovec iov[kMaxIov];
  wire::SliceHeader headers[kMaxIov];
  int n = 0, n_headers = 0;
  uint64_t bytes = 0, offered = queue_.blocks_offered();
  auto add = [&](const void* p, uint64_t len) {
    iov[n++] = {const_cast<void*>(p), static_cast<size_t>(len)};
    bytes += len;
  };
  for (Position p = at_; p.slice != until && p.first_block < end_block && n + 2 <= kMaxIov && most > 0;) {
    const Slice& slice = queue_.at(p.slice);
    const Op& op = slice.request->op;
    const Range payload = slice.payload;
    if (p.header_sent == 0) p.payload = payload.begin;
    if (p.header_sent < kHeaderBytes) {
      wire::SliceHeader& h = headers[n_headers++];
      h = header(slice);
      add(reinterpret_cast<const std::byte*>(&h) + p.header_sent, kHeaderBytes - p.header_sent);
    }
    uint64_t limit = std::min(payload.end, slice.range.begin + (end_block - p.first_block) * block_bytes_);
    if (checksums_) {  // part by part of a block, each followed by its sum
      while (most > 0 && n + 2 <= kMaxIov && (p.sum_due || p.payload < limit)) {
        if (!p.sum_due) {
          const uint64_t end = part_end(slice, p.payload), take = std::min(end - p.payload, most);
          add(op.source(p.payload), take);
          p.payload += take;
          most -= take;
          if (p.payload < end) break;
        }
        add(sum_at(p, slice) + p.sum_sent, wire::kSumBytes - p.sum_sent);
        p.sum_due = false;
        p.sum_sent = 0;
        ++p.sums;
      }
    } else if (limit > p.payload) {
      limit = p.payload + std::min(limit - p.payload, most);
      most -= limit - p.payload;
      add(op.source(p.payload), limit - p.payload);
      p.payload = limit;
    }
    if (p.payload < payload.end) {
      // The beginning of a block may be answered before its end is sent.
      const uint64_t open = op.coll == Coll::kAllGather ? 0 : block_bytes_ - 1;
      offered = p.first_block + (p.payload - slice.range.begin + open) / block_bytes_;
      break;
    }
    offered = p.first_block + slice.blocks(block_bytes_);
    p = {p.slice + 1, 0, 0, offered, p.sums};
  }
  if (n == 0) return Outcome::kIdle;
  if (at_.header_sent == 0 && queue_.received() == at_.slice) burst_ = 0;
  queue_.set_blocks_offered(offered);
  const IoResult r = stream.writev(iov, n);
  if (r.would_block()) return Outcome::kFull;
  if (r.broken()) {
    error_ = r.err != 0 ? r.err : EPIPE;
    return Outcome::kBroken;
  }
  advance(r.bytes);
  queue_.set_blocks_sent(
      at_.first_block +
      (at_.header_sent == 0 ? 0 : (at_.payload - queue_.at(at_.slice).range.begin) / block_bytes_));
  burst_ += r.bytes;
  unlooked_ += r.bytes;
  if (unlooked_ >= kLookEvery) {
    unlooked_ = 0;
    moment_ = std::min(stream.rate() / kMomentsPerSecond, kMostMoment);
  }
  return r.bytes == bytes ? Outcome::kMoved : Outcome::kFull;
}

// Moves the position on by what the socket took.
void LaneSender::advance(uint64_t bytes) {
  while (bytes > 0) {
    const Slice& slice = queue_.at(at_.slice);
    const Range payload = slice.payload;
    if (at_.header_sent == 0) at_.payload = payload.begin;
    const uint64_t head = std::min<uint64_t>(bytes, kHeaderBytes - at_.header_sent);
    at_.header_sent += static_cast<uint32_t>(head);
    bytes -= head;
    if (at_.header_sent < kHeaderBytes) break;
    if (checksums_) {
      if (!advance_summed(slice, bytes)) break;
    } else {
      const uint64_t body = std::min(bytes, payload.end - at_.payload);
      at_.payload += body;
      bytes -= body;
      if (at_.payload < payload.end) break;
    }
    at_ = {at_.slice + 1, 0, 0, at_.first_block + slice.blocks(block_bytes_), at_.sums};
    queue_.set_sent(at_.slice);
    position_.store(slice.base + slice.message, std::memory_order_relaxed);
  }
  if (at_.header_sent == 0) return;
  // The part of the message in proportion to the part of the slice.
  const Slice& slice = queue_.at(at_.slice);
  const double part =
      static_cast<double>(at_.payload - slice.range.begin) / static_cast<double>(slice.range.size());
  position_.store(slice.base + static_cast<uint64_t>(part * static_cast<double>(slice.message)),
                  std::memory_order_relaxed);
}

// True when the slice's last byte has gone.
bool LaneSender::advance_summed(const Slice& slice, uint64_t& bytes) {
  while (at_.sum_due || at_.payload < slice.payload.end) {
    if (bytes == 0) return false;
    const uint64_t end = at_.sum_due ? 0 : part_end(slice, at_.payload);
    const uint64_t take = std::min(bytes, at_.sum_due ? wire::kSumBytes - at_.sum_sent : end - at_.payload);
    bytes -= take;
    if (!at_.sum_due) {
      at_.payload += take;
      at_.sum_due = at_.payload == end;
    } else if ((at_.sum_sent += static_cast<uint32_t>(take)) == wire::kSumBytes) {
      at_.sum_due = false;
      at_.sum_sent = 0;
      ++at_.sums;
    }
  }
  return true;
}

// Where this rank's part ends of the block that holds pos.
uint64_t LaneSender::part_end(const Slice& slice, uint64_t pos) const {
  const uint64_t block = (pos - slice.range.begin) / block_bytes_;
  return std::min(slice.payload.end, slice.range.begin + (block + 1) * block_bytes_);
}

// The sum of the part that ends at p.payload.
const std::byte* LaneSender::sum_at(const Position& p, const Slice& slice) {
  uint64_t& sum = sums_[p.sums % kSums];
  if (p.sums == summed_) {
    const uint64_t block = (p.payload - 1 - slice.range.begin) / block_bytes_;
    const uint64_t begin = std::max(slice.payload.begin, slice.range.begin + block * block_bytes_);
    sum = part_sum(header(slice).reserved, begin, slice.request->op.source(begin), p.payload - begin);
    ++summed_;
  }
  return reinterpret_cast<const std::byte*>(&sum);
}

void LaneSender::farewell(Stream& stream, wire::FrameType type, wire::AbortCode code,
                          const std::string& text) {
  if (error_ != 0 || !at_boundary()) return;
  wire::SliceHeader h{};
  h.type = type;
  const bool abort = type == wire::FrameType::kAbort;
  if (abort) {
    h.message = static_cast<uint64_t>(code);
    h.text_bytes = static_cast<uint32_t>(std::min<size_t>(text.size(), wire::kMaxText));
  }
  if (checksums_) h.reserved = header_sum(h);
  const iovec iov[2] = {{&h, sizeof h}, {const_cast<char*>(text.data()), h.text_bytes}};
  stream.writev(iov, abort && h.text_bytes > 0 ? 2 : 1);
  error_ = ESHUTDOWN;  // nothing may follow
}

}  // namespace fanin::plugin::collnet
