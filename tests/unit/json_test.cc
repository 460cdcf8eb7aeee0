#include "fanin/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "fanin/error.h"

namespace fanin {
namespace {

TEST(Json, NestsAndSeparates) {
  Json j;
  j.open('{').key("a").value(1).key("b").open('[').value(true).value("x").open('{').close('}').null().close(
      ']');
  j.key("c").value(-2.5).close('}');
  EXPECT_EQ(j.text(), R"({"a":1,"b":[true,"x",{},null],"c":-2.5})");
}

TEST(Json, EscapesAndKeepsLargeNumbers) {
  Json j;
  j.open('[')
      .value("q\"\\\n")
      .value(uint64_t{18446744073709551615u})
      .value(std::numeric_limits<double>::quiet_NaN());
  j.close(']');
  EXPECT_EQ(j.text(), R"(["q\"\\\u000a",18446744073709551615,null])");
}

// Names of hosts and interfaces are what somebody chose; a reader of JSON takes UTF-8 only.
TEST(Json, WhatIsNoUtf8IsReplaced) {
  const std::pair<std::string, std::string> cases[] = {
      {"näme→😀", "näme→😀"},
      {"a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b"},
      {"cut \xc3", "cut \xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
  };
  for (const auto& [in, out] : cases) {
    Json j;
    j.open('[').value(in).close(']');
    EXPECT_EQ(j.text(), "[\"" + out + "\"]");
  }
  Json all;
  all.open('[');
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) all.value(std::string{static_cast<char>(a), static_cast<char>(b), 'x'});
  EXPECT_TRUE(nlohmann::json::accept(all.close(']').text()));
}

TEST(Printable, IsNotCutWithinACharacter) {
  EXPECT_EQ(printable("aä→😀", 2), "a…");
  EXPECT_EQ(printable("aä→😀", 3), "aä…");
  EXPECT_EQ(printable("aä→😀", 9), "aä→…");
  EXPECT_EQ(printable("aä→😀", 10), "aä→😀");
  EXPECT_EQ(printable(std::string(10, '\x80'), 5).substr(2), "…");
}

}  // namespace
}  // namespace fanin
