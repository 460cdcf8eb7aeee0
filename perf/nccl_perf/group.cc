#include "perf/nccl_perf/group.h"

#include <poll.h>

#include <memory>

#include "perf/nccl_perf/packing.h"

namespace fanin::nccl_perf {
Result<std::unique_ptr<Group>> Group::make(int process, int processes, std::vector<Peer> peers) {
  Result<Wake> wake = Wake::make();
  if (!wake) return wake.error();
  return std::unique_ptr<Group>(new Group(process, processes, std::move(peers), *std::move(wake)));
}

Group::Group(int process, int processes, std::vector<Peer> peers, Wake wake)
    : process_(process), processes_(processes), wake_(std::move(wake)) {
  for (Peer& p : peers) lines_.emplace_back(std::move(p));
  if (!lines_.empty()) reader_ = std::thread([this] { read_loop(); });
}

Group::~Group() {
  for (Line& line : lines_) {
    const std::lock_guard lock(line.sending);
    (void)line.peer.send(MessageKind::kGoodbye, "");
  }
  stopping_ = true;
  wake_.notify();
  if (reader_.joinable()) reader_.join();
}

std::string Group::name_of(const Line& line) const {
  if (process_ != 0) return "process 0";
  for (size_t i = 0; i < lines_.size(); i++)
    if (&lines_[i] == &line) return "process " + std::to_string(i + 1);
  return "a process";
}

void Group::read_loop() {
  while (!stopping_) {
    std::vector<pollfd> fds{{wake_.fd(), POLLIN, 0}};
    std::vector<Line*> who;
    for (Line& line : lines_) {
      if (!line.open) continue;  // written by this thread only
      fds.push_back({line.peer.fd(), POLLIN, 0});
      who.push_back(&line);
    }
    ::poll(fds.data(), fds.size(), -1);
    for (size_t i = 0; i < who.size() && !stopping_; i++)
      if (fds[i + 1].revents != 0) receive_from(*who[i]);
  }
}

void Group::receive_from(Line& line) {
  Result<Message> message = line.peer.receive();
  if (message && message->kind == MessageKind::kData) {
    const std::lock_guard lock(mutex_);
    line.inbox.push_back(std::move(message->body));
    changed_.notify_all();
    return;
  }
  if (message && message->kind == MessageKind::kFailure) return set_failure(message->body, &line);
  // The reason first: whoever waits for this line wakes up and looks for it.
  if (!message) set_failure(name_of(line) + " is gone (" + message.error().text() + ")", &line);
  const std::lock_guard lock(mutex_);
  line.open = false;
  line.lost = !message;
  changed_.notify_all();
}

void Group::set_failure(const std::string& why, const Line* from) {
  if (failing_.exchange(true)) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_.load(); });  // whoever returns from here finds the run failed
    return;
  }
  // Told to the others before it is known here: otherwise this process could say goodbye first, and they would take it for
  // a run that just ended early.
  for (Line& line : lines_) {
    if (&line == from) continue;
    const std::lock_guard lock(line.sending);
    (void)line.peer.send(MessageKind::kFailure, why);  // whoever is gone needs no telling
  }
  const std::lock_guard lock(mutex_);
  failure_ = why;
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void Group::fail(const std::string& why) { set_failure(why, nullptr); }

std::string Group::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool Group::reports() const {
  const std::lock_guard lock(mutex_);
  return process_ == 0 || lines_[0].lost;
}

Status Group::send(Line& line, const std::string& body) {
  const std::lock_guard lock(line.sending);
  return line.peer.send(MessageKind::kData, body);
}

Result<std::string> Group::next_from(Line& line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || !line.open || !line.inbox.empty(); });
  if (failed_) return Error(Errc::kRemote, failure_);
  if (line.inbox.empty()) return Error(Errc::kRemote, name_of(line) + " left early");
  std::string body = std::move(line.inbox.front());
  line.inbox.pop_front();
  return body;
}

Result<std::vector<std::string>> Group::exchange(const std::string& mine) {
  if (failed()) return Error(Errc::kRemote, failure());
  if (process_ != 0) {
    if (Status s = send(lines_[0], mine); !s) return s.error();
    Result<std::string> all = next_from(lines_[0]);
    if (!all) return all.error();
    std::optional<std::vector<std::string>> parts = unpack(*all);
    if (!parts || parts->size() != static_cast<size_t>(processes_))
      return Error(Errc::kRemote, "process 0 sent a damaged message");
    return *std::move(parts);
  }
  std::vector<std::string> parts{mine};
  for (Line& line : lines_) {
    Result<std::string> part = next_from(line);
    if (!part) return part.error();
    parts.push_back(*std::move(part));
  }
  const std::string all = pack(parts);
  for (Line& line : lines_)
    if (Status s = send(line, all); !s) return s.error();
  return parts;
}

}  // namespace fanin::nccl_perf
