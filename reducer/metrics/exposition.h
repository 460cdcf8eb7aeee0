// Writes metrics in Prometheus' text format (version 0.0.4): HELP and TYPE once per family, then its samples.
//
//   Exposition e; e.begin(Metric::kSessions).sample(3); e.begin(Metric::kSent).sample(17, "0").sample(4, "1");
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "reducer/metrics/families.h"

namespace fanin::reducer::metrics {

class Exposition {
 public:
  static constexpr const char* kType = "text/plain; version=0.0.4; charset=utf-8";

  Exposition& begin(Metric m) {
    family_ = &family(m);
    text_ += std::string("# HELP ") + family_->name + " " + family_->help + "\n# TYPE " + family_->name +
             (family_->kind == Kind::kCounter ? " counter\n" : " gauge\n");
    return *this;
  }
  // label: the value of the family's label, if it has one.
  Exposition& sample(uint64_t value, std::string_view label = {}) {
    return line(std::to_string(value), label);
  }
  Exposition& sample(double value, std::string_view label = {}) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return line(std::isfinite(value) ? text : "NaN", label);
  }
  const std::string& text() const { return text_; }

 private:
  Exposition& line(std::string_view value, std::string_view label) {
    text_ += family_->name;
    if (*family_->label) {
      text_ += std::string("{") + family_->label + "=\"";
      for (char c : label) {
        if (c == '\n') {
          text_ += "\\n";
          continue;
        }
        if (c == '"' || c == '\\') text_ += '\\';
        text_ += c;
      }
      text_ += "\"}";
    }
    text_ += ' ';
    text_.append(value) += '\n';
    return *this;
  }
  const Family* family_ = nullptr;
  std::string text_;
};

}  // namespace fanin::reducer::metrics
