// Writes one JSON document, value by value, in order. Strings are escaped; doubles keep their precision; NaN
// is null.
//
//   Json j; j.open('{').key("bytes").value(n).key("list").open('[').value(1.5).close(']').close('}');
//   j.text();
#pragma once
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace fanin {

class Json {
 public:
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    value(name);
    text_ += ':';
    first_ = true;
    return *this;
  }
  Json& value(std::string_view s) {
    separate();
    text_ += '"';
    for (char c : s) {
      char escaped[8];
      if (c == '"' || c == '\\')
        text_ += '\\', text_ += c;
      else if (static_cast<unsigned char>(c) < 0x20)
        snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c)), text_ += escaped;
      else
        text_ += c;
    }
    text_ += '"';
    return *this;
  }
  Json& value(const char* s) { return value(std::string_view(s)); }
  Json& value(bool b) { return raw(b ? "true" : "false"); }
  // What is a number in JSON already.
  Json& number(std::string_view text) { return raw(text); }
  Json& null() { return raw("null"); }
  template <class T>
  requires std::is_arithmetic_v<T> Json& value(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(number)) return null();
      char buf[32];
      snprintf(buf, sizeof buf, "%.9g", static_cast<double>(number));
      return raw(buf);
    } else {
      return raw(std::to_string(number));
    }
  }
  const std::string& text() const { return text_; }

 private:
  Json& raw(std::string_view s) {
    separate();
    text_ += s;
    return *this;
  }
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string text_;
  bool first_ = true;
};

}  // namespace fanin
