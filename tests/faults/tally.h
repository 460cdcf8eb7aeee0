// Findings of many runs, as a table by kind. One thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/faults/findings.h"

namespace fanin::faults {

class Tally {
 public:
  void add(const std::string& under, const Findings& findings);
  int runs() const { return runs_; }
  int bad() const { return bad_; }
  std::string table() const;
  // Appends a line per run, and reads such lines: soaks run in portions add up.
  static std::string line(const std::string& under, const Findings& findings);
  bool add_line(const std::string& line);

 private:
  struct Row {
    int runs = 0, missed = 0, right = 0, error = 0, ring = 0, mixed = 0;
    int hangs = 0, wrong = 0, leaks = 0, other = 0;
    int errors = 0, named = 0;
    std::vector<double> noticed;
  };
  std::map<std::string, Row> rows_;  // by "under kind"
  int runs_ = 0, bad_ = 0;
};

}  // namespace fanin::faults
