#include "topology/cli/plan_options.h"

#include <charconv>

#include "topology/rate.h"
#include "topology/sizing.h"

namespace fanin::topo {
namespace {

constexpr unsigned kMostReducers = 100000;

class Values {
 public:
  explicit Values(const std::map<std::string, std::string>& values) : values_(values) {}

  bool given(const std::string& name) const { return !text(name).empty(); }
  int64_t integer(const std::string& name) {
    Result<int64_t> v = parse_int(text(name), INT64_MIN, INT64_MAX);
    return v ? *v : 0;
  }
  uint64_t size(const std::string& name) {
    Result<int64_t> v = parse_size(text(name), 0, INT64_MAX);
    return v ? static_cast<uint64_t>(*v) : 0;
  }
  double rate(const std::string& name) {
    Result<double> v = parse_rate(text(name));
    if (!v) wrong(v.error().in("--" + name));
    return v ? *v : 1;
  }
  double number(const std::string& name, double most) {
    double v = -1;
    const std::string& t = text(name);
    const auto [end, failed] = std::from_chars(t.data(), t.data() + t.size(), v, std::chars_format::fixed);
    if (failed != std::errc() || end != t.data() + t.size() || !(v >= 0 && v <= most))
      wrong(Error(Errc::kInvalidUsage, "--" + name + ": " + fanin::quoted(t) + " is no number" +
                                           (most == 1 ? " from 0 to 1, as 0.3" : " of at least 0")));
    return v;
  }
  std::optional<double> price(const std::string& name) {
    if (!given(name)) return std::nullopt;
    return number(name, 1e9);
  }
  void wrong(Error e) {
    if (!error_) error_ = std::move(e);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const std::string& text(const std::string& name) const {
    static const std::string none;
    auto it = values_.find(name);
    return it == values_.end() ? none : it->second;
  }
  const std::map<std::string, std::string>& values_;
  std::optional<Error> error_;  // the first
};

}  // namespace

Result<PlanQuestion> plan_question(const std::map<std::string, std::string>& values) {
  Values v(values);
  for (const char* needed : {"workers", "worker-bw", "reducer-bw"})
    if (!v.given(needed))
      return Error(Errc::kInvalidUsage, std::string("plan needs --") + needed +
                                            "; for example: fanin-topo plan --workers 5 --worker-bw 100G "
                                            "--reducer-bw 32G");
  for (const OptionSpec& o : kPlanOptions)
    if (o.type != OptionType::kText && v.given(o.name))
      if (Status s = check_option(o, values.at(o.name)); !s)
        return Error(Errc::kInvalidUsage, "--" + s.error().text());
  PlanQuestion q;
  q.workers = static_cast<unsigned>(v.integer("workers"));
  q.worker = v.rate("worker-bw");
  q.reducer = v.rate("reducer-bw");
  if (v.given("reducers")) q.reducers = static_cast<unsigned>(v.integer("reducers"));
  q.price_worker = v.price("price-worker");
  q.price_reducer = v.price("price-reducer");
  q.comm_fraction = v.number("comm-fraction", 1);
  q.step_s = v.number("step-s", 1e9);
  if (q.step_s == 0) v.wrong(Error(Errc::kInvalidUsage, "--step-s is 0: a step takes some time"));
  q.bytes = v.size("bytes");
  q.window = v.size("window");
  q.block = v.size("block");
  q.lanes = static_cast<unsigned>(v.integer("lanes"));
  q.sessions = static_cast<unsigned>(v.integer("sessions"));
  if (q.price_worker.has_value() != q.price_reducer.has_value())
    v.wrong(
        Error(Errc::kInvalidUsage, "--price-worker and --price-reducer make sense together only; give both"));
  if (q.price_worker == 0.0 && q.price_reducer == 0.0)
    v.wrong(
        Error(Errc::kInvalidUsage, "--price-worker and --price-reducer are both 0; give prices, or neither"));
  if (sizing::reducers_to_match(q.workers, q.worker, q.reducer) > kMostReducers)
    v.wrong(Error(Errc::kInvalidUsage, "it would take more than " + std::to_string(kMostReducers) +
                                           " reducers; look at the units of --worker-bw and --reducer-bw"));
  if (v.error()) return *v.error();
  return q;
}

}  // namespace fanin::topo
