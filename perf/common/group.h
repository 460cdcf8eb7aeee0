// The ranks of one run, so that they can exchange handles, start together and compare results: the part
// NCCL's bootstrap plays in a job. A star over TCP with rank 0 in the middle; not meant to be fast.
//
// Each call is collective (every rank makes the same calls in the same order) and blocks until done, the
// deadline given to join has passed since its start, or a rank is gone, which every other rank then learns.
// One thread at a time.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "fanin/error.h"
#include "transport/deadline.h"
#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::perf {

class Group {
 public:
  // Rank 0: takes nranks-1 joiners from the listening socket. patience bounds this call and each later one.
  static Result<Group> host(const Fd& listener, int nranks, std::chrono::milliseconds patience);
  // Other ranks: connects to rank 0, which may still be starting.
  static Result<Group> join(const std::vector<tcp::Address>& root, int rank, int nranks,
                            std::chrono::milliseconds patience);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Everyone's `mine`, in rank order; all must have equal length.
  Result<std::vector<std::string>> all_gather(const std::string& mine);
  // One plain value of every rank.
  template <class T>
  Result<std::vector<T>> all_gather_value(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    auto all = all_gather(std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
    if (!all) return all.error();
    std::vector<T> out(all->size());
    for (size_t i = 0; i < out.size(); i++) memcpy(static_cast<void*>(&out[i]), (*all)[i].data(), sizeof(T));
    return out;
  }
  Status barrier();

 private:
  Group(int rank, int size, std::chrono::milliseconds patience)
      : rank_(rank), size_(size), patience_(patience) {}
  int rank_, size_;
  std::chrono::milliseconds patience_;
  std::vector<Fd> peers_;  // rank 0: by rank (0 empty); others: one, to rank 0
};

}  // namespace fanin::perf
