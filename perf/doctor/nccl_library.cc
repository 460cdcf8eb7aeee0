#include "perf/doctor/nccl_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "perf/doctor/loaded.h"
#include "transport/deadline.h"
#include "transport/fd.h"

namespace fanin::doctor {
namespace {

constexpr const char* kTopic = "nccl";
constexpr std::chrono::seconds kPythonPatience{5};

struct Opened {
  std::optional<NcclLibrary> library;
  std::string error;
};

Opened open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return {{}, dlerror()};
  auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(handle, "ncclGetVersion"));
  NcclLibrary library{path_of(handle, name), 0};
  if (!get_version || get_version(&library.version) != 0) return {{}, library.path + " is no NCCL"};
  return {library, ""};
}

// The one in Python's packages, which PyTorch's own libraries name as theirs; "" when there is none or no python3. Null: it did
// not end in time (a start-up file that waits, a dead network folder).
std::optional<std::string> of_python() {
  static const char* const kScript =
      "import importlib.util as u, os\n"
      "s = u.find_spec('nvidia')\n"
      "for d in (s.submodule_search_locations if s else []):\n"
      "    p = os.path.join(d, 'nccl/lib/libnccl.so.2')\n"
      "    if os.path.exists(p): print(p); break";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(in.get(), STDOUT_FILENO);
    execlp("python3", "python3", "-c", kScript, nullptr);
    _exit(127);
  }
  if (child < 0) return "";
  in.reset();
  std::string path;
  bool ended = false;
  for (const Deadline until = Deadline::after(kPythonPatience); !ended && !until.passed();) {
    pollfd p{out.get(), POLLIN, 0};
    if (::poll(&p, 1, until.poll_ms()) <= 0) continue;
    char buf[4096];
    const ssize_t n = ::read(out.get(), buf, sizeof buf);
    if (n > 0) path.append(buf, static_cast<size_t>(n));
    ended = n == 0 || (n < 0 && errno != EINTR);
  }
  setpgid(child, child);  // whichever of the two comes first
  kill(-child, SIGKILL);  // it has ended, or will not; and what it may have started
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return std::nullopt;
  return path.substr(0, path.find('\n'));
}

}  // namespace

std::string NcclLibrary::text() const {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

int NcclLibrary::table() const {
  static constexpr struct {
    int minor, table;
  } kFrom[] = {{30, 12}, {28, 11}, {26, 10}, {24, 9}, {20, 8}, {19, 7}, {13, 6}};
  for (auto from : kFrom)
    if (at_least(2, from.minor)) return from.table;
  return 0;
}

std::optional<NcclLibrary> find_nccl(const std::string& path, Findings& findings) {
  Opened found;
  if (!path.empty()) {
    found = open(path);
  } else {
    const std::optional<std::string> asked = of_python();
    if (!asked)
      findings.warn(kTopic, "python3 does not say within 5 s whether PyTorch brings an NCCL",
                    "see what 'python3 -c pass' waits for; --nccl PATH names the library to look at");
    const std::string wheel = asked.value_or("");
    const Opened loader = open("libnccl.so.2");
    found = wheel.empty() ? loader : open(wheel);
    if (loader.library && found.library && loader.library->path != found.library->path)
      findings.warn(kTopic,
                    "there are two: PyTorch brings " + found.library->text() + " (" + found.library->path +
                        "), other programs load " + loader.library->text() + " (" + loader.library->path +
                        ")",
                    "the first is looked at here; name the other with --nccl to look at that");
  }
  if (!found.library) {
    findings.fail(
        kTopic, "no NCCL can be loaded: " + found.error,
        "run fanin-doctor in the job's container, with the job's LD_LIBRARY_PATH; --nccl PATH names a "
        "libnccl.so.2 that a program brings itself");
    return {};
  }
  const NcclLibrary& nccl = *found.library;
  if (nccl.table() == 0) {
    findings.fail(kTopic,
                  "release " + nccl.text() + " (" + nccl.path + ") is older than what fanin can serve",
                  "use NCCL 2.13 or later");
    return {};
  }
  findings.ok(kTopic, "release " + nccl.text() + " (" + nccl.path + "), which uses version " +
                          std::to_string(nccl.table()) + " of the plugin's tables");
  return nccl;
}

}  // namespace fanin::doctor
