#include "tests/support/collnet_rank.h"

#include <cstring>

#include "perf/common/check.h"
#include "perf/common/plugin_log.h"

namespace fanin::test {
namespace {

constexpr std::chrono::milliseconds kPatience{20000};
constexpr size_t kChannels = 10;  // two groups

uint64_t fnv(std::span<const std::byte> bytes) {
  uint64_t h = 14695981039346656037ull;
  for (std::byte b : bytes) h = (h ^ static_cast<uint64_t>(b)) * 1099511628211ull;
  return h;
}

}  // namespace

std::string CollnetRank::connect(perf::Group& group, bool expect_reducers) {
  rank_ = group.rank(), nranks_ = group.size();
  setenv("NCCL_COLLNET_ENABLE", "1", 1);
  perf::set_plugin_log(NCCL_LOG_NONE, "");
  auto plugin = perf::Plugin::open(built("lib/libnccl-net-fanin.so"));
  if (!plugin) return plugin.error().text();
  plugin_ = std::move(*plugin);
  auto comm = perf::CollComm::make(*plugin_, group);
  if (!comm) return comm.error().text();
  if (!comm->comm()) return expect_reducers ? "no reducers: " + perf::plugin_log_text() : "";
  auto engine =
      std::make_unique<perf::CollnetEngine>(std::move(*comm), rank_, nranks_, kChannels, false, true);
  size_t room = capacity_;
  for (size_t bytes = 1; bytes <= capacity_; bytes *= 2) room = std::max(room, engine->touched_bytes(bytes));
  room = std::max(room, engine->touched_bytes(capacity_));
  auto send = perf::Memory::make(room), recv = perf::Memory::make(room);
  if (!send || !recv) return "no memory";
  send_ = std::move(*send), recv_ = std::move(*recv);
  if (Status s = engine->attach({send_.span(), recv_.span()}); !s) return s.error().text();
  engine_ = std::move(engine);
  return "";
}

perf::Work CollnetRank::work(const Case& c) const {
  perf::Work w{c.coll, c.type, c.op, c.bytes, send_.span().data(), recv_.span().data()};
  if (c.in_place) {
    size_t share = c.bytes / static_cast<size_t>(nranks_) * static_cast<size_t>(rank_);
    w.send = w.recv;
    if (c.coll == Coll::kAllGather) w.send += share;
    if (c.coll == Coll::kReduceScatter) w.recv += share;
  }
  return w;
}

std::string CollnetRank::run(const Case& c) {
  perf::Work w = work(c);
  size_t size = dtype_size(c.type), count = c.bytes / size, share = count / static_cast<size_t>(nranks_);
  perf::Checker checker(c.type, static_cast<perf::CheckOp>(c.op), nranks_);
  memset(send_.span().data(), 0xff, send_.span().size());  // stale tails: NaN in every float type
  memset(recv_.span().data(), 0xee, recv_.span().size());
  checker.fill(rank_, c.seed, const_cast<std::byte*>(w.send), c.coll == Coll::kAllGather ? share : count);
  if (Status s = engine_->run(w, kPatience); !s) return s.error().text();

  size_t wrong = 0, got = c.coll == Coll::kReduceScatter ? share : count;
  if (c.coll == Coll::kAllReduce)
    wrong = checker.count_wrong(c.seed, w.recv, count);
  else if (c.coll == Coll::kReduceScatter)
    wrong = checker.count_wrong(c.seed + static_cast<size_t>(rank_) * share, w.recv, share);
  else
    for (size_t r = 0; r < static_cast<size_t>(nranks_); r++)
      wrong += checker.count_wrong_copy(static_cast<int>(r), c.seed, w.recv + r * share * size, share);
  digest_ = fnv({w.recv, got * size});
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(got) + " elements wrong: " + coll_name(c.coll) +
         " " + dtype_name(c.type) + " " + redop_name(c.op) + " of " + std::to_string(c.bytes) + " bytes" +
         (c.in_place ? ", in place" : "");
}

std::string CollnetRank::run_until_error(std::chrono::milliseconds patience,
                                         const std::function<void()>& say_running, Error* why) {
  Case c;
  perf::Work w = work(c);
  auto limit = std::chrono::steady_clock::now() + patience;
  for (bool said = false;; said = true) {
    if (Status s = engine_->run(w, patience); !s) {
      *why = s.error();
      return "";
    }
    if (!said) say_running();
    if (std::chrono::steady_clock::now() > limit) return "nothing failed";
  }
}

std::string CollnetRank::close() {
  if (!engine_) return "";
  Status s = engine_->close();
  engine_.reset();
  plugin_.reset();
  return s ? "" : s.error().text();
}

std::string run_cases(Rank& rank, const std::vector<CollnetRank::Case>& cases) {
  size_t capacity = 1;
  for (auto& c : cases) capacity = std::max(capacity, c.bytes);
  CollnetRank r(capacity);
  std::string failure = r.connect(rank.group());
  for (auto& c : cases)
    if (failure.empty()) failure = r.run(c);
  if (failure.empty()) rank.say("digest " + std::to_string(r.digest()));
  std::string closing = r.close();
  return failure.empty() ? closing : failure;
}

}  // namespace fanin::test
