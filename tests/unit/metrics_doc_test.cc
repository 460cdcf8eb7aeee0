// The table in docs/metrics.md is what reducer/metrics/families.h says. FANIN_TEST_UPDATE=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "reducer/metrics/families.h"

namespace fanin::reducer::metrics {
namespace {

constexpr const char* kPage = "docs/metrics.md";
constexpr const char* kBegin = "<!-- made from reducer/metrics/families.h -->\n";
constexpr const char* kEnd = "<!-- end -->\n";

std::string table() {
  std::string text = "| name | type | label | |\n|---|---|---|---|\n";
  for (const Family& f : kFamilies) {
    text += "| `" + std::string(f.name) + "` | " + (f.kind == Kind::kCounter ? "counter" : "gauge") + " | ";
    if (*f.label) text += "`" + std::string(f.label) + "`: " + f.values;
    text += std::string(" | ") + f.help + " |\n";
  }
  return text;
}

TEST(MetricsPage, SaysWhatTheTableSays) {
  std::stringstream there;
  there << std::ifstream(kPage).rdbuf();
  const std::string page = there.str();
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << "run from the top folder";
  const size_t from = begin + strlen(kBegin);
  if (getenv("FANIN_TEST_UPDATE")) {
    std::ofstream(kPage) << page.substr(0, from) + table() + page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), table())
      << "run FANIN_TEST_UPDATE=1 build/tests/unit/metrics_doc_test and commit " << kPage;
}

// Prometheus' conventions: a prefix, base units, _total on counters and on nothing else.
TEST(MetricsPage, NamesFollowTheConventions) {
  for (const Family& f : kFamilies) {
    const std::string name = f.name;
    EXPECT_EQ(name.rfind("fanin_reducer_", 0), 0u) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_EQ(name.ends_with("_total"), f.kind == Kind::kCounter) << name;
    for (const char* unit : {"_ms", "_us", "_kib", "_mib", "_percent"})
      EXPECT_FALSE(name.ends_with(unit)) << name;
    const std::string help = f.help;
    EXPECT_TRUE(help.ends_with('.') && help.find('\n') == std::string::npos) << name;
  }
}

}  // namespace
}  // namespace fanin::reducer::metrics
