#include "perf/fanin_perf/measure.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "perf/common/clock.h"
#include "perf/common/iteration_times.h"
#include "perf/fanin_perf/syscall_count.h"

namespace fanin::perf {
namespace {

// What one rank counted over the timed iterations.
struct Count {
  double elapsed, process_cpu, thread_cpu;
  uint64_t syscalls;
};

struct Snapshot {
  double wall = seconds(CLOCK_MONOTONIC);
  double process_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  double thread_cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
  uint64_t syscalls = syscalls_so_far().value_or(0);
};

struct ReducerSnapshot {
  explicit ReducerSnapshot(const LocalReducers& r)
      : cpu(r.cpu_seconds()), syscalls(r.syscalls().value_or(0)) {}
  double cpu;
  uint64_t syscalls;
};

constexpr int kStale = 0xff;   // behind the data, as old buffer contents would be: NaN in every float type
constexpr int kPoison = 0xee;  // in the result before it arrives

}  // namespace

uint64_t usable_bytes(const Options& o, uint64_t bytes) {
  uint64_t unit = dtype_size(o.type) * (o.coll == Coll::kAllReduce ? 1 : static_cast<uint64_t>(o.nranks));
  return std::max(bytes / unit, uint64_t{1}) * unit;
}

Status Meter::prepare() {
  uint64_t largest = 0, touched = 0;
  for (uint64_t b = options_.begin; b <= options_.end; b *= options_.factor) {
    largest = std::max(largest, usable_bytes(options_, b));
    touched = std::max<uint64_t>(touched, engine_.touched_bytes(usable_bytes(options_, b)));
  }
  auto recv = Memory::make(std::max(largest, touched));
  if (!recv) return recv.error();
  recv_ = std::move(*recv);
  if (!options_.in_place) {
    auto send = Memory::make(std::max(largest, touched));
    if (!send) return send.error();
    send_ = std::move(*send);
    memset(send_.span().data(), kStale, send_.span().size());
  }
  memset(recv_.span().data(), kStale, recv_.span().size());
  return engine_.attach({options_.in_place ? recv_.span() : send_.span(), recv_.span()});
}

Work Meter::work(uint64_t bytes) const {
  Work w{options_.coll, options_.type, options_.op, bytes, send_.span().data(), recv_.span().data()};
  if (options_.in_place) {
    // As NCCL defines in place: a rank's share lies where it belongs in the whole.
    size_t share = bytes / static_cast<uint64_t>(options_.nranks) * static_cast<uint64_t>(group_.rank());
    w.send = w.recv;
    if (w.coll == Coll::kAllGather) w.send += share;
    if (w.coll == Coll::kReduceScatter) w.recv += share;
  }
  return w;
}

Result<Measurement> Meter::run(uint64_t wanted) {
  Measurement m;
  m.bytes = usable_bytes(options_, wanted);
  m.count = m.bytes / dtype_size(options_.type);
  if (options_.coll != Coll::kAllReduce) m.count /= static_cast<uint64_t>(options_.nranks);
  Work w = work(m.bytes);

  fill(w);
  double announced = seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < options_.warmup; i++)
    if (Status s = engine_.run(w, options_.patience); !s) return s.error();
  std::vector<double> ends(static_cast<size_t>(options_.iters));
  if (Status s = group_.barrier(); !s) return s.error();
  // Every rank is between the two barriers of this size: the reducers are idle now.
  ReducerSnapshot reducers_before(reducers_);
  if (Status s = group_.barrier(); !s) return s.error();
  Snapshot before;
  for (int i = 0; i < options_.iters; i++) {
    if (Status s = engine_.run(w, options_.patience); !s) return s.error();
    double now = seconds(CLOCK_MONOTONIC);
    ends[static_cast<size_t>(i)] = now - before.wall;
    if (now - announced > 0.25) {
      announced = now;
      progress_(std::to_string(m.bytes) + " bytes: iteration " + std::to_string(i + 1) + " of " +
                std::to_string(options_.iters));
    }
  }
  Snapshot after;
  auto counts =
      group_.all_gather_value(Count{after.wall - before.wall, after.process_cpu - before.process_cpu,
                                    after.thread_cpu - before.thread_cpu, after.syscalls - before.syscalls});
  if (!counts) return counts.error();
  ReducerSnapshot reducers_after(reducers_);
  auto gathered = iteration_times(group_, ends);
  if (!gathered) return gathered.error();
  const std::vector<double>& times = *gathered;
  m.min_s = times.front();
  m.p99_s = times[(times.size() - 1) * 99 / 100];
  m.median_s = (times[times.size() / 2] + times[(times.size() - 1) / 2]) / 2;
  uint64_t syscalls = 0;
  for (const Count& c : *counts) {
    m.elapsed_s = std::max(m.elapsed_s, c.elapsed);
    m.workers_cpu_s += c.process_cpu;
    m.progress_cpu_s += c.thread_cpu;
    syscalls += c.syscalls;
  }
  m.mean_s = m.elapsed_s / options_.iters;
  double moved_mb = static_cast<double>(m.bytes) * options_.iters * options_.nranks / 1e6;
  if (syscalls_countable()) m.worker_calls_per_mb = static_cast<double>(syscalls) / moved_mb;
  if (reducers_.count() > 0) {
    m.reducers_cpu_s = reducers_after.cpu - reducers_before.cpu;
    if (syscalls_countable())
      m.reducer_calls_per_mb =
          static_cast<double>(reducers_after.syscalls - reducers_before.syscalls) / moved_mb;
  }

  if (options_.check) {
    auto wrong = check(w);
    if (!wrong) return wrong.error();
    auto all = group_.all_gather_value(*wrong);
    if (!all) return all.error();
    m.wrong = 0;
    for (uint64_t n : *all) *m.wrong += n;
  }
  return m;
}

// all_gather copies; its values come from any operator's table.
Checker Meter::checker() const {
  return Checker(options_.type, static_cast<CheckOp>(options_.op), options_.nranks);
}

void Meter::fill(const Work& w) const {
  size_t count = w.bytes / dtype_size(w.type);
  if (w.coll == Coll::kAllGather) count /= static_cast<size_t>(options_.nranks);
  checker().fill(group_.rank(), 0, const_cast<std::byte*>(w.send), count);
}

// One more iteration, on fresh input.
Result<uint64_t> Meter::check(const Work& w) const {
  size_t size = dtype_size(w.type), count = w.bytes / size,
         share = count / static_cast<size_t>(options_.nranks);
  auto rank = static_cast<size_t>(group_.rank());
  memset(recv_.span().data(), kPoison, w.bytes);
  fill(w);
  if (Status s = engine_.run(w, options_.patience); !s) return s.error();
  Checker checker = this->checker();
  if (w.coll == Coll::kAllReduce) return checker.count_wrong(0, w.recv, count);
  if (w.coll == Coll::kReduceScatter) return checker.count_wrong(rank * share, w.recv, share);
  uint64_t wrong = 0;
  for (int r = 0; r < options_.nranks; r++)
    wrong += checker.count_wrong_copy(r, 0, w.recv + static_cast<size_t>(r) * share * size, share);
  return wrong;
}

}  // namespace fanin::perf
