// fanin-reducer's command line as a function: what the fuzzer found. tests/e2e/reducer_cli_test.cc has the program.
#include "reducer/cli/command_line.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

namespace fanin::reducer::cli {
namespace {

bool printable_line(const std::string& text) {
  for (unsigned char c : text)
    if (c < 32 || c == 127) return false;
  return !text.empty() && text.size() < 2000;
}

TEST(CommandLine, WhatTheUserWroteIsPrintedWithoutControlCharacters) {
  for (const char* argument :
       {"-\2\2", "--la\nnes=3", "\x1b[2Jpositional", "--lanes=\r\n7", "--block=\x7f"}) {
    Result<CommandLine> line = read_command_line({argument}, {});
    ASSERT_FALSE(line) << argument;
    EXPECT_TRUE(printable_line(line.error().text())) << line.error().text();
  }
  const std::vector<std::string> environment = {"FANIN_REDUCER_LANES=\x1b[2J"};
  Result<CommandLine> line = read_command_line({}, environment);
  ASSERT_FALSE(line);
  EXPECT_TRUE(printable_line(line.error().text())) << line.error().text();
}

TEST(CommandLine, PrintConfigOfAnyValueReadsBackOrTheValueIsRefused) {
  for (const char* value :
       {"/a b", "/with\"quote", "/with'apostrophe", "/back\\slash", "[1,2]", "=", "0x10"}) {
    Result<CommandLine> line = read_command_line({std::string("--port-file=") + value}, {});
    ASSERT_TRUE(line) << value << ": " << line.error().text();
    const std::string path = testing::TempDir() + "fanin-command-line-" + std::to_string(getpid());
    std::ofstream(path) << config_file_of(line->settings);
    Result<CommandLine> again = read_command_line({"--config", path}, {});
    unlink(path.c_str());
    ASSERT_TRUE(again) << value << ": " << again.error().text();
    EXPECT_EQ(again->settings.text, line->settings.text) << value;
  }
  for (const char* value : {"/new\nline", "/x#y", "/\"both'"}) {
    Result<CommandLine> line = read_command_line({std::string("--port-file=") + value}, {});
    ASSERT_FALSE(line) << value;
    EXPECT_NE(line.error().text().find("that no configuration file can hold"), std::string::npos);
  }
}

TEST(CommandLine, ALongArgumentIsCutInTheMessage) {
  Result<CommandLine> line = read_command_line({"--" + std::string(100000, 'x')}, {});
  ASSERT_FALSE(line);
  EXPECT_TRUE(printable_line(line.error().text())) << line.error().text().size();
}

std::vector<std::string> warnings(const std::string& entry) {
  const std::vector<std::string> environment = {entry};
  Result<CommandLine> line = read_command_line({}, environment);
  EXPECT_TRUE(line) << entry;
  return line ? line->warnings : std::vector<std::string>();
}

TEST(CommandLine, UnknownVariablesAreWarnedOfWithTheNearestName) {
  const std::pair<const char*, const char*> cases[] = {
      {"FANIN_REDUCER_LANE=3", "unknown variable FANIN_REDUCER_LANE; did you mean FANIN_REDUCER_LANES?"},
      {"FANIN_LANES=3", "unknown variable FANIN_LANES; did you mean FANIN_REDUCER_LANES?"},
      {"FANIN_REDUCERLANES=3", "unknown variable FANIN_REDUCERLANES; did you mean FANIN_REDUCER_LANES?"},
      {"FANIN_REDUCER_LAINS=3", "unknown variable FANIN_REDUCER_LAINS; did you mean FANIN_REDUCER_LANES?"},
      {"FANIN_REDUCER_COLOUR=red", "unknown variable FANIN_REDUCER_COLOUR"},
      {"FANIN_WINDOWS=1M", "unknown variable FANIN_WINDOWS; did you mean FANIN_WINDOW?"},
      {"FANIN_SOMETHING_ELSE_ALTOGETHER=1", "unknown variable FANIN_SOMETHING_ELSE_ALTOGETHER"},
  };
  for (const auto& [entry, said] : cases) EXPECT_EQ(warnings(entry), std::vector<std::string>{said});
}

TEST(CommandLine, VariablesOfAJobAndOfKubernetesAreNotWarnedOf) {
  for (const char* entry :
       {"FANIN_REDUCERS=a:1", "FANIN_WINDOW=1M", "FANIN_REDUCER_SERVICE_HOST=10.0.0.1",
        "FANIN_REDUCER_PORT=tcp://10.0.0.1:4000", "FANIN_REDUCER_SERVICE_PORT_WORKERS=4000",
        "FANIN_REDUCER_PORT_4000_TCP_ADDR=10.0.0.1", "FANIN_TEST_UPDATE=1"})
    EXPECT_EQ(warnings(entry), std::vector<std::string>{}) << entry;
}

TEST(CommandLine, AnUnknownNameInTheConfigFileIsToldWithTheNearest) {
  const std::string path = testing::TempDir() + "fanin-command-line-" + std::to_string(getpid());
  std::ofstream(path) << "lane = 3\n";
  Result<CommandLine> line = read_command_line({"--config", path}, {});
  unlink(path.c_str());
  ASSERT_FALSE(line);
  EXPECT_NE(line.error().text().find("did you mean lanes?"), std::string::npos) << line.error().text();
}

}  // namespace
}  // namespace fanin::reducer::cli
