// Connections, oldest first, and which of them each peer has. All of a list have the same time to live, so they are also in
// the order of their deadlines. Work per change is logarithmic in the number of peers; memory in proportion to the
// connections. One thread.
#pragma once
#include <list>
#include <map>
#include <set>
#include <utility>

#include "reducer/peer_key.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::reducer {

// What a list knows of a connection; T derives from it.
struct Visitor {
  Fd fd;
  tcp::Address from;
  PeerKey key{};
  Deadline deadline = Deadline::never();
};

template <class T>
class PeerList {
 public:
  T& add(Fd fd, const tcp::Address& from, Deadline deadline) {
    auto self = all_.emplace(all_.end());
    self->fd = std::move(fd);
    self->from = from;
    self->key = peer_key(from);
    self->deadline = deadline;
    self->self = self;
    std::list<Node*>& mine = by_peer_[self->key];
    self->of_peer = mine.insert(mine.end(), &*self);
    sizes_.erase({mine.size() - 1, self->key});
    sizes_.emplace(mine.size(), self->key);
    return *self;
  }
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  T& oldest() { return all_.front(); }
  const T& oldest() const { return all_.front(); }
  size_t size_of(const PeerKey& key) const {
    auto found = by_peer_.find(key);
    return found == by_peer_.end() ? 0 : found->second.size();
  }
  T& oldest_of(const PeerKey& key) { return *by_peer_.find(key)->second.front(); }
  T& oldest_of_most() { return oldest_of(sizes_.rbegin()->second); }  // of the peer that has most
  // It is no longer in the list but stays in memory until sweep(): events of this turn may still name it.
  void remove(T& one) {
    Node& node = static_cast<Node&>(one);
    auto mine = by_peer_.find(node.key);
    sizes_.erase({mine->second.size(), node.key});
    mine->second.erase(node.of_peer);
    if (mine->second.empty())
      by_peer_.erase(mine);
    else
      sizes_.emplace(mine->second.size(), node.key);
    node.fd.reset();  // leaves epoll by itself
    removed_.splice(removed_.end(), all_, node.self);
  }
  void sweep() { removed_.clear(); }

 private:
  struct Node : T {
    typename std::list<Node>::iterator self;
    typename std::list<Node*>::iterator of_peer;
  };
  std::list<Node> all_, removed_;
  std::map<PeerKey, std::list<Node*>> by_peer_;
  std::set<std::pair<size_t, PeerKey>> sizes_;  // how many each has
};

}  // namespace fanin::reducer
