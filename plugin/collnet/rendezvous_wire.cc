#include "plugin/collnet/rendezvous_wire.h"

#include "fanin/error.h"

namespace fanin::plugin::collnet {
namespace {

constexpr size_t kMaxName = 300;
constexpr uint8_t kYes = 1, kMeasure = 2;  // bits of the first flag

// Goes into people's logs.
std::string text_of(ByteReader& in, size_t most) { return printable(in.get_text(most)); }

}  // namespace

std::string clipped_why(std::string why) {
  constexpr size_t kEllipsis = 3;
  return why.size() <= kMaxWhy ? why : printable(why, kMaxWhy - kEllipsis);
}

std::string version_differs(uint16_t theirs, const std::string& them, const std::string& them_at,
                            const std::string& us_at) {
  return them + " runs another version of fanin (version " + std::to_string(theirs) +
         " of the ranks' agreement, " + us_at + " has " + std::to_string(RendezvousHeader::kVersion) +
         "); upgrade libnccl-net-fanin.so on " + (theirs < RendezvousHeader::kVersion ? them_at : us_at);
}

std::string encode(RendezvousType type, const std::string& body) {
  const RendezvousHeader h{RendezvousHeader::kMagic, RendezvousHeader::kVersion, type,
                           static_cast<uint32_t>(body.size())};
  return std::string(reinterpret_cast<const char*>(&h), sizeof h) + body;
}

std::string encode_report(const Report& r) {
  ByteWriter w;
  w.put(r.session);
  w.put(r.rank);
  w.put(r.nranks);
  w.put_text(r.host, kMaxName);
  w.put(static_cast<uint8_t>((r.configured ? kYes : 0) | (r.measure ? kMeasure : 0)));
  w.put(static_cast<uint8_t>(r.strict));
  w.put(r.min_slice);
  w.put(r.node_mbps);
  w.put_text(r.config_error, kMaxReason);
  w.put(static_cast<uint32_t>(r.reached.size()));
  for (const Report::Reached& x : r.reached) {
    w.put(x.id);
    w.put_text(x.name, kMaxName);
    w.put(x.mbps);
  }
  w.put(static_cast<uint32_t>(r.missed.size()));
  for (const Report::Missed& x : r.missed) {
    w.put_text(x.name, kMaxName);
    w.put_text(x.why, kMaxWhy);
  }
  return w.take();
}

std::optional<Report> decode_report(std::span<const char> body) {
  ByteReader in(body);
  Report r;
  r.session = in.get<wire::SessionId>();
  r.rank = in.get<uint32_t>();
  r.nranks = in.get<uint32_t>();
  r.host = text_of(in, kMaxName);
  const auto flags = in.get<uint8_t>();
  r.configured = (flags & kYes) != 0;
  r.measure = (flags & kMeasure) != 0;
  r.strict = in.get<uint8_t>() != 0;
  r.min_slice = in.get<uint64_t>();
  r.node_mbps = in.get<uint32_t>();
  r.config_error = text_of(in, kMaxReason);
  const auto reached = in.get<uint32_t>();
  if (reached > kMaxReducers) return std::nullopt;
  for (uint32_t i = 0; i < reached && in.ok(); ++i) {
    Report::Reached x;
    x.id = in.get<wire::ReducerId>();
    x.name = text_of(in, kMaxName);
    x.mbps = in.get<uint32_t>();
    r.reached.push_back(std::move(x));
  }
  const auto missed = in.get<uint32_t>();
  if (missed > kMaxReducers) return std::nullopt;
  for (uint32_t i = 0; i < missed && in.ok(); ++i) {
    Report::Missed x;
    x.name = text_of(in, kMaxName);
    x.why = text_of(in, kMaxWhy);
    r.missed.push_back(std::move(x));
  }
  if (!in.complete()) return std::nullopt;
  return r;
}

std::string encode_verdict(const Verdict& v) {
  ByteWriter w;
  w.put(static_cast<uint8_t>((v.use ? kYes : 0) | (v.measure ? kMeasure : 0)));
  w.put(static_cast<uint8_t>(v.strict));
  w.put(v.min_slice);
  w.put(static_cast<uint32_t>(v.reducers.size()));
  for (const wire::ReducerId& id : v.reducers) w.put(id);
  w.put(static_cast<uint8_t>(!v.weights.empty()));
  for (const uint32_t weight : v.weights) w.put(weight);
  w.put_text(v.reason, kMaxReason);
  return w.take();
}

std::optional<Verdict> decode_verdict(std::span<const char> body) {
  ByteReader in(body);
  Verdict v;
  const auto flags = in.get<uint8_t>();
  v.use = (flags & kYes) != 0;
  v.measure = (flags & kMeasure) != 0;
  v.strict = in.get<uint8_t>() != 0;
  v.min_slice = in.get<uint64_t>();
  const auto n = in.get<uint32_t>();
  if (n > kMaxReducers) return std::nullopt;
  for (uint32_t i = 0; i < n && in.ok(); ++i) v.reducers.push_back(in.get<wire::ReducerId>());
  const auto weighted = in.get<uint8_t>();
  if (weighted > 1) return std::nullopt;
  for (uint32_t i = 0; weighted && i < n && in.ok(); ++i) {
    v.weights.push_back(in.get<uint32_t>());
    if (v.weights.back() == 0) return std::nullopt;
  }
  v.reason = text_of(in, kMaxReason);
  if (!in.complete() || v.use == v.reducers.empty()) return std::nullopt;
  return v;
}

}  // namespace fanin::plugin::collnet
