#include "reducer/acceptor.h"

#include <fcntl.h>
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
// A port scanner must not fill the log; a job that is refused says so on its own side too.
constexpr std::chrono::milliseconds kStrangerInterval{60000}, kRefusalInterval{10000};
constexpr size_t kStrangerLines = 64, kRefusalLines = 256;
constexpr std::string_view kDescriptor = "held a file descriptor that others need";

wire::ReducerId random_id() {
  wire::ReducerId id{};
  if (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
    std::random_device device;
    for (auto& byte : id) byte = static_cast<uint8_t>(device());
  }
  return id;
}

// With the port that the listener has got.
std::string rails_text(std::vector<tcp::Rail> rails, bool chosen, int listener) {
  const Result<tcp::Address> at = tcp::local_address(listener);
  for (tcp::Rail& r : rails) r.address.set_port(at ? at->port() : 0);
  const std::string first(chosen ? tcp::kChosenRails : "");
  return at ? first + tcp::rails_text(rails, wire::kMaxText - first.size()) : "";
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::start(const ReducerConfig& config, Fd listener,
                                                  SessionTable& table, const SecretBook& secrets,
                                                  Deliver deliver) {
  Result<Epoll> epoll = Epoll::make();
  if (!epoll) return epoll.error();
  Result<Wake> wake = Wake::make();
  if (!wake) return wake.error();
  Result<Epoll> council = Epoll::make();
  if (!council) return council.error();
  std::unique_ptr<Acceptor> a(new Acceptor(config, std::move(listener), table, secrets, std::move(deliver),
                                           *std::move(epoll), *std::move(wake), *std::move(council)));
  if (Status s = a->epoll_.add(a->council_.fd(), EPOLLIN, &a->council_); !s) return s.error();
  if (Status s = a->epoll_.add(a->listener_.get(), EPOLLIN, &a->listener_); !s) return s.error();
  if (Status s = a->epoll_.add(a->wake_.fd(), EPOLLIN, &a->wake_); !s) return s.error();
  if (!a->keep_spare()) return system_error("no descriptor to spare", errno);
  Result<std::thread> thread = start_thread("fanin-accept", [p = a.get()] { p->run(); });
  if (!thread) return thread.error();
  a->thread_ = *std::move(thread);
  return a;
}

Acceptor::Acceptor(const ReducerConfig& config, Fd listener, SessionTable& table, const SecretBook& secrets,
                   Deliver deliver, Epoll epoll, Wake wake, Epoll council)
    : config_(config),
      listener_(std::move(listener)),
      table_(table),
      secrets_(secrets),
      deliver_(std::move(deliver)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      council_(std::move(council),
               {config.figures_patience, config.max_half_open, config.max_half_open_per_address},
               [this](const tcp::Address& from, GuestEnd how, std::string_view what) {
                 how == GuestEnd::kAnswered ? counters_.ended(how) : count_stranger(from, how, what);
               }),
      reducer_id_(random_id()),
      rails_(rails_text(config.rails, config.rails_chosen, listener_.get())),
      stranger_lines_(kStrangerInterval, kStrangerLines),
      refusal_lines_(kRefusalInterval, kRefusalLines) {}

Acceptor::~Acceptor() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  wake_.notify();
  thread_.join();
}

void Acceptor::run() {
  on_thread_.check();  // binds it
  epoll_event events[64];
  while (!stop_.load(std::memory_order_acquire)) {
    bool accept = false;
    for (const epoll_event& e : epoll_.wait(events, sleep_ms())) {
      if (e.data.ptr == &wake_)
        wake_.drain();
      else if (e.data.ptr == &listener_)
        accept = true;
      else if (e.data.ptr == &council_)
        continue;  // below, in every turn
      else if (auto* guest = static_cast<Guest*>(e.data.ptr); guest->fd)
        read(*guest);
    }
    council_.turn();
    drop_expired();
    if (accept_again_ && accept_again_->passed()) {
      accept_again_.reset();
      if (!epoll_.add(listener_.get(), EPOLLIN, &listener_)) accept_again_ = Deadline::after(kExhaustedPause);
    }
    if (accept && !accept_again_) accept_some();
    guests_.sweep();
    counters_.waiting(guests_.size() + council_.size());
  }
}

int Acceptor::sleep_ms() const {
  Deadline next = council_.due();
  if (!guests_.empty()) next = next.sooner(guests_.oldest().deadline);
  return (accept_again_ ? next.sooner(*accept_again_) : next).poll_ms();
}

void Acceptor::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<Fd> fd = tcp::accept_from(listener_.get());
    if (!fd) {
      if (make_room(kDescriptor)) continue;
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
    welcome_in(*std::move(fd));
  }
}

