// Heads of HTTP requests: what is one, what is not, and what may become one.
#include <gtest/gtest.h>

#include "reducer/http/request.h"

namespace fanin::reducer::http {
namespace {

TEST(HttpRequest, IsTakenApart) {
  Request r;
  ASSERT_EQ(parse_request("GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:  fanin 12 \r\n\r\n", r),
            Parsed::kRequest);
  EXPECT_EQ(r.method, "GET");
  EXPECT_EQ(r.path, "/metrics");
  EXPECT_EQ(r.authorization, "fanin 12");
  ASSERT_EQ(parse_request("POST / HTTP/1.0\n\nbody", r), Parsed::kRequest);
  EXPECT_EQ(r.method, "POST");
  EXPECT_EQ(r.authorization, "");
}

TEST(HttpRequest, EveryPrefixIsWaitedFor) {
  const std::string all = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  Request r;
  for (size_t n = 0; n < all.size(); ++n) EXPECT_EQ(parse_request(all.substr(0, n), r), Parsed::kMore) << n;
  EXPECT_EQ(parse_request(all, r), Parsed::kRequest);
}

TEST(HttpRequest, OthersAreNone) {
  Request r;
  for (const char* text :
       {"GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET http://x/ HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno field\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\na b: x\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02",
        "FANINRED\x01\x02\x03", "AVERYLONGMETHODNAME", "\r\n\r\n"})
    EXPECT_EQ(parse_request(text, r), Parsed::kBad) << text;
  EXPECT_EQ(parse_request(std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), r), Parsed::kBad);
}

TEST(HttpRequest, EndsWithinItsLimit) {
  Request r;
  std::string head = "GET / HTTP/1.1\r\nx: ";
  head += std::string(kMaxHead - head.size() - 4, 'y') + "\r\n\r\n";
  ASSERT_EQ(head.size(), kMaxHead);
  EXPECT_EQ(parse_request(head, r), Parsed::kRequest);
  head.insert(20, "z");
  EXPECT_EQ(parse_request(head.substr(0, kMaxHead), r), Parsed::kTooLarge);
  EXPECT_EQ(parse_request(head, r), Parsed::kTooLarge);
}

}  // namespace
}  // namespace fanin::reducer::http
