// The variables as a job will see them: the environment, then NCCL's configuration files, as NCCL puts them together.
//
// NCCL reads NAME=value lines of NCCL_CONF_FILE (2.23 and later) or else ~/.nccl.conf, then of /etc/nccl.conf, and puts a
// line into the environment where the name is not set yet, FANIN_* too (NCCL 2.28.9, src/misc/param.cc). Plain value.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace fanin::doctor {

struct Setting {
  std::string value;
  std::string from;  // "the environment", "/etc/nccl.conf"
};

class Variables {
 public:
  // environment: "NAME=value" each. files: in NCCL's order.
  Variables(char** environment, const std::vector<std::string>& files);

  // Null: not set; a variable set to nothing counts as not set.
  const Setting* find(const std::string& name) const;
  // Set to nothing: files and plugins do not set it any more.
  bool is_empty(const std::string& name) const;
  std::string value(const std::string& name) const;
  // Puts what the files say into this process's environment, as NCCL does. Before there are threads.
  void apply() const;
  // Of each file that is there and was not read, why.
  const std::vector<std::string>& unread() const { return unread_; }

 private:
  void read_file(const std::string& path);
  std::map<std::string, Setting> settings_;
  std::vector<std::string> unread_;
};

// The files that an NCCL of this process's user reads, for Variables.
std::vector<std::string> nccl_files();

}  // namespace fanin::doctor
