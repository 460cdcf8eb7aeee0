#include "reducer/slice.h"

namespace fanin::reducer {
namespace {

std::string number(uint64_t v) { return std::to_string(v); }

std::string name(const wire::SliceHeader& h) {
  std::string s = coll_name(h.coll);
  s += std::string(" ") + dtype_name(h.dtype);
  if (h.coll != Coll::kAllGather) s += std::string(" ") + redop_name(h.op);
  return s + " of " + number(h.message_bytes) + " bytes as message " + number(h.message);
}

std::string range(const wire::SliceHeader& h) {
  std::string s = " (slice " + number(h.offset) + "+" + number(h.length);
  if (h.coll != Coll::kAllReduce)
    s += ", " + number(h.bytes_per_rank) + " bytes per rank, window at " + number(h.window_offset);
  return s + ")";
}

}  // namespace

Status check_slice(const wire::SliceHeader& h, uint32_t nranks) {
  auto bad = [](std::string text) { return Status(Error(Errc::kRemote, std::move(text))); };
  auto field = [&](const char* what, uint64_t value) {
    return bad(std::string("an impossible ") + what + " " + number(value));
  };
  if (static_cast<unsigned>(h.coll) >= kNumColls) return field("collective", static_cast<unsigned>(h.coll));
  if (static_cast<unsigned>(h.dtype) >= kNumDTypes)
    return field("element type", static_cast<unsigned>(h.dtype));
  if (static_cast<unsigned>(h.op) >= kNumRedOps) return field("operator", static_cast<unsigned>(h.op));
  if (h.text_bytes != 0) return field("text length in a slice header,", h.text_bytes);
  if (h.reserved != 0) return field("reserved field", h.reserved);
  if (h.message_bytes == 0 || h.message_bytes > wire::kMaxMessageBytes)
    return field("message size", h.message_bytes);
  if (h.length == 0 || h.offset > h.message_bytes || h.length > h.message_bytes - h.offset)
    return bad("a slice " + number(h.offset) + "+" + number(h.length) + " outside its message of " +
               number(h.message_bytes) + " bytes");
  if (h.coll == Coll::kAllReduce) {
    if (h.bytes_per_rank != 0 || h.window_offset != 0)
      return bad("an all-reduce with bytes per rank or a window offset");
  } else {
    if (h.bytes_per_rank == 0 || h.bytes_per_rank > wire::kMaxMessageBytes)
      return field("number of bytes per rank", h.bytes_per_rank);
    uint64_t all = h.bytes_per_rank * nranks;  // at most 2^40 * 2^12
    if (h.window_offset > all || h.message_bytes > all - h.window_offset)
      return bad("a window " + number(h.window_offset) + "+" + number(h.message_bytes) + " outside the " +
                 number(all) + " bytes of all ranks");
  }
  size_t element = dtype_size(h.dtype);
  if (h.coll != Coll::kAllGather && (h.offset % element != 0 || h.length % element != 0))
    return bad("a slice " + number(h.offset) + "+" + number(h.length) + " that cuts elements of " +
               number(element) + " bytes");
  return {};
}

bool same_slice(const wire::SliceHeader& a, const wire::SliceHeader& b) {
  return a.coll == b.coll && a.dtype == b.dtype && a.op == b.op && a.message == b.message &&
         a.message_bytes == b.message_bytes && a.offset == b.offset && a.length == b.length &&
         a.bytes_per_rank == b.bytes_per_rank && a.window_offset == b.window_offset;
}

std::string disagreement(uint32_t rank_a, const wire::SliceHeader& a, uint32_t rank_b,
                         const wire::SliceHeader& b) {
  std::string na = name(a), nb = name(b);
  if (na == nb || a.coll != b.coll) na += range(a), nb += range(b);
  if (na == nb)
    na += std::string(" (operator ") + redop_name(a.op) + ")",
        nb += std::string(" (operator ") + redop_name(b.op) + ")";
  return "rank " + number(rank_a) + " sent " + na + ", rank " + number(rank_b) + " sent " + nb +
         "; all ranks must make the same calls in the same order";
}

}  // namespace fanin::reducer
