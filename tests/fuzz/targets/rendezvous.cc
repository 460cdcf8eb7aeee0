// What ranks tell each other before they use reducers: rendezvous frames, reports, verdicts and the collnet handle.
//
// Checked besides memory: a frame is found in pieces as it is found whole; what was decoded encodes to the same; a verdict
// holds only reducers that every rank reached, and says why when it holds none.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "plugin/collnet/frame_socket.h"
#include "plugin/collnet/handle.h"
#include "plugin/collnet/rendezvous_wire.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"

namespace fanin::plugin::collnet {
namespace {

using fuzz::check;
using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;

void body(std::string_view bytes) {
  if (std::optional<Report> r = decode_report(bytes)) {
    const std::string again = encode_report(*r);
    std::optional<Report> same = decode_report(again);
    check(same && encode_report(*same) == again, "a report changes");
  }
  if (std::optional<Verdict> v = decode_verdict(bytes)) {
    const std::string again = encode_verdict(*v);
    std::optional<Verdict> same = decode_verdict(again);
    check(same && encode_verdict(*same) == again, "a verdict changes");
  }
}

// Frames through a socket.
void frames(Input in) {
  const int fd = kernel::socket();
  FrameSocket socket{Fd(fd)};
  for (int steps = 0; !in.done() && steps < 200; ++steps) {
    const uint8_t kind = in.u8();
    if (kind < 64) {
      kernel::deliver(fd, in.text(in.u8()));
    } else if (kind < 192) {
      std::string bytes =
          encode(static_cast<RendezvousType>(in.below(7)), std::string(in.text(in.u16() % 2048)));
      if (kind < 80) bytes[in.below(sizeof(RendezvousHeader))] ^= static_cast<char>(in.u8());
      const size_t pace = kind % 2 ? 1 + in.u8() : bytes.size();
      for (size_t at = 0; at < bytes.size(); at += pace) {
        kernel::deliver(fd, std::string_view(bytes).substr(at, pace));
        Result<std::optional<FrameSocket::Frame>> f = socket.poll_frame();
        if (!f) return;
        if (*f) body((*f)->body);
      }
    } else if (kind < 224) {
      kernel::end(fd);
    } else {
      kernel::fail(fd, ECONNRESET);
    }
    for (;;) {
      Result<std::optional<FrameSocket::Frame>> f = socket.poll_frame();
      if (!f) return;
      if (!*f) break;
      body((*f)->body);
    }
  }
}

std::string name(Input& in) {
  const uint8_t kind = in.u8();
  return kind < 224 ? std::string("reducer-") + static_cast<char>('0' + kind % 4)
                    : std::string(in.text(kind));
}

void decision(Input in) {
  std::vector<Report> reports(1 + in.below(5));
  for (uint32_t rank = 0; rank < reports.size(); ++rank) {
    Report& r = reports[rank];
    r.rank = rank;
    r.nranks = static_cast<uint32_t>(reports.size());
    r.host = name(in);
    const uint8_t flags = in.u8();
    r.configured = flags & 7;
    r.strict = (flags >> 3 & 7) == 7;
    r.min_slice = in.number();
    if (flags >> 6 == 3) r.config_error = name(in);
    for (uint32_t i = 0, n = in.below(5); i < n; ++i) {
      Report::Reached x;
      x.id[0] = static_cast<uint8_t>(in.below(6));
      x.name = name(in);
      r.reached.push_back(x);
    }
    for (uint32_t i = 0, n = in.below(5); i < n; ++i) r.missed.push_back({name(in), name(in)});
    std::optional<Report> carried = decode_report(encode_report(r));
    check(carried.has_value(), "a report of ours is not understood");
    r = std::move(*carried);
  }
  const Verdict v = decide(reports);
  check(v.use == !v.reducers.empty(), "use without reducers");
  check(v.use || !v.reason.empty(), "no reason");
  for (const Report& r : reports)
    for (const wire::ReducerId& id : v.reducers)
      check(std::any_of(r.reached.begin(), r.reached.end(), [&](auto& x) { return x.id == id; }),
            "a reducer not all reached");
  std::optional<Verdict> carried = decode_verdict(encode_verdict(v));
  check(carried && carried->reducers == v.reducers && carried->use == v.use,
        "a verdict of ours is not understood");
}

void handles(Input in) {
  Handle h{};
  if (in.u8() % 2) {
    Result<Handle> made = make_handle(tcp::Address::any(in.u8() % 2 ? AF_INET : AF_INET6, in.u16()));
    check(static_cast<bool>(made), "no handle");
    h = *made;
    memset(h.nonce, 0, sizeof h.nonce);  // the same input does the same
    for (uint8_t n = in.u8() % 4; n > 0; --n)
      reinterpret_cast<char*>(&h)[in.below(sizeof h)] ^= static_cast<char>(in.u8());
  } else {
    const std::string_view given = in.text(sizeof h);
    if (!given.empty()) memcpy(&h, given.data(), given.size());
  }
  Result<tcp::Address> a = handle_address(h, in.u8(), tcp::Address::loopback(1));
  if (a) check(!a->text().empty(), "an address without text");
  void* both[2] = {&h, &h};
  session_id(both, 2);
}

}  // namespace
}  // namespace fanin::plugin::collnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fanin::plugin::collnet;
  fanin::fuzz::Input in(data, size);
  switch (in.below(5)) {
    case 0:
      body(in.rest());
      break;
    case 1:
    case 2:
      frames(in);
      break;
    case 3:
      decision(in);
      break;
    case 4:
      handles(in);
      break;
  }
  fanin::fuzz::kernel::reset();
  return 0;
}
