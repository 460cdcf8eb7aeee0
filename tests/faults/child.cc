#include "tests/faults/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/footprint.h"

namespace fanin::faults {
namespace {

bool ours(const std::string& variable) {
  return variable.starts_with("FANIN_") || variable.starts_with("NCCL_") || variable.starts_with("CPUDEV_");
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& w : words) out.push_back(const_cast<char*>(w.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (char** e = environ; *e; ++e)
    if (!ours(*e)) environment.emplace_back(*e);
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(command), envp = pointers(environment);
  output_.reset(memfd_create("output", MFD_CLOEXEC));
  fcntl(output_.get(), F_SETFL, O_APPEND);  // several processes write: nothing is overwritten
  fflush(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output_.get(), 1);
  dup2(output_.get(), 2);
  execve(argv[0], argv.data(), envp.data());
  perror(argv[0]);
  _exit(127);
}

Child::~Child() {
  if (status_ || pid_ < 0) return;
  kill(pid_, SIGKILL);
  (void)wait(milliseconds(10000));
}

std::string Child::said() const {
  std::string text;
  char buf[4096];
  ssize_t n;
  while ((n = pread(output_.get(), buf, sizeof buf, static_cast<off_t>(text.size()))) > 0)
    text.append(buf, static_cast<size_t>(n));
  return text;
}

std::optional<int> Child::wait(milliseconds patience) {
  auto ended = [&] {
    int status;
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
  };
  (void)test::within(patience, ended);
  return status_;
}

}  // namespace fanin::faults
