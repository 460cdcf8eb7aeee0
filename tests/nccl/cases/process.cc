#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/nccl/cases/rig.h"

namespace fanin::test {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool ours(const char* entry) {
  return strncmp(entry, "NCCL_", 5) == 0 || strncmp(entry, "FANIN_", 6) == 0 ||
         strncmp(entry, "CPUDEV_", 7) == 0;
}

// This process's environment without settings of NCCL and fanin, and with these.
Words environment(const Variables& variables) {
  Words all;
  for (char** e = environ; *e; e++)
    if (!ours(*e)) all.push_back(*e);
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> p;
  for (const std::string& w : words) p.push_back(const_cast<char*>(w.c_str()));
  p.push_back(nullptr);
  return p;
}

}  // namespace

std::string built(const std::string& path) {
  const char* build = getenv("FANIN_BUILD");
  return std::filesystem::absolute(build ? build : "build").string() + "/" + path;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) n++;
  return n;
}

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path().string() + "/fanin-nccl-XXXXXX";
  if (!mkdtemp(name.data())) {
    perror("mkdtemp");
    abort();
  }
  path_ = name;
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::string Folder::read(const std::string& name) const {
  std::ostringstream text;
  std::ifstream in(path_ + "/" + name);
  if (in && in.peek() != EOF) text << in.rdbuf();
  return text.str();
}
std::string Folder::read_all(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const auto& e : std::filesystem::directory_iterator(path_))
    if (std::string name = e.path().filename().string(); name.starts_with(prefix)) names.push_back(name);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += read(name);
  return text;
}

Process::Process(const Words& command, const Variables& variables, const std::string& output) {
  const Words words = environment(variables);  // alive until exec
  const std::vector<char*> argv = pointers(command), envp = pointers(words);
  pid_ = fork();
  if (pid_ != 0) {
    if (pid_ < 0) reaped_ = true;
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(fd, 1);
  dup2(fd, 2);
  close(fd);
  execve(argv[0], argv.data(), envp.data());
  perror(argv[0]);
  _exit(127);
}

Process::~Process() {
  if (!reaped_) wait(0);
}

bool Process::running() {
  if (!reaped_ && waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return !reaped_;
}

bool Process::wait(double seconds) {
  const double deadline = now() + seconds;
  while (running()) {
    if (now() >= deadline) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
      reaped_ = true;
      return false;
    }
    usleep(2000);
  }
  return true;
}

bool Process::exited_with(int code) const {
  return reaped_ && pid_ > 0 && WIFEXITED(status_) && WEXITSTATUS(status_) == code;
}

}  // namespace fanin::test
