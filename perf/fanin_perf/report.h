// What rank 0 shows: the table on stdout as it grows, the progress line on a terminal, the JSON file at the
// end.
#pragma once
#include <string>
#include <vector>

#include "perf/fanin_perf/measure.h"
#include "perf/fanin_perf/options.h"

namespace fanin::perf {

struct RunFacts {
  double connect_s = 0;  // from listen to a usable communicator
  int local_reducers = 0;
  std::string pool;  // as given to the plugin; empty for a ring
};

class Report {
 public:
  Report(const Options& options, const RunFacts& facts);  // prints the heading
  void progress(const std::string& text);
  void add(const Measurement& m);
  // The last lines, and the file if one was asked for.
  Status finish();
  uint64_t wrong() const;

 private:
  std::string json() const;
  const Options& options_;
  RunFacts facts_;
  bool terminal_;
  bool line_shown_ = false;
  std::vector<Measurement> results_;
};

const char* coll_option(Coll c);

}  // namespace fanin::perf
