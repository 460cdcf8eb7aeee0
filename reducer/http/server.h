// A small HTTP server on a thread of its own: one request a connection, heads only, a few connections at a time.
//
// It is a door for strangers, so everything about a connection is bounded: its time (one deadline for reading the request
// and for sending the answer, however busily it trickles), the bytes kept of it, the bytes of all answers that are on
// their way, and the number of connections, of which the oldest makes room for the next. Addresses that are not allowed are closed unread; loopback is always allowed.
// Nothing blocks but the handler, which runs on the server's thread, for GET, HEAD (its body is dropped) and POST.
//
// Not a library's server: those at hand need a thread or a buffer without limit per connection, or libraries that a
// reducer's image would have to carry (docs/security.md).
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "fanin/error.h"
#include "reducer/http/request.h"
#include "reducer/http/response.h"
#include "transport/deadline.h"
#include "transport/epoll.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"
#include "transport/tcp/cidr.h"
#include "transport/thread_checker.h"
#include "transport/wake.h"

namespace fanin::reducer::http {

struct ServerConfig {
  tcp::Address listen;
  tcp::NetworkList allow;  // and loopback; empty: everyone
  unsigned max_connections = 64;
  std::chrono::milliseconds time{10000};  // for a request and its answer
};

struct ServerCounts {
  uint64_t open = 0;
  uint64_t answered = 0;  // requests that got a response, whatever its status
  uint64_t dropped = 0;   // not allowed, out of time, hung up, crowded out
};

class Server {
 public:
  using Handler = std::function<Response(const Request&, const ServerCounts&)>;
  static Result<std::unique_ptr<Server>> start(const ServerConfig& config, Handler handler);
  ~Server();  // closes all connections and joins the thread
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const tcp::Address& address() const { return address_; }
  ServerCounts counts() const;

 private:
  struct Connection {
    Fd fd;
    Deadline deadline = Deadline::never();
    std::string in, out;
    size_t sent = 0;
    bool answered = false;  // out is set
    bool shut = false;      // all was sent; read to the peer's end, so that no reset destroys the answer
    std::list<Connection>::iterator self;
  };

  Server(const ServerConfig& config, Handler handler, Fd listener, tcp::Address address, Epoll epoll,
         Wake wake);
  void run();
  void accept_some();
  void serve(Connection& c);
  void read(Connection& c);
  void answer(Connection& c, const Response& response, bool with_body);
  void write(Connection& c);
  void forget_answer(Connection& c);
  void close(Connection& c, bool dropped);
  int sleep_ms() const;

  const ServerConfig config_;
  const Handler handler_;
  Fd listener_;
  const tcp::Address address_;
  ThreadChecker on_thread_{"the status server"};
  Epoll epoll_;
  Wake wake_;
  std::list<Connection> open_,
      closed_;          // open_: oldest first, so in the order of deadlines; closed_: until the turn ends
  size_t answers_ = 0;  // bytes of all `out`
  std::optional<Deadline> accept_again_;  // set: out of descriptors, not listening until then
  std::atomic<uint64_t> n_open_{0}, n_answered_{0}, n_dropped_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace fanin::reducer::http
