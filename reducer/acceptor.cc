#include "reducer/acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "reducer/handshake.h"
#include "reducer/thread.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace fanin::reducer {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr std::chrono::milliseconds kExhaustedPause{100};
constexpr std::chrono::milliseconds kStrangerPause{60000};

wire::ReducerId random_id() {
  wire::ReducerId id{};
  if (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
    std::random_device device;
    for (auto& byte : id) byte = static_cast<uint8_t>(device());
  }
  return id;
}

std::string peer_of(int fd) {
  Result<tcp::Address> a = tcp::remote_address(fd);
  return a ? a->text() : "unknown peer";
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::start(const ReducerConfig& config, Fd listener,
                                                  SessionTable& table, const SecretBook& secrets,
                                                  Deliver deliver) {
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return epoll.error();
  Result<Wake> wake = Wake::make();
  if (!wake) return wake.error();
  std::unique_ptr<Acceptor> a(new Acceptor(config, std::move(listener), table, secrets, std::move(deliver),
                                           *std::move(epoll), *std::move(wake)));
  if (Status s = a->epoll_.add(a->listener_.get(), EPOLLIN, &a->listener_); !s) return s.error();
  if (Status s = a->epoll_.add(a->wake_.fd(), EPOLLIN, &a->wake_); !s) return s.error();
  if (!a->keep_spare()) return system_error("no descriptor to spare", errno);
  Result<std::thread> thread = start_thread("fanin-accept", [p = a.get()] { p->run(); });
  if (!thread) return thread.error();
  a->thread_ = *std::move(thread);
  return a;
}

Acceptor::Acceptor(const ReducerConfig& config, Fd listener, SessionTable& table, const SecretBook& secrets,
                   Deliver deliver, Epoll epoll, Wake wake)
    : config_(config),
      listener_(std::move(listener)),
      table_(table),
      secrets_(secrets),
      deliver_(std::move(deliver)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      reducer_id_(random_id()) {}

Acceptor::~Acceptor() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  wake_.notify();
  thread_.join();
}

void Acceptor::run() {
  epoll_event events[64];
  while (!stop_.load(std::memory_order_acquire)) {
    bool accept = false;
    for (const epoll_event& e : epoll_.wait(events, sleep_ms())) {
      if (e.data.ptr == &wake_)
        wake_.drain();
      else if (e.data.ptr == &listener_)
        accept = true;
      else if (auto* guest = static_cast<Guest*>(e.data.ptr); guest->fd)
        read(*guest);
    }
    drop_expired();
    if (accept_again_ && accept_again_->passed()) {
      accept_again_.reset();
      if (!epoll_.add(listener_.get(), EPOLLIN, &listener_)) accept_again_ = Deadline::after(kExhaustedPause);
    }
    if (accept && !accept_again_) accept_some();
    dropped_.clear();
  }
}

int Acceptor::sleep_ms() const {
  Deadline next = guests_.empty() ? Deadline::never() : guests_.front().deadline;
  return (accept_again_ ? next.sooner(*accept_again_) : next).poll_ms();
}

void Acceptor::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (guests_.size() >= kMaxWaiting) stranger(guests_.front(), "made no room in time");
    Result<Fd> fd = tcp::accept_from(listener_.get());
    if (!fd) {
      // accept() takes the descriptor first: without one it fails even when nobody waits.
      pollfd waiting{listener_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 0) == 0) return;
      if (!guests_.empty()) {  // whoever has waited longest gives its descriptor up
        stranger(guests_.front(), "held a file descriptor that others need");
        continue;
      }
      if (spare_) {  // enough to tell a worker why it cannot join
        spare_.reset();
        continue;
      }
      // The kernel keeps the queue. Without a pause this thread would spin on the readable listener.
      if (!told_exhausted_) log("cannot accept more connections: " + fd.error().text() + "; trying on");
      told_exhausted_ = true;
      epoll_.remove(listener_.get());
      accept_again_ = Deadline::after(kExhaustedPause);
      return;
    }
    if (!*fd) return;
    told_exhausted_ = false;
    auto self = guests_.emplace(guests_.end());
    self->fd = *std::move(fd);
    self->deadline = Deadline::after(config_.handshake_timeout);
    self->self = self;
    if (Status s = epoll_.add(self->fd.get(), EPOLLIN, &*self); !s) {
      log("cannot watch a new connection: " + s.error().text());
      drop(*self);
      continue;
    }
    read(*self);  // a worker's Hello is usually here by now
  }
}

// Takes back the descriptor that a newcomer was let in with; false when there is none.
bool Acceptor::keep_spare() {
  if (!spare_) spare_ = Fd(::fcntl(wake_.fd(), F_DUPFD_CLOEXEC, 0));
  return static_cast<bool>(spare_);
}

