#include "tests/faults/tally.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace fanin::faults {
namespace {

bool any(const std::vector<std::string>& bad, const char* head) {
  return std::any_of(bad.begin(), bad.end(),
                     [&](const std::string& b) { return b.find(head) != std::string::npos; });
}

}  // namespace

// under kind moment struck end noticed errors named hang wrong leak other
std::string Tally::line(const std::string& under, const Findings& f) {
  const bool hang = any(f.bad, "HANG"), wrong = any(f.bad, "WRONG RESULT"), leak = any(f.bad, "LEAK");
  char text[256];
  snprintf(text, sizeof text, "%s %s %s %d %s %.4f %d %d %d %d %d %d", under.c_str(),
           facts(f.scenario.kind).name, moment_name(f.scenario.moment), f.struck,
           f.end.empty() ? "none" : f.end.c_str(), f.noticed_s, f.errors, f.named, hang, wrong, leak,
           !f.bad.empty() && !hang && !wrong && !leak);
  return text;
}

void Tally::add(const std::string& under, const Findings& findings) { add_line(line(under, findings)); }

bool Tally::add_line(const std::string& line) {
  std::istringstream in(line);
  std::string under, kind, moment, end;
  int struck, errors, named, hang, wrong, leak, other;
  double noticed;
  if (!(in >> under >> kind >> moment >> struck >> end >> noticed >> errors >> named >> hang >> wrong >>
        leak >> other))
    return false;
  Row& row = rows_[under + " " + kind];
  ++runs_, ++row.runs;
  row.missed += !struck;
  row.right += end == "right", row.error += end == "error", row.ring += end == "ring",
      row.mixed += end == "mixed";
  row.errors += errors, row.named += named;
  row.hangs += hang, row.wrong += wrong, row.leaks += leak, row.other += other;
  if (errors > 0) row.noticed.push_back(noticed);
  bad_ += hang || wrong || leak || other;
  return true;
}

std::string Tally::table() const {
  char text[256];
  snprintf(text, sizeof text, "%-22s %5s %6s | %6s %6s %6s %6s | %8s %8s %7s | %5s %5s %5s %5s\n", "fault",
           "runs", "missed", "right", "error", "ring", "mixed", "median s", "max s", "named", "hang", "wrong",
           "leak", "other");
  std::string out = text;
  Row all;
  auto print = [&](const std::string& name, Row r) {
    std::sort(r.noticed.begin(), r.noticed.end());
    const double median = r.noticed.empty() ? 0 : r.noticed[r.noticed.size() / 2];
    const double max = r.noticed.empty() ? 0 : r.noticed.back();
    char named[16] = "-";
    if (r.errors > 0) snprintf(named, sizeof named, "%d%%", 100 * r.named / r.errors);
    snprintf(text, sizeof text, "%-22s %5d %6d | %6d %6d %6d %6d | %8.3f %8.3f %7s | %5d %5d %5d %5d\n",
             name.c_str(), r.runs, r.missed, r.right, r.error, r.ring, r.mixed, median, max, named, r.hangs,
             r.wrong, r.leaks, r.other);
    out += text;
  };
  for (const auto& [name, r] : rows_) {
    print(name, r);
    all.runs += r.runs, all.missed += r.missed, all.right += r.right, all.error += r.error,
        all.ring += r.ring;
    all.mixed += r.mixed, all.hangs += r.hangs, all.wrong += r.wrong, all.leaks += r.leaks,
        all.other += r.other;
    all.errors += r.errors, all.named += r.named;
    all.noticed.insert(all.noticed.end(), r.noticed.begin(), r.noticed.end());
  }
  print("all", all);
  return out;
}

}  // namespace fanin::faults
