#include "perf/doctor/variables.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "fanin/text_file.h"

namespace fanin::doctor {

Variables::Variables(char** environment, const std::vector<std::string>& files) {
  for (char** e = environment; *e; ++e) {
    std::string entry = *e;
    size_t equals = entry.find('=');
    if (equals != std::string::npos)
      settings_.emplace(entry.substr(0, equals), Setting{entry.substr(equals + 1), "the environment"});
  }
  for (const std::string& file : files) read_file(file);
}

void Variables::read_file(const std::string& path) {
  if (path == "/dev/null") return;  // how people say "none"
  Result<std::string> text = read_text_file(path);
  if (!text) {
    if (text.error().code() != Errc::kRemote) unread_.push_back(text.error().text());
    return;
  }
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos) continue;
    settings_.emplace(line.substr(0, equals), Setting{line.substr(equals + 1), path});
  }
}

const Setting* Variables::find(const std::string& name) const {
  auto found = settings_.find(name);
  return found == settings_.end() || found->second.value.empty() ? nullptr : &found->second;
}

bool Variables::is_empty(const std::string& name) const {
  auto found = settings_.find(name);
  return found != settings_.end() && found->second.value.empty();
}

std::string Variables::value(const std::string& name) const {
  const Setting* s = find(name);
  return s ? s->value : "";
}

void Variables::apply() const {
  for (const auto& [name, setting] : settings_) setenv(name.c_str(), setting.value.c_str(), 0);
}

std::vector<std::string> nccl_files() {
  std::vector<std::string> files;
  const char* named = getenv("NCCL_CONF_FILE");
  const passwd* user = getpwuid(getuid());
  if (named && *named)
    files.push_back(named);
  else if (user && user->pw_dir)
    files.push_back(std::string(user->pw_dir) + "/.nccl.conf");
  files.push_back("/etc/nccl.conf");
  return files;
}

}  // namespace fanin::doctor
