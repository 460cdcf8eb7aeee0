// The connections that are introducing themselves, oldest first, and how many each peer has. All have the same time to
// live, so they are also in the order of their deadlines. Constant work per change; memory in proportion to the guests. One
// thread.
#pragma once
#include <list>
#include <map>

#include "reducer/introduction.h"
#include "reducer/peer_key.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::reducer {

// A connection that is introducing itself, or that was refused and is being read to its end so that the refusal is not lost
// in a reset.
struct Guest {
  Fd fd;
  tcp::Address from;
  PeerKey key{};
  Deadline deadline = Deadline::never();
  bool refused = false;  // or answered
  Introduction intro;

 private:
  friend class GuestList;
  std::list<Guest>::iterator self;
  std::list<Guest*>::iterator of_peer;
};

class GuestList {
 public:
  Guest& add(Fd fd, const tcp::Address& from, Deadline deadline) {
    auto self = guests_.emplace(guests_.end());
    self->fd = std::move(fd);
    self->from = from;
    self->key = peer_key(from);
    self->deadline = deadline;
    self->self = self;
    std::list<Guest*>& mine = by_peer_[self->key];
    self->of_peer = mine.insert(mine.end(), &*self);
    return *self;
  }
  bool empty() const { return guests_.empty(); }
  size_t size() const { return guests_.size(); }
  Guest& oldest() { return guests_.front(); }
  const Guest& oldest() const { return guests_.front(); }
  size_t size_of(const PeerKey& key) const {
    auto found = by_peer_.find(key);
    return found == by_peer_.end() ? 0 : found->second.size();
  }
  Guest& oldest_of(const PeerKey& key) { return *by_peer_.find(key)->second.front(); }
  // The guest is no longer in the list but stays in memory until sweep(): events of this turn may still name it.
  void remove(Guest& guest) {
    auto mine = by_peer_.find(guest.key);
    mine->second.erase(guest.of_peer);
    if (mine->second.empty()) by_peer_.erase(mine);
    guest.fd.reset();  // leaves epoll by itself
    removed_.splice(removed_.end(), guests_, guest.self);
  }
  void sweep() { removed_.clear(); }

 private:
  std::list<Guest> guests_, removed_;
  std::map<PeerKey, std::list<Guest*>> by_peer_;
};

}  // namespace fanin::reducer
