// What is answered to an HTTP request, and its bytes. Plain value.
#pragma once
#include <string>

namespace fanin::reducer::http {

struct Response {
  int status = 200;
  std::string body;
  const char* type = "text/plain; charset=utf-8";
};

constexpr const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

// One response a connection. The page may load nothing from elsewhere and be shown in no other page.
inline std::string bytes_of(const Response& r, bool with_body = true) {
  std::string out = "HTTP/1.1 " + std::to_string(r.status) + " " + reason_of(r.status) +
                    "\r\nContent-Type: " + r.type + "\r\nContent-Length: " + std::to_string(r.body.size()) +
                    "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff"
                    "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src "
                    "'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n";
  if (r.status == 405) out += "Allow: GET, HEAD\r\n";
  out += "\r\n";
  return with_body ? out + r.body : out;
}

}  // namespace fanin::reducer::http
