// Point-to-point between workers: the receiving side (chunks), the sending side (credits), the listener (hellos) and the
// handle.
//
// The input is a script for one of them, with a peer that keeps to the protocol, bends it, or breaks off. Real comms over
// sockets in memory. Checked besides memory (receive buffers are of exact size): sockets are given back, a request that is done
// moved what it says, and what is written to the peer is whole frames.
#include <cerrno>
#include <memory>
#include <vector>

#include "plugin/net/handle.h"
#include "plugin/net/listen_comm.h"
#include "plugin/net/proof.h"
#include "plugin/net/recv_comm.h"
#include "plugin/net/send_comm.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kernel.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::plugin::net {
namespace {

using fuzz::check;
using fuzz::Input;
using fuzz::raw;
namespace kernel = fuzz::kernel;

struct Wires {
  std::vector<int> fds;
  std::vector<std::unique_ptr<Stream>> streams;
  explicit Wires(int n) {
    for (int i = 0; i < n; ++i) {
      fds.push_back(kernel::socket());
      streams.push_back(std::make_unique<tcp::TcpStream>(Fd(fds.back())));
    }
  }
};

// What happens to any socket.
void disturb(Input& in, const std::vector<int>& fds) {
  const int fd = fds[in.below(static_cast<uint32_t>(fds.size()))];
  switch (in.below(4)) {
    case 0:
      return kernel::end(fd);
    case 1:
      return kernel::fail(fd, ECONNRESET);
    case 2:
      return kernel::room(fd, in.u16() % 512);
    case 3:
      return kernel::room(fd, SIZE_MAX);
  }
}

class Receiving {
 public:
  explicit Receiving(Input in)
      : in_(in),
        wires_(2 + static_cast<int>(in_.below(3))),
        fds_(wires_.fds),
        comm_(std::move(wires_.streams)) {}

  void run() {
    for (int steps = 0; !in_.done() && steps < 400; ++steps) {
      switch (in_.below(8)) {
        case 0:
        case 1:
          post();
          break;
        case 2:
        case 3:
        case 4:
          chunk();
          break;
        case 5:
          kernel::deliver(any_data(), in_.text(in_.u8()));
          break;
        case 6:
          disturb(in_, fds_);
          break;
        case 7:
          break;
      }
      test();
    }
    check_credits();
  }

 private:
  struct Posted {
    Request* request;
    std::vector<std::vector<char>> buffers;
    uint32_t sequence;
    uint16_t slot;
  };
  int any_data() { return fds_[1 + in_.below(static_cast<uint32_t>(fds_.size() - 1))]; }

  void post() {
    Posted p;
    const int n = 1 + static_cast<int>(in_.below(kMaxGroupedReceives));
    std::vector<void*> data;
    std::vector<size_t> sizes;
    std::vector<int> tags;
    for (int i = 0; i < n; ++i) {
      p.buffers.emplace_back(in_.u8() * (1 + in_.below(3)));
      data.push_back(p.buffers.back().data());
      sizes.push_back(p.buffers.back().size());
      tags.push_back(static_cast<int>(in_.below(4)));
    }
    Result<Request*> r = comm_.irecv(n, data.data(), sizes.data(), tags.data());
    if (!r || !*r) return;
    p.request = *r;
    p.sequence = next_++;
    for (uint16_t slot = 0; slot < kMaxRequests; ++slot) {  // the first free one
      bool taken = false;
      for (const Posted& o : posted_) taken |= o.slot == slot;
      if (taken) continue;
      p.slot = slot;
      break;
    }
    posted_.push_back(std::move(p));
  }

  void chunk() {
    Chunk c;
    if (!posted_.empty()) {
      const Posted& p = posted_[in_.below(static_cast<uint32_t>(posted_.size()))];
      c.sequence = p.sequence;
      c.slot = p.slot;
      c.part = static_cast<uint16_t>(in_.below(static_cast<uint32_t>(p.buffers.size())));
      c.total = p.buffers[c.part].size();
      if (in_.u8() < 64) c.total = in_.below(static_cast<uint32_t>(c.total) + 1);
      if (in_.u8() % 2 && c.total) c.offset = in_.u8() % c.total;
      c.length = static_cast<uint32_t>(c.total - c.offset);
      if (in_.u8() < 64 && c.length) c.length = in_.u8() % c.length;
    }
    const uint8_t bend = in_.u8();
    if (bend >= 250)
      c.offset = in_.number(), c.total = in_.number(), c.length = static_cast<uint32_t>(in_.number());
    if (bend >= 240 && bend < 250) reinterpret_cast<uint8_t*>(&c)[in_.below(sizeof c)] ^= in_.u8();
    const int fd = any_data();
    kernel::deliver(fd, raw(c));
    kernel::deliver(fd, std::string(std::min<size_t>(c.length, bend == 239 ? in_.u8() : 1024), 'x'));
  }

