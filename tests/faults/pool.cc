#include "tests/faults/pool.h"
#include "transport/sanitizers.h"

namespace fanin::faults {
namespace {

// An aborted session's connections are read to their end for five seconds at most.
constexpr milliseconds kSettle{8000};
// Allocators keep some; a leak of a session's blocks or of a frame per run is far more in the runs of a soak.
// AddressSanitizer keeps 256 MiB of what was freed, and finds leaks itself.
#ifdef FANIN_ASAN
constexpr size_t kGrowthKib = 300 << 10;
#else
constexpr size_t kGrowthKib = 16 << 10;
#endif

}  // namespace

Pool::Pool() {
  for (size_t i = 0; i < kReducers; ++i) {
    ports_.push_back(held_.emplace_back(tcp::Address::any(AF_INET, 0)).address().port());
    reducers_.push_back(start(i));
    idle_.push_back(test::Footprint::of(reducers_.back()->pid()));
  }
}

std::unique_ptr<test::ReducerProcess> Pool::start(size_t i) const {
  return std::make_unique<test::ReducerProcess>(
      kLanes, std::vector<std::string>{"--listen", "0.0.0.0:" + std::to_string(ports_[i]), "--memory", "256M",
                                       "--timeout-ms", std::to_string(kReducerTimeout.count())});
}

std::string Pool::list(const std::string& host) const {
  std::string text;
  for (uint16_t port : ports_) text += (text.empty() ? "" : ",") + host + ":" + std::to_string(port);
  return text;
}

void Pool::revive() {
  for (size_t i = 0; i < reducers_.size(); ++i)
    if (!reducers_[i]->running()) {
      reducers_[i].reset();
      reducers_[i] = start(i);
      idle_[i] = test::Footprint::of(reducers_[i]->pid());
    }
}

std::string Pool::leaks() {
  std::string text;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    test::Footprint now;
    auto clean = [&] { return (now = test::Footprint::of(reducers_[i]->pid())).within(idle_[i]); };
    if (!test::within(kSettle, clean))
      text += "LEAK: reducer " + std::to_string(i) + " has " + now.text() + ", idle it had " +
              idle_[i].text() + "; ";
  }
  return text;
}

std::string Pool::growth() {
  const size_t now = test::Footprint::of(reducers_[0]->pid()).resident_kib;
  if (++looks_ == 3) resident_kib_ = now;
  if (looks_ <= 3 || now <= resident_kib_ + kGrowthKib) return "";
  return "LEAK: reducer 0 grew from " + std::to_string(resident_kib_) + " to " + std::to_string(now) +
         " KiB in " + std::to_string(looks_ - 3) + " runs";
}

std::string Pool::story() const {
  std::string text;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    std::string said = reducers_[i]->said();
    if (said.size() > 3000) said = "…" + said.substr(said.size() - 3000);
    text += "reducer " + std::to_string(i) + " at port " + std::to_string(ports_[i]) + ":\n" + said;
  }
  return text;
}

}  // namespace fanin::faults