void Acceptor::read(Guest& guest) {
  if (guest.refused) {
    char sink[512];
    ssize_t n = ::recv(guest.fd.get(), sink, sizeof sink, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) drop(guest);
    return;
  }
  // Never a byte more than the handshake: what follows belongs to the lane.
  std::span<std::byte> room = guest.intro.room();
  ssize_t n = ::recv(guest.fd.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return stranger(guest, "went away without a word");
  switch (guest.intro.took(static_cast<size_t>(n), config_.lanes, secrets_)) {
    case Introduction::Step::kMore:
      return;
    case Introduction::Step::kStranger:
      return stranger(guest, "does not speak fanin's protocol");
    case Introduction::Step::kChallenge:
      return challenge(guest);
    case Introduction::Step::kRefuse:
      return refuse(guest, guest.intro.refusal(), guest.intro.text());
    case Introduction::Step::kAdmit:
      return introduce(guest);
  }
}

void Acceptor::challenge(Guest& guest) {
  const std::string bytes = guest.intro.challenge();
  // The first bytes into an empty socket buffer: all of them fit or the connection is dead.
  if (::send(guest.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(bytes.size()))
    stranger(guest, "went away in the handshake");
}

void Acceptor::introduce(Guest& guest) {
  const wire::Hello& hello = guest.intro.hello();
  if (!keep_spare())
    return refuse(
        guest, wire::Refusal::kTooMany,
        "this reducer is out of file descriptors; raise its limit on open files (ulimit -n) or add reducers");
  std::string peer = peer_of(guest.fd.get());
  Admission a = table_.admit(hello, peer);
  if (!a.session) return refuse(guest, a.refusal, a.text);
  if (a.first)
    log("session " + a.session->name + ": " + std::to_string(a.session->nranks) + " ranks, " +
        std::to_string(a.session->window_blocks) + " blocks of window, " +
        std::to_string(a.session->bytes >> 20) + " MiB of memory, opened by " + peer +
        (guest.intro.secret_name().empty() ? "" : " with the secret '" + guest.intro.secret_name() + "'"));
  wire::Welcome welcome{};
  welcome.lanes = config_.lanes;
  welcome.block_bytes = config_.block_bytes;
  welcome.window_blocks = a.session->window_blocks;
  welcome.reducer = reducer_id_;
  std::string bytes = guest.intro.welcome(welcome, "");
  epoll_.remove(guest.fd.get());
  Status tuned = tcp::tune(guest.fd.get());
  // Into an empty socket buffer, as the challenge.
  if (!tuned || ::send(guest.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
                    static_cast<ssize_t>(bytes.size())) {
    table_.leave(a.session, hello.lane, hello.rank);
    return drop(guest);
  }
  auto stream = std::make_unique<tcp::TcpStream>(std::move(guest.fd));
  deliver_(Arrival{std::move(stream), a.session, hello.lane, hello.rank});
  drop(guest);
}

void Acceptor::refuse(Guest& guest, wire::Refusal why, std::string_view text) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  log("refused " +
      (guest.intro.has_hello() ? "rank " + std::to_string(guest.intro.hello().rank) + " at "
                               : std::string()) +
      peer_of(guest.fd.get()) + ": " + std::string(text));
  wire::Welcome welcome{};
  welcome.refusal = why;
  welcome.lanes = config_.lanes;
  welcome.block_bytes = config_.block_bytes;
  welcome.reducer = reducer_id_;
  std::string bytes = guest.intro.welcome(welcome, text);
  bool sent = ::send(guest.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
              static_cast<ssize_t>(bytes.size());
  // Closing with unread bytes would reset the connection and might destroy the refusal on its way: read to
  // the end, bounded by the handshake's deadline.
  if (!sent || ::shutdown(guest.fd.get(), SHUT_WR) != 0) return drop(guest);
  guest.refused = true;
}

void Acceptor::stranger(Guest& guest, std::string_view what) {
  if (!guest.refused) {
    uint64_t total = strangers_.fetch_add(1, std::memory_order_relaxed) + 1;
    // One line a minute: a port scanner must not fill the log.
    if (tell_strangers_.passed()) {
      uint64_t more = total - strangers_told_ - 1;
      log("dropped a connection from " + peer_of(guest.fd.get()) + ": it " + std::string(what) +
          (more ? " (and " + std::to_string(more) + " more before it)" : ""));
      strangers_told_ = total;
      tell_strangers_ = Deadline::after(kStrangerPause);
    }
  }
  drop(guest);
}

void Acceptor::drop(Guest& guest) {
  guest.fd.reset();  // leaves epoll by itself
  dropped_.splice(dropped_.end(), guests_, guest.self);
}

void Acceptor::drop_expired() {
  while (!guests_.empty() && guests_.front().deadline.passed())
    stranger(guests_.front(), "did not introduce itself in time");
}

void Acceptor::log(const std::string& line) const {
  if (config_.log) config_.log(line);
}

}  // namespace fanin::reducer
