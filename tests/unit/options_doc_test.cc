// docs/options.md is what the option tables say. FANIN_TEST_UPDATE=1 writes the page anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>

#include "fanin/options.h"

namespace fanin {
namespace {

constexpr const char* kPage = "docs/options.md";

std::string type_text(const OptionSpec& o) {
  switch (o.type) {
    case OptionType::kText:
      return "text";
    case OptionType::kFlag:
      return "0 or 1";
    case OptionType::kInt:
      return std::to_string(o.min) + " to " + std::to_string(o.max);
    case OptionType::kSize:
      return "size, " + std::to_string(o.min) + " to " + std::to_string(o.max);
  }
  return "?";
}

std::string variable(const OptionSpec& o) {
  std::string name = "FANIN_REDUCER_";
  for (const char* c = o.name; *c; ++c) name += *c == '-' ? '_' : static_cast<char>(toupper(*c));
  return name;
}

std::string row(const std::string& name, const OptionSpec& o) {
  std::string fallback = *o.fallback ? "`" + std::string(o.fallback) + "`" : "";
  return "| " + name + " | " + fallback + " | " + type_text(o) + " | " + o.help + " |\n";
}

std::string page() {
  std::string text =
      "# Options\n\nMade from the tables in include/fanin/options.h; a test compares. Sizes take K, M, G and "
      "T (powers of "
      "1024).\n\n## In the job (environment)\n\nRead once, when NCCL loads the plugin. An unknown `FANIN_*` "
      "name or a bad "
      "value is a warning in NCCL's log; the default is used then. NCCL's own `NCCL_SOCKET_IFNAME` and "
      "`NCCL_SOCKET_FAMILY` choose the interfaces.\n\n| variable | default | values | |\n|---|---|---|---|\n";
  for (const OptionSpec& o : kPluginOptions) text += row("`" + std::string(o.name) + "`", o);
  text +=
      "\n## fanin-reducer\n\nThe command line wins over the environment, the environment over the file named "
      "by `--config` "
      "(INI or TOML; `--print-config` prints one).\n\n| option | variable | default | values | "
      "|\n|---|---|---|---|---|\n";
  for (const OptionSpec& o : kReducerOptions)
    text += row("`--" + std::string(o.name) + "` | `" + variable(o) + "`", o);
  return text;
}

TEST(OptionsPage, SaysWhatTheTablesSay) {
  if (getenv("FANIN_TEST_UPDATE")) std::ofstream(kPage) << page();
  std::ifstream in(kPage);
  ASSERT_TRUE(in) << "run from the top folder";
  std::stringstream there;
  there << in.rdbuf();
  EXPECT_EQ(there.str(), page()) << "run FANIN_TEST_UPDATE=1 build/tests/unit/options_doc_test and commit "
                                 << kPage;
}

}  // namespace
}  // namespace fanin
