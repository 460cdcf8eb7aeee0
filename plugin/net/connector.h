// A connection being made to a listener: opens every socket, says Hello (and proves the secret) on each, and yields the
// SendComm.
//
// All sockets connect at once, without blocking; what is refused or unreachable is tried again, a little
// later each time, until the deadline, and so is what gets no answer. Needs nothing of the peer but its listener, so a thread may connect to
// itself before it accepts. One thread at a time.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "fanin/secret.h"
#include "plugin/net/frames.h"
#include "plugin/net/send_comm.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::net {

class Connector {
 public:
  struct Plan {
    tcp::Address target;
    tcp::Address source;  // the device's: each NIC uses its own link
    uint64_t nonce = 0;
    int data_sockets = 1;
    std::chrono::milliseconds timeout{};
    std::optional<Secret> secret{};  // that the handle asks for
    std::chrono::milliseconds keepalive = tcp::kKeepAlive;
    // With an attempt that gets no answer; then a new one: the kernel repeats a lost SYN after 1, 3 and 7 s only.
    std::chrono::milliseconds patience{2000};
  };
  explicit Connector(const Plan& plan);

  // Null until connected. kRemote when the deadline passes, with the last reason.
  Result<std::unique_ptr<SendComm>> progress();
  // Long past the deadline: whoever began it is gone.
  bool abandoned() const { return abandoned_.passed(); }

 private:
  struct Socket {
    Fd fd;                           // while connecting
    std::unique_ptr<Stream> stream;  // once connected
    size_t sent = 0;                 // of greeting
    struct {
      Hello hello;
      HelloProof proof;  // with a secret
    } greeting;
    Deadline patience = Deadline::never();  // with an address that does not answer
    Deadline retry = Deadline::after(std::chrono::milliseconds(0));
    std::chrono::milliseconds pause{10};
  };
  size_t greeting_bytes() const { return sizeof(Hello) + (secret_ ? sizeof(HelloProof) : 0); }
  bool ready(const Socket& s) const { return s.stream && s.sent == greeting_bytes(); }

  Status start(Socket& s);
  Status finish(Socket& s);
  Status prove(Socket& s);
  void greet(Socket& s);
  void again(Socket& s, std::string why);

  tcp::Address target_, source_;
  std::vector<Socket> sockets_;
  std::chrono::milliseconds timeout_;
  std::optional<Secret> secret_;
  std::optional<wire::Proof> answer_;  // what the peer is to say first on the control socket
  std::chrono::milliseconds keepalive_, patience_;
  Deadline deadline_, abandoned_;
  std::string last_reason_;
};

}  // namespace fanin::plugin::net
