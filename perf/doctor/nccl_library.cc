#include "perf/doctor/nccl_library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "perf/doctor/loaded.h"

namespace fanin::doctor {
namespace {

constexpr const char* kTopic = "nccl";

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

// The one in Python's packages, which PyTorch's own libraries name as theirs; "" when there is none or no python3.
std::string of_python() {
  static const char kScript[] =
      "python3 -c 'import importlib.util as u, os\n"
      "s = u.find_spec(\"nvidia\")\n"
      "for d in (s.submodule_search_locations if s else []):\n"
      "    p = os.path.join(d, \"nccl/lib/libnccl.so.2\")\n"
      "    if os.path.exists(p): print(p); break' 2>/dev/null";
  FILE* out = popen(kScript, "r");
  if (!out) return "";
  char line[4096];
  std::string path = fgets(line, sizeof line, out) ? line : "";
  pclose(out);
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
    const std::string wheel = of_python();
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
