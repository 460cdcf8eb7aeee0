#include "reducer/http/request.h"

#include <algorithm>

namespace fanin::reducer::http {
namespace {

bool visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 32 && c < 127; });
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y;
         });
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Up to the next line's end, which is taken off text.
std::string_view line_of(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "GET /metrics?x HTTP/1.1"
bool parse_line(std::string_view line, Request& request) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  if (method.empty() || method.size() > 16 || !visible(method) || !target.starts_with('/') ||
      !visible(target))
    return false;
  request.method = method;
  request.path = target.substr(0, target.find('?'));
  return true;
}

}  // namespace

Parsed parse_request(std::string_view bytes, Request& request) {
  std::string_view head = bytes.substr(0, kMaxHead);
  size_t end = head.find("\n\r\n"), plain = head.find("\n\n");
  end = std::min(end, plain);
  if (end == std::string_view::npos) {
    // What cannot become a request is not waited for.
    const std::string_view start = head.substr(0, head.find_first_of(" \r\n"));
    if (start.size() > 16 || !visible(start)) return Parsed::kBad;
    return bytes.size() < kMaxHead ? Parsed::kMore : Parsed::kTooLarge;
  }
  head = head.substr(0, end + 1);
  request = {};
  if (!parse_line(line_of(head), request)) return Parsed::kBad;
  while (!head.empty()) {
    const std::string_view field = line_of(head);
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos || colon == 0 || !visible(field.substr(0, colon)))
      return Parsed::kBad;
    if (equal_ignoring_case(field.substr(0, colon), "authorization"))
      request.authorization = trimmed(field.substr(colon + 1));
  }
  return Parsed::kRequest;
}

}  // namespace fanin::reducer::http
