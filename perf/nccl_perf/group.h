// The processes of a run as one: exchange a text with all, and fail together.
//
// A star: process 0 holds a connection to every other one. One thread reads them all, so that the failure or
// death of any process is known everywhere at once, whatever the others are waiting for; it is joined by the
// destructor, which says goodbye first. exchange is called by one thread at a time, fail and failed by any.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fanin/error.h"
#include "perf/nccl_perf/peer.h"
#include "transport/wake.h"

namespace fanin::nccl_perf {

class Group {
 public:
  // In process 0, peers are processes 1 … processes-1; elsewhere, process 0 alone.
  static Result<std::unique_ptr<Group>> make(int process, int processes, std::vector<Peer> peers);
  ~Group();
  Group(const Group&) = delete;

  int process() const { return process_; }
  int processes() const { return processes_; }
  // Every process's text, in process order, once all have called this. An error when the run has failed.
  Result<std::vector<std::string>> exchange(const std::string& mine);

  // Ends the run everywhere; the first reason counts.
  void fail(const std::string& why);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::string failure() const;
  // Whether it falls to this process to tell the user: process 0, and who has lost it.
  bool reports() const;

 private:
  struct Line {
    Peer peer;
    std::mutex sending;
    std::deque<std::string> inbox;
    bool open = true, lost = false;  // lost: ended without a goodbye
    explicit Line(Peer p) : peer(std::move(p)) {}
  };

  Group(int process, int processes, std::vector<Peer> peers, Wake wake);
  void read_loop();
  void receive_from(Line& line);
  void set_failure(const std::string& why, const Line* from);
  Result<std::string> next_from(Line& line);
  Status send(Line& line, const std::string& body);
  std::string name_of(const Line& line) const;

  const int process_, processes_;
  std::deque<Line> lines_;
  mutable std::mutex mutex_;  // inboxes, open flags, failure text
  std::condition_variable changed_;
  std::atomic<bool> failing_{false}, failed_{false}, stopping_{false};
  std::string failure_;
  Wake wake_;
  std::thread reader_;
};

}  // namespace fanin::nccl_perf
