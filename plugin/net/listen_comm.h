// A listener: takes connections in, sorts their sockets by connection id and yields each connection once it
// is whole.
//
// Nothing a stranger does delays or disturbs it: sockets that do not say a proper Hello with the listener's
// nonce (and prove the secret) in time are dropped, and only a bounded number of silent ones is kept. Of each connection
// every socket is taken once, so that nothing heard on the network opens another. Never blocks; NCCL asks again and again,
// and is told at last when nobody comes. One thread at a time.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "fanin/error.h"
#include "fanin/secret.h"
#include "plugin/net/frames.h"
#include "plugin/net/recv_comm.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"
#include "transport/tcp/port_range.h"
#include "transport/tcp/socket.h"

namespace fanin::plugin::net {

class ListenComm {
 public:
  // Listens on the address, on a port of the range, or one chosen by the kernel. patience: how long accept may find nobody,
  // from its first call on; 0: for ever.
  static Result<std::unique_ptr<ListenComm>> open(const tcp::Address& at,
                                                  std::chrono::milliseconds hello_timeout,
                                                  const std::optional<Secret>& secret = std::nullopt,
                                                  std::chrono::milliseconds keepalive = tcp::kKeepAlive,
                                                  const std::optional<tcp::PortRange>& ports = std::nullopt,
                                                  std::chrono::milliseconds patience = {});

  const tcp::Address& address() const { return address_; }
  uint64_t nonce() const { return nonce_; }

  // Null until a whole connection is here. Error (kRemote), now and at each later call that finds nobody: patience is over.
  Result<std::unique_ptr<RecvComm>> accept();

 private:
  static constexpr size_t kMaxSilent = 256;
  static constexpr std::chrono::milliseconds kGrace{200};

  struct Newcomer {
    std::unique_ptr<Stream> stream;
    struct {
      Hello hello;
      HelloProof proof;  // with a secret
    } greeting;
    size_t got = 0;
    Deadline deadline;  // to have said its hello
    Deadline grace;     // is kept until then although descriptors are short
  };
  struct Group {
    uint64_t connection = 0;
    size_t here = 0;
    std::vector<std::unique_ptr<Stream>> streams;  // by index
    std::optional<wire::Proof> proof;              // ours, to say on the control socket
    bool whole() const { return here == streams.size(); }
  };
  enum class Verdict { kWait, kDrop, kFriend };

  ListenComm(Fd fd, tcp::Address address, std::chrono::milliseconds hello_timeout,
             const std::optional<Secret>& secret, std::chrono::milliseconds keepalive,
             std::chrono::milliseconds patience);
  Error nobody_came() const;
  Status take_newcomers();
  void hear_newcomers();
  Verdict hear(Newcomer& n) const;
  bool proved(const Newcomer& n) const;
  void join(Newcomer n);
  void drop_broken_groups();

  Fd fd_;
  tcp::Address address_;
  uint64_t nonce_;
  std::chrono::milliseconds hello_timeout_;
  std::optional<Secret> secret_;
  std::chrono::milliseconds keepalive_, patience_;
  std::optional<Deadline> give_up_;  // set while accept waits
  std::deque<Newcomer> newcomers_;
  std::deque<Group> groups_;       // in order of arrival
  std::vector<uint64_t> begun_{};  // connections there ever was a group of
};

}  // namespace fanin::plugin::net
