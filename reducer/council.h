// Answers questions for figures (fanin/figures.h): a communicator's ranks ask, and when the last has, all get the same
// answer. When one of them has waited for kFiguresPatience, went away or must make room, all that have asked are told that
// there is none. So is who makes room or is late without having asked.
//
// The one promise: "agreed" is told only to ranks of a communicator all of whose ranks have asked here. A rank that has
// asked and is told nothing knows that it must not go on.
//
// Strangers may ask, too: there are at most so many questions of one peer and of all; past that the oldest of the peer, or
// of the peer that has most, makes room.
// Lives on the acceptor's thread, which polls fd(). Never blocks.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <string_view>
#include <tuple>

#include "fanin/figures.h"
#include "reducer/guest_counters.h"
#include "reducer/peer_list.h"
#include "transport/epoll.h"

namespace fanin::reducer {

class Council {
 public:
  struct Limits {
    std::chrono::milliseconds patience;
    size_t questions, questions_of_peer;  // at least 1
  };
  // Called once for each connection that was taken, when it ends. what: for all but kAnswered, what it did.
  using Ended = std::function<void(const tcp::Address& from, GuestEnd how, std::string_view what)>;

  Council(Epoll epoll, const Limits& limits, Ended ended)
      : epoll_(std::move(epoll)), limits_(limits), ended_(std::move(ended)) {}
  int fd() const { return epoll_.fd(); }  // readable when turn() has work
  size_t size() const { return questions_.size(); }
  // A connection that was welcomed; the FiguresAsk is to come.
  void take(Fd fd, const tcp::Address& from, const wire::Hello& hello);
  void turn();
  // Gives one up, if there is any, for what others need.
  void make_room(std::string_view what);
  Deadline due() const { return questions_.empty() ? Deadline::never() : questions_.oldest().deadline; }

 private:
  using Name = std::tuple<wire::SessionId, uint32_t, wire::KeyId>;
  struct Gathering;
  struct Question : Visitor {
    Name name;
    size_t have = 0;
    wire::FiguresAsk ask{};
    Gathering* gathering = nullptr;  // set: it has asked
  };
  struct Gathering {
    wire::FiguresAnswer answer{};
    std::list<Question*> asked;
  };

  void read(Question& question);
  void count(Question& question);
  void crowd_out(Question& question, std::string_view what);
  void end(Question& question, GuestEnd how, std::string_view what);
  // Tells all that have asked; ended: whose end is known already.
  void answer(Gathering& gathering, bool agreed, const Question* ended = nullptr);

  Epoll epoll_;
  const Limits limits_;
  const Ended ended_;
  PeerList<Question> questions_;
  std::map<Name, Gathering> gatherings_;
};

}  // namespace fanin::reducer
