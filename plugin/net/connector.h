// A connection being made to a listener: opens every socket, says Hello on each, and yields the SendComm.
//
// All sockets connect at once, without blocking; what is refused or unreachable is tried again, a little
// later each time, until the deadline. Needs nothing of the peer but its listener, so a thread may connect to
// itself before it accepts. One thread at a time.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fanin/error.h"
#include "plugin/net/frames.h"
#include "plugin/net/send_comm.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::plugin::net {

class Connector {
 public:
  struct Plan {
    tcp::Address target;
    tcp::Address source;  // the device's: each NIC uses its own link
    uint64_t nonce = 0;
    int data_sockets = 1;
    std::chrono::milliseconds timeout{};
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
    size_t sent = 0;                 // of hello
    Hello hello;
    Deadline retry = Deadline::after(std::chrono::milliseconds(0));
    std::chrono::milliseconds pause{10};
    bool ready() const { return stream && sent == sizeof(Hello); }
  };

  Status start(Socket& s);
  Status finish(Socket& s);
  void say_hello(Socket& s);
  void again(Socket& s, std::string why);

  tcp::Address target_, source_;
  std::vector<Socket> sockets_;
  std::chrono::milliseconds timeout_;
  Deadline deadline_, abandoned_;
  std::string last_reason_;
};

}  // namespace fanin::plugin::net
