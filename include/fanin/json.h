// Writes one JSON document, value by value, in order. Strings are escaped, bytes that are no UTF-8
// become U+FFFD; doubles keep their precision; NaN is null.
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
    for (size_t n; !s.empty(); s.remove_prefix(n)) {
      n = character(s);
      const char c = s.front();
      char escaped[8];
      if (n == 0)
        text_ += "\xef\xbf\xbd", n = 1;
      else if (c == '"' || c == '\\')
        text_ += '\\', text_ += c;
      else if (n == 1 && static_cast<unsigned char>(c) < 0x20)
        snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c)), text_ += escaped;
      else
        text_ += s.substr(0, n);
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
  // Bytes of the UTF-8 character that a text begins with; 0: with none.
  static size_t character(std::string_view s) {
    const auto at = [&](size_t i) {
      return static_cast<unsigned>(i < s.size() ? static_cast<unsigned char>(s[i]) : 0);
    };
    const auto goes_on = [&](size_t n) {
      for (size_t i = 1; i < n; ++i)
        if ((at(i) & 0xc0) != 0x80) return false;
      return true;
    };
    const unsigned a = at(0), b = at(1);
    if (a < 0x80) return 1;
    if (a >= 0xc2 && a < 0xe0) return goes_on(2) ? 2 : 0;
    // Neither longer than needed, nor half of a pair, nor beyond the last one.
    if (a >= 0xe0 && a < 0xf0)
      return goes_on(3) && (a != 0xe0 || b >= 0xa0) && (a != 0xed || b < 0xa0) ? 3 : 0;
    if (a >= 0xf0 && a < 0xf5)
      return goes_on(4) && (a != 0xf0 || b >= 0x90) && (a != 0xf4 || b < 0x90) ? 4 : 0;
    return 0;
  }
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
