#include "tests/faults/relay.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/faults/relay_loop.h"
#include "transport/tcp/socket.h"

namespace fanin::faults {
namespace {

[[noreturn]] void give_up(const char* what) {
  perror(what);
  abort();
}

}  // namespace

Relay::Relay(const std::vector<uint16_t>& upstream) {
  std::vector<Fd> listeners;
  for (size_t i = 0; i < upstream.size(); ++i) {
    Result<Fd> fd = tcp::listen_on(tcp::Address::loopback(0));
    if (!fd) give_up("the relay cannot listen");
    ports_.push_back(tcp::local_address(fd->get())->port());
    listeners.push_back(*std::move(fd));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) give_up("socketpair");
  control_.reset(ends[0]);
  Fd other(ends[1]);
  fflush(nullptr);
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) give_up("fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  control_.reset();
  signal(SIGPIPE, SIG_IGN);
  RelayLoop(std::move(other), std::move(listeners), upstream).run();
  _exit(0);
}

Relay::~Relay() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string Relay::list() const {
  std::string text;
  for (size_t i = 0; i < ports_.size(); ++i) text += (i ? "," : "") + address(i);
  return text;
}

void Relay::order(const RelayOrder& order) {
  const bool passes = order.what == RelayOrder::What::kPass;
  if (!passes) struck_ = false;
  if (::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
    give_up("the relay is gone");
  // A hit of the order before may still be in the queue.
  for (char answer = 0; answer != RelayLoop::kTaken;) {
    if (::recv(control_.get(), &answer, 1, 0) != 1) give_up("the relay is gone");
    struck_ |= passes && answer == RelayLoop::kStruck;
  }
}

bool Relay::struck() {
  char answer;
  while (::recv(control_.get(), &answer, 1, MSG_DONTWAIT) == 1) struck_ |= answer == RelayLoop::kStruck;
  return struck_;
}

}  // namespace fanin::faults
