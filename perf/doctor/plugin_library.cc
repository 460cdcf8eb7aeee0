#include "perf/doctor/plugin_library.h"

#include <dlfcn.h>
#include <strings.h>

#include <vector>

#include "nccl/env_v2.h"
#include "perf/doctor/loaded.h"
#include "plugin/abi/net_calls.h"

namespace fanin::doctor {

using plugin::abi::kName;

namespace {

constexpr const char* kTopic = "plugin";

struct Tried {
  void* handle = nullptr;
  std::string path;
  std::string error;      // of the first name that stands for a file that is there; "" when none is
  std::string not_found;  // all names, when none is
};

Tried try_names(const std::vector<std::string>& names) {
  Tried tried;
  for (const std::string& name : names) {
    tried.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!tried.handle) {
      const std::string error = dlerror();
      tried.not_found += (tried.not_found.empty() ? "" : ", ") + name;
      if (tried.error.empty() && !error.starts_with(name + ": cannot open shared object file: No such file"))
        tried.error = error;
      continue;
    }
    tried.path = path_of(tried.handle, name);
    break;
  }
  return tried;
}

std::vector<std::string> names_of(const NcclLibrary& nccl, const std::string& asked) {
  const std::string full = "libnccl-net-" + asked + ".so";
  const bool is_library = asked.starts_with("lib") && asked.ends_with(".so");
  if (nccl.takes_no_paths()) return {is_library ? asked : full};
  if (!nccl.at_least(2, 21)) return {full};
  if (is_library || asked.find('/') != std::string::npos) return {asked};
  return {asked, full};
}

// All tables begin with the network's name.
std::string network_of(void* handle, int table) {
  auto** first =
      static_cast<const char**>(dlsym(handle, ("ncclCollNetPlugin_v" + std::to_string(table)).c_str()));
  return first && *first ? *first : "";
}

}  // namespace

GetEnv find_env_plugin(const NcclLibrary& nccl, const Variables& variables) {
  if (!nccl.asks_env_plugin()) return nullptr;
  std::string asked = variables.value("NCCL_ENV_PLUGIN");
  if (asked == "none") return nullptr;
  Tried tried = try_names({asked.empty() ? "libnccl-env.so" : asked});
  if (!tried.handle) return nullptr;
  auto* table = static_cast<const ncclEnv_v1_t*>(dlsym(tried.handle, "ncclEnvPlugin_v1"));
  return table && table->name && std::string(table->name) == kName ? table->getEnv : nullptr;
}

std::string find_plugin(const NcclLibrary& nccl, const Variables& variables, GetEnv env_plugin,
                        Findings& findings) {
  const Setting* set = variables.find("NCCL_NET_PLUGIN");
  const char* answer = env_plugin ? env_plugin("NCCL_NET_PLUGIN") : nullptr;
  if (!set && !(answer && *answer)) {
    findings.fail(kTopic,
                  std::string("NCCL_NET_PLUGIN is ") +
                      (variables.is_empty("NCCL_NET_PLUGIN") ? "set to nothing" : "not set") +
                      ": NCCL uses its own sockets or InfiniBand",
                  "set NCCL_NET_PLUGIN=fanin on every rank");
    return "";
  }
  const std::string where =
      set ? "NCCL_NET_PLUGIN=" + set->value + " (" + set->from + ")" : "the environment plugin";
  std::string asked = set ? set->value : answer;
  if (!strcasecmp(asked.c_str(), "none")) {
    findings.fail(kTopic, where + " turns plugins off", "set NCCL_NET_PLUGIN=fanin on every rank");
    return "";
  }
  if (size_t comma = asked.find(','); comma != std::string::npos && nccl.at_least(2, 27)) asked.resize(comma);
  const Tried tried = try_names(names_of(nccl, asked));
  if (!tried.handle) {
    if (tried.error.empty())
      findings.fail(kTopic, where + ": not found on the library path: " + tried.not_found,
                    asked.find('/') != std::string::npos && (nccl.takes_no_paths() || !nccl.at_least(2, 21))
                        ? "NCCL " + nccl.text() +
                              " takes no path: set NCCL_NET_PLUGIN=fanin, and put the library's folder on "
                              "the library path"
                        : "put the folder of libnccl-net-fanin.so on it (LD_LIBRARY_PATH, or a file in "
                          "/etc/ld.so.conf.d and "
                          "ldconfig), on every node");
    else
      findings.fail(kTopic, where + ": the file is there and cannot be loaded: " + tried.error,
                    "it is for another system or lacks a library: install fanin's package for this image");
    return "";
  }
  const std::string network = network_of(tried.handle, nccl.table());
  if (network != kName) {
    findings.fail(kTopic,
                  where + " loads " + tried.path + ", which " +
                      (network.empty() ? "has no CollNet table of version " + std::to_string(nccl.table())
                                       : "is the network '" + network + "'"),
                  "set NCCL_NET_PLUGIN=fanin, or install the present release of fanin");
    return "";
  }
  findings.ok(kTopic, where + " loads " + tried.path + ", tables of version " + std::to_string(nccl.table()));
  return tried.path;
}

}  // namespace fanin::doctor
