// Collects what the plugin logs while the object lives. One at a time.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/log.h"

namespace fanin::test {

class LogCapture {
 public:
  struct Line {
    int level;
    std::string text;
  };
  LogCapture() {
    lines().clear();
    plugin::set_logger(&sink);
  }
  ~LogCapture() { plugin::set_logger(nullptr); }

  // Lines of that level which contain the text.
  size_t count(int level, const std::string& part = "") const {
    std::lock_guard lock(mutex());
    size_t n = 0;
    for (const Line& l : lines()) n += l.level == level && l.text.find(part) != std::string::npos;
    return n;
  }
  // Whether a line of that level has this somewhere and, after it, that.
  bool has(int level, const std::string& first, const std::string& then) const {
    std::lock_guard lock(mutex());
    for (const Line& l : lines()) {
      const size_t at = l.level == level ? l.text.find(first) : std::string::npos;
      if (at != std::string::npos && l.text.find(then, at + first.size()) != std::string::npos) return true;
    }
    return false;
  }
  std::string all() const {
    std::lock_guard lock(mutex());
    std::string s;
    for (const Line& l : lines()) s += std::to_string(l.level) + " " + l.text + "\n";
    return s;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static std::vector<Line>& lines() {
    static std::vector<Line> v;
    return v;
  }
  static void sink(int level, unsigned long, const char*, int, const char* fmt, ...) {
    char buf[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(buf, sizeof buf, fmt, args);
    va_end(args);
    std::lock_guard lock(mutex());
    lines().push_back({level, buf});
  }
};

}  // namespace fanin::test
