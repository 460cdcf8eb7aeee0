// Answers questions for figures (fanin/figures.h): a communicator's ranks ask, and when the last has, all get the same
// answer. When not all have within kFiguresPatience, all that have are told so.
//
// The one promise: "agreed" is told only to ranks of a communicator all of whose ranks have asked here. A rank that has
// asked and is told nothing knows that it must not go on.
// Lives on the acceptor's thread, which polls fd(); constant work and memory per question, of which there are at most
// kMaxQuestions. Never blocks.
#pragma once
#include <list>
#include <map>
#include <tuple>

#include "fanin/figures.h"
#include "transport/deadline.h"
#include "transport/epoll.h"
#include "transport/fd.h"

namespace fanin::reducer {

class Council {
 public:
  static constexpr size_t kMaxQuestions = 65536;

  static Result<Council> make(std::chrono::milliseconds patience);
  int fd() const { return epoll_.fd(); }  // readable when turn() has work
  bool full() const { return silent_.size() + asked_.size() >= kMaxQuestions; }
  // A connection that was welcomed; the FiguresAsk is to come.
  void take(Fd fd, const wire::Hello& hello);
  void turn();
  Deadline due() const;

 private:
  using Name = std::tuple<wire::SessionId, uint32_t, wire::KeyId>;
  struct Question {
    Fd fd;
    Name name;
    Deadline deadline = Deadline::never();  // for the ask itself
    size_t have = 0;
    wire::FiguresAsk ask{};
    std::list<Question>::iterator self;
  };
  // All have the same time, so lists are in the order of deadlines.
  struct Gathering {
    Name name;
    Deadline deadline = Deadline::never();
    wire::FiguresAnswer answer{};
    std::list<std::list<Question>::iterator> asked;
  };

  Council(Epoll epoll, std::chrono::milliseconds patience) : epoll_(std::move(epoll)), patience_(patience) {}
  void read(Question& question);
  void count(Question& question);
  void drop(Question& question);
  void answer(std::list<Gathering>::iterator gathering, bool agreed);

  Epoll epoll_;
  std::chrono::milliseconds patience_;
  std::list<Question> silent_, asked_, ended_;  // ended: events of this turn may still name them
  std::list<Gathering> gatherings_;
  std::map<Name, std::list<Gathering>::iterator> by_name_;
};

}  // namespace fanin::reducer
