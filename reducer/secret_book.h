// The secrets a reducer takes, by the id that a Hello names. Replaced as a whole when their file changes; any thread.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "fanin/secret_file.h"

namespace fanin::reducer {

class SecretBook {
 public:
  explicit SecretBook(std::vector<NamedSecret> secrets) { replace(std::move(secrets)); }
  void replace(std::vector<NamedSecret> secrets) {
    std::map<wire::KeyId, NamedSecret> next;
    for (NamedSecret& s : secrets) {
      const wire::KeyId id = s.secret.id();
      next.emplace(id, std::move(s));
    }
    std::lock_guard lock(mutex_);
    by_id_.swap(next);
  }
  // False: everyone may join.
  bool required() const {
    std::lock_guard lock(mutex_);
    return !by_id_.empty();
  }
  std::optional<NamedSecret> find(const wire::KeyId& id) const {
    std::lock_guard lock(mutex_);
    auto found = by_id_.find(id);
    return found == by_id_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<wire::KeyId, NamedSecret> by_id_;
};

}  // namespace fanin::reducer
