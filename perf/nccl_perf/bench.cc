#include "perf/nccl_perf/bench.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "perf/nccl_perf/rank.h"
#include "perf/nccl_perf/report.h"

namespace fanin::nccl_perf {
namespace {

bool is_fp8(DType t) { return t == DType::kE4M3 || t == DType::kE5M2; }

double combine(int average, const std::vector<double>& seconds) {
  switch (average) {
    case 0:
      return seconds.front();
    case 2:
      return *std::min_element(seconds.begin(), seconds.end());
    case 3:
      return *std::max_element(seconds.begin(), seconds.end());
    default:
      return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  }
}

class Bench {
 public:
  Bench(Team& team, int thread, const Options& options, Rank& rank)
      : team_(team), thread_(thread), options_(options), rank_(rank), report_(options, team.nranks()) {}

  Result<uint64_t> run() {
    if (Status s = introduce(); !s) return s.error();
    bool warm = false;
    for (const DType type : types_) {
      // All-gather reduces nothing; its data is that of max, full-range values.
      const std::vector<perf::CheckOp> none{perf::CheckOp::kMax};
      for (const perf::CheckOp op : options_.coll == Coll::kAllGather ? none : options_.ops) {
        if (Status s = warm ? Status() : warm_up(type, op); !s) return s.error();
        warm = true;
        const std::unique_ptr<perf::Checker> checker =
            options_.checks ? std::make_unique<perf::Checker>(type, op, team_.nranks()) : nullptr;
        for (const uint64_t bytes : sizes(options_))
          if (Status s = row(bytes, type, op, checker.get()); !s) return s.error();
      }
    }
    if (rank_.rank() == 0)
      if (Status s = report_.end(); !s) return s.error();
    return wrong_;
  }

 private:
  Status introduce() {
    Result<std::vector<std::string>> devices = team_.exchange(thread_, rank_.description());
    if (!devices) return devices.error();
    Result<std::vector<double>> fp8 = team_.exchange(thread_, rank_.can_reduce_fp8() ? 1.0 : 0.0);
    if (!fp8) return fp8.error();
    const bool everywhere = *std::min_element(fp8->begin(), fp8->end()) > 0;
    // With -d all, leave out what the hardware cannot reduce; asked for by name, let NCCL say so.
    const bool drop = options_.all_types && !everywhere;
    for (const DType t : options_.types)
      if (!(drop && is_fp8(t))) types_.push_back(t);
    if (rank_.rank() != 0) return {};
    int library = 0;
    if (Status s = nccl_status("ncclGetVersion", ncclGetVersion(&library)); !s) return s;
    report_.begin(NCCL_VERSION_CODE, library, *devices,
                  drop ? "f8e4m3 and f8e5m2 left out: they need NCCL 2.24 and compute capability 9.0" : "");
    return {};
  }

  Shape shape(uint64_t bytes, DType type) const {
    return shape_of(options_.coll, bytes, dtype_size(type), team_.nranks());
  }

  Status warm_up(DType type, perf::CheckOp op) {
    for (const uint64_t bytes : {options_.max_bytes, options_.min_bytes})
      if (Status s = rank_.warm_up({shape(bytes, type), type, op, false}); !s) return s;
    return {};
  }

  Status row(uint64_t bytes, DType type, perf::CheckOp op, const perf::Checker* checker) {
    const Shape s = shape(bytes, type);
    perf::Row row;
    row.bytes = s.largest() * dtype_size(type);
    row.count = s.count;
    row.type = dtype_name(type);
    row.redop = options_.coll == Coll::kAllGather ? "none" : perf::check_op_name(op);
    for (const bool in_place : {false, true}) {
      Result<perf::Cell> c = cell({s, type, op, in_place}, row.bytes, checker);
      if (!c) return c.error();
      (in_place ? row.in_place : row.out_of_place) = *c;
    }
    if (rank_.rank() == 0) report_.row(row);
    return {};
  }

  Result<perf::Cell> cell(const Case& c, uint64_t bytes, const perf::Checker* checker) {
    Result<double> mine = rank_.time(c);
    if (!mine) return mine.error();
    Result<std::vector<double>> all = team_.exchange(thread_, *mine);
    if (!all) return all.error();
    const double seconds = combine(options_.average, *all);
    perf::Cell cell;
    cell.us = seconds * 1e6;
    cell.bw = perf::bandwidth(options_.coll, bytes, seconds, team_.nranks());
    if (!checker) return cell;
    double wrong = 0;
    for (int i = 0; i < options_.checks; i++) {
      Result<uint64_t> w = rank_.check(c, *checker);
      if (!w) return w.error();
      wrong += static_cast<double>(*w);
    }
    all = team_.exchange(thread_, wrong);
    if (!all) return all.error();
    cell.wrong = static_cast<uint64_t>(std::accumulate(all->begin(), all->end(), 0.0));
    wrong_ += *cell.wrong;
    return cell;
  }

  Team& team_;
  const int thread_;
  const Options& options_;
  Rank& rank_;
  Report report_;
  std::vector<DType> types_;
  uint64_t wrong_ = 0;
};

}  // namespace

Result<uint64_t> bench(Team& team, int thread, int device, bool polite, const Options& options) {
  Result<std::unique_ptr<Rank>> rank = Rank::make(team, thread, device, polite, options);
  if (!rank) return rank.error();
  Result<uint64_t> wrong = Bench(team, thread, options, **rank).run();
  if (!wrong) {
    // Told before the communicator is aborted, which takes its time.
    team.fail("rank " + std::to_string((*rank)->rank()) + ": " + wrong.error().text());
    return wrong;
  }
  if (Status s = (*rank)->finish(); !s) return s.error();
  return wrong;
}

}  // namespace fanin::nccl_perf