void Acceptor::welcome_in(Fd fd) {
  counters_.accepted();
  Result<tcp::Address> from = tcp::remote_address(fd.get());
  if (!from) return counters_.ended(GuestEnd::kHungUp);  // gone already
  if (!config_.allow.empty() && !config_.allow.contains(*from))
    return count_stranger(*from, GuestEnd::kNotAllowed, "is not of a network that --allow names");
  const PeerKey key = peer_key(*from);
  if (guests_.size_of(key) >= config_.max_half_open_per_address)
    stranger(guests_.oldest_of(key), GuestEnd::kCrowdedOut,
             "was the oldest of its address's unfinished handshakes (--max-half-open-per-address)");
  else if (guests_.size() >= config_.max_half_open)
    stranger(guests_.oldest(), GuestEnd::kCrowdedOut,
             "was the oldest unfinished handshake (--max-half-open)");
  else if (!has_memory())
    make_room("held memory that others need");
  Guest& guest = guests_.add(std::move(fd), *from, Deadline::after(config_.handshake_timeout));
  if (Status s = epoll_.add(guest.fd.get(), EPOLLIN, &guest); !s) {
    stranger(guest, GuestEnd::kCrowdedOut, "cannot be watched: " + s.error().text());
    return;
  }
  read(guest);  // a worker's Hello is usually here by now
}

// Takes back the descriptor that a newcomer was let in with; false when there is none.
bool Acceptor::keep_spare(const Guest* for_whom) {
  do {
    if (!spare_) spare_ = Fd(::fcntl(wake_.fd(), F_DUPFD_CLOEXEC, 0));
  } while (!spare_ && make_room(kDescriptor, for_whom));
  return static_cast<bool>(spare_);
}

// One who waits gives up what others need: of handshakes or of questions, whichever are more, so that neither kind takes all
// from the other. False when nobody waits but who it is for.
bool Acceptor::make_room(std::string_view what, const Guest* for_whom) {
  const bool guest = !guests_.empty() && &guests_.oldest() != for_whom;
  if (council_.size() > (guest ? guests_.size() : 0))
    council_.make_room(what);
  else if (guest)
    stranger(guests_.oldest(), GuestEnd::kCrowdedOut, what);
  else
    return false;
  return true;
}

