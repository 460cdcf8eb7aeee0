#include "fanin/options.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "plugin/log.h"
#include "plugin/options.h"

namespace fanin {
namespace {

constexpr int64_t kBig = int64_t{1} << 46;

TEST(ParseSize, UnitsArePowersOf1024) {
  EXPECT_EQ(*parse_size("65536", 0, kBig), 65536);
  EXPECT_EQ(*parse_size("64K", 0, kBig), 65536);
  EXPECT_EQ(*parse_size("16m", 0, kBig), 16 << 20);
  EXPECT_EQ(*parse_size("16MiB", 0, kBig), 16 << 20);
  EXPECT_EQ(*parse_size("1.5GB", 0, kBig), 3ll << 29);
  EXPECT_EQ(*parse_size("2T", 0, kBig), 2ll << 40);
}

TEST(ParseSize, RejectsWhatIsNoSize) {
  for (const char* bad : {"", "M", "-1", "1X", "1KK", "0.3", "nan", "inf", "1e400", "16M ", " 16M", "0x10"})
    EXPECT_FALSE(parse_size(bad, 0, kBig)) << bad;
}

TEST(ParseSize, RangeIsInclusiveAndNamedInTheError) {
  EXPECT_TRUE(parse_size("4K", 4096, 8192));
  EXPECT_TRUE(parse_size("8K", 4096, 8192));
  EXPECT_FALSE(parse_size("9K", 4096, 8192));
  EXPECT_EQ(parse_size("1K", 4096, 8192).error().text(),
            "'1K' is not a size from 4K to 8K (bytes, or a number with K, M, G or T)");
}

TEST(ParseInt, RejectsTailsAndOverflow) {
  EXPECT_EQ(*parse_int("-1", -1, 5), -1);
  for (const char* bad : {"", "1.0", "5x", "6", "99999999999999999999", "+1"})
    EXPECT_FALSE(parse_int(bad, -1, 5)) << bad;
}

TEST(ParseFlag, TakesTheUsualWords) {
  for (const char* yes : {"1", "true", "YES", "on"}) EXPECT_TRUE(*parse_flag(yes)) << yes;
  for (const char* no : {"0", "False", "no", "OFF"}) EXPECT_FALSE(*parse_flag(no)) << no;
  EXPECT_FALSE(parse_flag("2"));
}

TEST(OptionTable, EveryDefaultIsAValueOfItsOption) {
  for (const OptionSpec& spec : kPluginOptions) EXPECT_TRUE(check_option(spec, spec.fallback)) << spec.name;
  for (const OptionSpec& spec : kReducerOptions) EXPECT_TRUE(check_option(spec, spec.fallback)) << spec.name;
}

TEST(OptionTable, EveryOptionIsOneSentenceWithARangeThatHoldsSomething) {
  auto check = [](const OptionSpec& spec) {
    EXPECT_EQ(std::string(spec.help).back(), '.') << spec.name;
    EXPECT_TRUE(spec.type == OptionType::kText || spec.min < spec.max) << spec.name;
  };
  for (const OptionSpec& spec : kPluginOptions) check(spec);
  for (const OptionSpec& spec : kReducerOptions) check(spec);
}

TEST(OptionTable, NearestName) {
  EXPECT_EQ(nearest_option(kPluginOptions, "FANIN_REDUCER"), "FANIN_REDUCERS");
  EXPECT_EQ(nearest_option(kPluginOptions, "FANIN_CONECT_TIMEOUT"), "FANIN_CONNECT_TIMEOUT_MS");
  EXPECT_EQ(nearest_option(kPluginOptions, "SOMETHING_ELSE_ALTOGETHER"), "");
}

std::string g_log;
void capture(int level, unsigned long, const char*, int, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char text[2048];
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (level == NCCL_LOG_WARN) g_log += std::string(text) + "\n";
}

class PluginOptions : public testing::Test {
 protected:
  void SetUp() override {
    g_log.clear();
    plugin::set_logger(capture);
  }
  void TearDown() override {
    for (const char* name : {"FANIN_WINDOW", "FANIN_STRICT", "FANIN_REDUCER", "FANIN_PORT_RANGE"})
      unsetenv(name);
    plugin::set_logger(nullptr);
  }
};

TEST_F(PluginOptions, DefaultsWarnOfNothing) {
  plugin::Options o = plugin::read_options();
  EXPECT_EQ(o.window, 16u << 20);
  EXPECT_FALSE(o.strict);
  EXPECT_EQ(g_log, "");
}

TEST_F(PluginOptions, ReadsValues) {
  setenv("FANIN_WINDOW", "4M", 1);
  setenv("FANIN_STRICT", "true", 1);
  plugin::Options o = plugin::read_options();
  EXPECT_EQ(o.window, 4u << 20);
  EXPECT_TRUE(o.strict);
}

TEST_F(PluginOptions, BadValueWarnsAndKeepsTheDefault) {
  setenv("FANIN_WINDOW", "much", 1);
  EXPECT_EQ(plugin::read_options().window, 16u << 20);
  EXPECT_NE(g_log.find("FANIN_WINDOW: 'much' is not a size"), std::string::npos) << g_log;
}

TEST_F(PluginOptions, APortRangeIsReadOrWarnedOf) {
  EXPECT_FALSE(plugin::read_options().ports);
  setenv("FANIN_PORT_RANGE", "20000-20999", 1);
  plugin::Options o = plugin::read_options();
  ASSERT_TRUE(o.ports);
  EXPECT_EQ(o.ports->text(), "20000-20999");
  EXPECT_EQ(g_log, "");
  setenv("FANIN_PORT_RANGE", "20999-20000", 1);
  EXPECT_FALSE(plugin::read_options().ports);
  EXPECT_NE(g_log.find("FANIN_PORT_RANGE: '20999-20000' is no range of ports from 1 to 65535; did you mean "
                       "20000-20999?; using any port"),
            std::string::npos)
      << g_log;
}

TEST_F(PluginOptions, UnknownNameWarnsWithTheNearest) {
  setenv("FANIN_REDUCER", "a:1", 1);
  plugin::read_options();
  EXPECT_NE(g_log.find("FANIN_REDUCER is not an option"), std::string::npos) << g_log;
  EXPECT_NE(g_log.find("did you mean FANIN_REDUCERS?"), std::string::npos) << g_log;
}

TEST_F(PluginOptions, WhatKubernetesSetsForAServiceIsNotWarnedOf) {
  const char* names[] = {"FANIN_REDUCERS_SERVICE_HOST", "FANIN_REDUCERS_SERVICE_PORT", "FANIN_REDUCERS_PORT",
                         "FANIN_REDUCERS_PORT_4000_TCP_ADDR"};
  for (const char* name : names) setenv(name, "10.0.0.1", 1);
  plugin::read_options();
  for (const char* name : names) unsetenv(name);
  EXPECT_EQ(g_log, "");
}

}  // namespace
}  // namespace fanin
