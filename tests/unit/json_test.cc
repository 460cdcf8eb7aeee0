#include "fanin/json.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace fanin