void Acceptor::read(Guest& guest) {
  on_thread_.check();
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
  if (n <= 0) return stranger(guest, GuestEnd::kHungUp, "went away without a word");
  switch (guest.intro.took(static_cast<size_t>(n), config_.lanes, secrets_)) {
    case Introduction::Step::kMore:
      return;
    case Introduction::Step::kStranger:
      return stranger(guest, GuestEnd::kNotFanin, "does not speak fanin's protocol");
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
    stranger(guest, GuestEnd::kHungUp, "went away in the handshake");
}

void Acceptor::introduce(Guest& guest) {
  const wire::Hello& hello = guest.intro.hello();
  if ((hello.capabilities & wire::kAsk) != 0) return answer(guest);
  if (!keep_spare(&guest))
    return refuse(
        guest, wire::Refusal::kTooMany,
        "this reducer is out of file descriptors; raise its limit on open files (ulimit -n) or add reducers");
  if (!has_memory())
    return refuse(guest, wire::Refusal::kNoMemory,
                  "this reducer's process is out of memory; raise its limit (ulimit -v, or the host's on "
                  "overcommitted memory), lower --memory or add reducers");
  if (hello.lane == wire::kFiguresLane) return introduce_to_council(guest);
  const std::string peer = guest.from.text();
  Admission a = table_.admit(hello, peer, guest.intro.secret_name());
  if (!a.session) return refuse(guest, a.refusal, a.text);
  if (a.first)
    log("session " + a.session->name + ": " + std::to_string(a.session->nranks) + " ranks, " +
        std::to_string(a.session->window_blocks) + " blocks of window, " +
        std::to_string(a.session->bytes >> 20) + " MiB of memory, opened by " + peer +
        (a.session->secret.empty() ? "" : " with the secret '" + a.session->secret + "'"));
  wire::Welcome welcome{};
  welcome.lanes = config_.lanes;
  welcome.block_bytes = config_.block_bytes;
  welcome.window_blocks = a.session->window_blocks;
  welcome.capabilities = a.session->checksums ? wire::kChecksums : 0;
  welcome.reducer = reducer_id_;
  std::string bytes = guest.intro.welcome(welcome, "");
  epoll_.remove(guest.fd.get());
  Status tuned = tcp::tune(guest.fd.get(), config_.keepalive);
  tcp::keep_in_cache(guest.fd.get(), tcp::kLaneBuffer);
  // Into an empty socket buffer, as the challenge.
  if (!tuned || ::send(guest.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
                    static_cast<ssize_t>(bytes.size())) {
    table_.leave(a.session, hello.lane, hello.rank);
    counters_.ended(GuestEnd::kHungUp);
    return drop(guest);
  }
  counters_.ended(GuestEnd::kAdmitted);
  auto stream = std::make_unique<tcp::TcpStream>(std::move(guest.fd));
  deliver_(Arrival{std::move(stream), a.session, hello.lane, hello.rank});
  drop(guest);
}

void Acceptor::answer(Guest& guest) {
  counters_.ended(GuestEnd::kAnswered);
  tell(guest, wire::Refusal::kAnswer, rails_);
}

void Acceptor::introduce_to_council(Guest& guest) {
  wire::Welcome welcome{};
  welcome.lanes = config_.lanes;
  welcome.block_bytes = config_.block_bytes;
  welcome.window_blocks = 1;
  welcome.reducer = reducer_id_;
  const std::string bytes = guest.intro.welcome(welcome, "");
  epoll_.remove(guest.fd.get());
  if (::send(guest.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(bytes.size()))
    return stranger(guest, GuestEnd::kHungUp, "went away in the handshake");
  council_.take(std::move(guest.fd), guest.from, guest.intro.hello());
  drop(guest);
}

void Acceptor::refuse(Guest& guest, wire::Refusal why, std::string_view text) {
  counters_.refused(why);
  if (auto more = refusal_lines_.line(guest.key, static_cast<uint32_t>(why), Deadline::Clock::now()))
    log("refused " +
        (guest.intro.has_hello() ? "rank " + std::to_string(guest.intro.hello().rank) + " at "
                                 : std::string()) +
        guest.from.text() + ": " + std::string(text) + *more);
  tell(guest, why, text);
}

void Acceptor::tell(Guest& guest, wire::Refusal why, std::string_view text) {
  wire::Welcome welcome{};
  welcome.refusal = why;
  if (guest.intro.proved() || !secrets_.required()) {  // else a stranger: why not, and nothing more
    welcome.lanes = config_.lanes;
    welcome.block_bytes = config_.block_bytes;
    welcome.reducer = reducer_id_;
  }
  std::string bytes = guest.intro.welcome(welcome, text);
  bool sent = ::send(guest.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
              static_cast<ssize_t>(bytes.size());
  // Closing with unread bytes would reset the connection and might destroy what was told on its way: read to
  // the end, bounded by the handshake's deadline.
  if (!sent || ::shutdown(guest.fd.get(), SHUT_WR) != 0) return drop(guest);
  guest.refused = true;
}

void Acceptor::stranger(Guest& guest, GuestEnd why, std::string_view what) {
  if (!guest.refused) count_stranger(guest.from, why, what);
  drop(guest);
}

void Acceptor::count_stranger(const tcp::Address& from, GuestEnd why, std::string_view what) {
  counters_.ended(why);
  if (auto more = stranger_lines_.line(peer_key(from), static_cast<uint32_t>(why), Deadline::Clock::now()))
    log("dropped a connection from " + from.text() + ": it " + std::string(what) + *more);
}

void Acceptor::drop(Guest& guest) {
  on_thread_.check();
  guests_.remove(guest);
}

void Acceptor::drop_expired() {
  while (!guests_.empty() && guests_.oldest().deadline.passed())
    stranger(guests_.oldest(), GuestEnd::kSilent, "did not introduce itself in time");
}

void Acceptor::log(const std::string& line) const {
  if (config_.log) config_.log(line);
}

}  // namespace fanin::reducer
