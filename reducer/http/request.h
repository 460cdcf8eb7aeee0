// The head of an HTTP/1.x request, as far as a reducer's status port needs it. Pure functions.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace fanin::reducer::http {

// Largest head taken, request line and all fields.
inline constexpr size_t kMaxHead = 8192;

struct Request {
  std::string method;         // "GET"
  std::string path;           // "/metrics": without the query, not decoded
  std::string authorization;  // the field's value, or ""
};

enum class Parsed {
  kMore,      // the head has not ended yet
  kRequest,   // request is filled
  kBad,       // no HTTP/1.x request
  kTooLarge,  // no end within kMaxHead
};
// bytes: everything received so far.
Parsed parse_request(std::string_view bytes, Request& request);

}  // namespace fanin::reducer::http
