// What the user sees: nccl-tests' text on stdout and, if asked for, its JSON in a file. Used by rank 0's
// thread only.
#pragma once
#include <string>
#include <vector>

#include "fanin/error.h"
#include "perf/common/table.h"
#include "perf/nccl_perf/options.h"

namespace fanin::nccl_perf {

class Report {
 public:
  Report(const Options& options, int nranks) : options_(options), nranks_(nranks) {}
  // devices: one line per rank. note: a line before the table, may be empty.
  void begin(int nccl_headers, int nccl_library, const std::vector<std::string>& devices,
             const std::string& note);
  void row(const perf::Row& row);
  // The footer; then the JSON file, whose error is the result.
  Status end();

  uint64_t wrong() const { return wrong_; }

 private:
  std::string json() const;

  const Options& options_;
  const int nranks_;
  int nccl_library_ = 0;
  std::vector<std::string> devices_;
  std::vector<perf::Row> rows_;
  uint64_t wrong_ = 0;
};

}  // namespace fanin::nccl_perf
