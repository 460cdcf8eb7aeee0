// What fanin-doctor says: one line each, in the order things happen in a job. Plain values.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace fanin::doctor {

enum class Level { kOk, kWarn, kFail };

struct Finding {
  Level level = Level::kOk;
  std::string topic;  // "nccl", "plugin", "reducer 10.0.0.7:4000"
  std::string text;   // what is so
  std::string fix;    // what to do about it; kOk: empty
};

class Findings {
 public:
  void add(Finding f) { all_.push_back(std::move(f)); }
  void ok(std::string topic, std::string text) { add({Level::kOk, std::move(topic), std::move(text), ""}); }
  void warn(std::string topic, std::string text, std::string fix) {
    add({Level::kWarn, std::move(topic), std::move(text), std::move(fix)});
  }
  void fail(std::string topic, std::string text, std::string fix) {
    add({Level::kFail, std::move(topic), std::move(text), std::move(fix)});
  }
  const std::vector<Finding>& all() const { return all_; }
  bool failed() const;

  std::string text() const;  // lines for people, with the verdict as the last
  std::string json() const;  // {"usable": bool, "findings": [{"level": …, "topic": …, "text": …, "fix": …}]}

 private:
  std::vector<Finding> all_;
};

}  // namespace fanin::doctor
