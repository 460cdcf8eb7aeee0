#include "plugin/collnet/measured.h"

#include <strings.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "plugin/lasting.h"

namespace fanin::plugin::collnet {
namespace {

std::atomic<bool> expected{false};

struct Store {
  std::mutex mutex;
  std::deque<wire::PoolFigures> figures;
};
Store& kept() {
  static Lasting<Store> s([] { return Store(); });
  return *s;
}

}  // namespace

void expect_questions() { expected.store(true, std::memory_order_relaxed); }
bool questions_expected() {
  const char* const algorithm = getenv("NCCL_ALGO");
  const char* const tuner = getenv("NCCL_TUNER_PLUGIN");
  return expected.load(std::memory_order_relaxed) && !(algorithm && *algorithm) &&
         !(tuner && strcasecmp(tuner, "none") == 0);
}

void put(const wire::PoolFigures& figures) {
  Store& k = kept();
  const std::lock_guard lock(k.mutex);
  k.figures.push_back(figures);
  if (k.figures.size() > kMost) k.figures.pop_front();
}

std::optional<wire::PoolFigures> take() {
  Store& k = kept();
  const std::lock_guard lock(k.mutex);
  if (k.figures.empty()) return std::nullopt;
  const wire::PoolFigures figures = k.figures.back();
  k.figures.pop_back();
  return figures;
}

}  // namespace fanin::plugin::collnet
