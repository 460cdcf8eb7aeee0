#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "transport/deadline.h"

namespace fanin::test {

std::string built(const std::string& path) {
  const char* folder = getenv("FANIN_BUILD");
  return std::string(folder ? folder : "build") + "/" + path;
}

Program::Program(const std::string& file, const std::vector<std::string>& args,
                 const std::vector<std::string>& environment) {
  std::vector<std::string> env;
  for (char** e = environ; *e; ++e)
    if (strncmp(*e, "FANIN_", 6) != 0 && strncmp(*e, "NCCL_", 5) != 0) env.emplace_back(*e);
  env.insert(env.end(), environment.begin(), environment.end());
  std::vector<char*> argv = {const_cast<char*>(file.c_str())}, envp;
  for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
  for (const std::string& e : env) envp.push_back(const_cast<char*>(e.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "pipe: " << strerror(errno);
    return;
  }
  out_.reset(out[0]);
  err_.reset(err[0]);
  Fd out_end(out[1]), err_end(err[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out_end.get(), STDOUT_FILENO);
    ::dup2(err_end.get(), STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
  }
}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Program::kill(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

// False once both pipes are at their end, or nothing came in time.
bool Program::read_some(int timeout_ms) {
  pollfd p[2] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  if ((!out_ && !err_) || ::poll(p, 2, timeout_ms) <= 0) return false;
  for (int i = 0; i < 2; ++i) {
    if (!(p[i].revents & (POLLIN | POLLHUP))) continue;
    char buf[4096];
    ssize_t n = ::read(p[i].fd, buf, sizeof buf);
    if (n > 0)
      (i == 0 ? outcome_.out : outcome_.err).append(buf, static_cast<size_t>(n));
    else
      (i == 0 ? out_ : err_).reset();
  }
  return true;
}

std::string Program::wait_for(const std::string& text, std::chrono::milliseconds limit) {
  Deadline deadline = Deadline::after(limit);
  while (outcome_.err.find(text) == std::string::npos)
    if (!read_some(deadline.poll_ms())) {
      ADD_FAILURE() << "the program did not say '" << text << "' but:\n" << outcome_.err;
      break;
    }
  return outcome_.err;
}

Program::Outcome Program::wait(std::chrono::milliseconds limit) {
  Deadline deadline = Deadline::after(limit);
  while ((out_ || err_) && read_some(deadline.poll_ms())) {
  }
  if (out_ || err_) {
    ADD_FAILURE() << "the program did not end in time; it said:\n" << outcome_.err;
    return outcome_;
  }
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_) {
    pid_ = -1;
    if (WIFEXITED(status)) outcome_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  }
  return outcome_;
}

}  // namespace fanin::test