  void test() {
    for (size_t i = 0; i < posted_.size();) {
      size_t sizes[kMaxGroupedReceives] = {};
      Result<bool> done = posted_[i].request->test(sizes);
      if (!done) return;
      if (!*done) {
        ++i;
        continue;
      }
      for (size_t p = 0; p < posted_[i].buffers.size(); ++p)
        check(sizes[p] <= posted_[i].buffers[p].size(), "more received than posted");
      posted_.erase(posted_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void check_credits() {
    std::string_view sent = kernel::sent(fds_[0]);
    while (sent.size() >= sizeof(Credit)) {
      Credit c;
      memcpy(&c, sent.data(), sizeof c);
      check(Grants::valid(c), "an impossible credit");
      sent.remove_prefix(std::min(sent.size(), sizeof c + c.parts * sizeof(CreditPart)));
    }
    for (size_t i = 1; i < fds_.size(); ++i) check(kernel::sent(fds_[i]).empty(), "the receiver sends data");
  }

  Input in_;
  Wires wires_;
  const std::vector<int> fds_;
  std::vector<Posted> posted_;  // outlives comm_, which writes into its buffers
  RecvComm comm_;
  uint32_t next_ = 0;
};

class Sending {
 public:
  explicit Sending(Input in)
      : in_(in),
        wires_(2 + static_cast<int>(in_.below(3))),
        fds_(wires_.fds),
        comm_(std::move(wires_.streams)) {}

  void run() {
    for (int steps = 0; !in_.done() && steps < 400; ++steps) {
      switch (in_.below(7)) {
        case 0:
        case 1:
          send();
          break;
        case 2:
        case 3:
        case 4:
          credit();
          break;
        case 5:
          kernel::deliver(fds_[0], in_.text(in_.u8()));
          break;
        case 6:
          disturb(in_, fds_);
          break;
      }
      test();
    }
    for (size_t i = 1; i < fds_.size(); ++i) check_chunks(kernel::sent(fds_[i]));
    check(kernel::sent(fds_[0]).empty(), "the sender writes credits");
  }

 private:
  void send() {
    auto data = std::make_unique<std::vector<char>>(in_.u16() % 700, 'y');
    Result<Request*> r = comm_.isend(data->data(), data->size(), static_cast<int>(in_.below(4)));
    if (r && *r) requests_.push_back(*r);
    data_.push_back(std::move(data));
  }
  void credit() {
    Credit c;
    c.sequence = in_.u8();
    c.slot = in_.below(kMaxRequests);
    c.parts = 1 + in_.below(kMaxGroupedReceives);
    const uint8_t bend = in_.u8();
    if (bend >= 245) c.slot = in_.u16(), c.parts = in_.u16();
    kernel::deliver(fds_[0], raw(c));
    for (int i = 0; i < std::min<int>(c.parts, kMaxGroupedReceives); ++i) {
      CreditPart part;
      part.bytes = bend < 200 ? in_.u16() : in_.number();
      part.tag = static_cast<int32_t>(in_.below(4));
      kernel::deliver(fds_[0], bend == 244 ? raw(part).substr(0, in_.below(sizeof part)) : raw(part));
    }
  }
  void test() {
    for (size_t i = 0; i < requests_.size();) {
      size_t size = 0;
      Result<bool> done = requests_[i]->test(&size);
      if (!done) return;
      if (*done)
        requests_.erase(requests_.begin() + static_cast<ptrdiff_t>(i));
      else
        ++i;
    }
  }
  static void check_chunks(std::string_view sent) {
    while (sent.size() >= sizeof(Chunk)) {
      Chunk c;
      memcpy(&c, sent.data(), sizeof c);
      check(c.slot < kMaxRequests && c.part < kMaxGroupedReceives && c.offset + c.length <= c.total &&
                c.reserved == 0,
            "an impossible chunk");
      sent.remove_prefix(sizeof c);
      check(sent.substr(0, c.length).find_first_not_of('y') == std::string_view::npos,
            "a wrong byte was sent");
      sent.remove_prefix(std::min<size_t>(sent.size(), c.length));
    }
  }

  Input in_;
  Wires wires_;
  const std::vector<int> fds_;
  std::vector<std::unique_ptr<std::vector<char>>> data_;  // outlives comm_, which reads it
  std::vector<Request*> requests_;
  SendComm comm_;
};

void listening(Input in) {
  static const Secret secret = *Secret::make("secret-of-the-fuzzer-0123456789");
  const uint8_t setting = in.u8();
  const bool asks = setting / 2 % 8 == 7;
  kernel::capture(true);
  Result<std::unique_ptr<ListenComm>> listener =
      ListenComm::open(tcp::Address::loopback(0), std::chrono::milliseconds(setting % 2 ? 0 : 60000),
                       asks ? std::optional<Secret>(secret) : std::nullopt);
  kernel::capture(false);
  check(static_cast<bool>(listener), "no listener");
  std::vector<int> fds;
  std::vector<std::unique_ptr<RecvComm>> comms;
  for (int steps = 0; !in.done() && steps < 200; ++steps) {
    if (fds.empty() || in.u8() < 128) fds.push_back(kernel::arrive());
    const int fd = fds[in.below(static_cast<uint32_t>(fds.size()))];
    const uint8_t kind = in.u8();
    if (kind < 200) {
      Hello h;
      h.count = static_cast<uint16_t>(1 + in.below(5));
      h.index = static_cast<uint16_t>(in.below(5));
      h.connection = in.below(3);
      h.nonce = kind < 190 ? (*listener)->nonce() : in.number();
      if (kind < 20) reinterpret_cast<uint8_t*>(&h)[in.below(sizeof h)] ^= in.u8();
      std::string hello(raw(h));
      if (asks) {
        h.proved = 1;
        HelloProof p;
        p.nonce[0] = in.u8();
        if (Result<tcp::Address> sender = tcp::remote_address(fd); sender && in.u8() < 128)
          p.proof = sender_proof(secret, h, p.nonce, {(*listener)->address(), *sender});
        hello = std::string(raw(h)) + std::string(raw(p));
      }
      kernel::deliver(
          fd, kind < 40 ? std::string_view(hello).substr(0, in.below(static_cast<uint32_t>(hello.size())))
                        : hello);
    } else if (kind < 220) {
      kernel::deliver(fd, in.text(in.u8() % 64));
    } else {
      kind % 2 ? kernel::end(fd) : kernel::fail(fd, ECONNRESET);
    }
    Result<std::unique_ptr<RecvComm>> comm = (*listener)->accept();
    if (comm && *comm) comms.push_back(std::move(*comm));
  }
}

void handle(Input in) {
  char bytes[kHandleBytes] = {};
  if (in.u8() % 2) {
    Handle h;
    h.listener = tcp::Address::any(in.u8() % 2 ? AF_INET : AF_INET6, in.u16());
    h.write(bytes);
    for (uint8_t n = in.u8() % 4; n > 0; --n) bytes[in.below(kHandleBytes)] ^= static_cast<char>(in.u8());
  } else {
    const std::string_view given = in.text(sizeof bytes);
    if (!given.empty()) memcpy(bytes, given.data(), given.size());
  }
  Result<Handle> h = Handle::read(bytes);
  if (!h) return;
  check(!h->listener.text().empty(), "an address without text");
  char again[kHandleBytes];
  h->write(again);
  Result<Handle> same = Handle::read(again);
  check(same && same->nonce == h->nonce && same->attempt == h->attempt && same->listener == h->listener,
        "a handle changes");
}

}  // namespace
}  // namespace fanin::plugin::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fanin::plugin::net;
  fanin::fuzz::Input in(data, size);
  switch (in.below(8)) {
    case 0:
    case 1:
    case 2:
      Receiving(in).run();
      break;
    case 3:
    case 4:
    case 5:
      Sending(in).run();
      break;
    case 6:
      listening(in);
      break;
    case 7:
      handle(in);
      break;
  }
  fanin::fuzz::kernel::reset();
  return 0;
}
