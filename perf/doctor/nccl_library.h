// The libnccl a job would load, and what its release means for fanin.
//
// Loading happens through the dynamic loader of this process, which has the job's environment; libraries stay loaded.
#pragma once
#include <optional>
#include <string>

#include "perf/doctor/finding.h"
#include "perf/doctor/variables.h"

namespace fanin::doctor {

struct NcclLibrary {
  std::string path;
  int version = 0;  // 22809 for 2.28.9
  std::string text() const;
  bool at_least(int major, int minor, int patch = 0) const {
    return version >= major * 10000 + minor * 100 + patch;
  }
  // The newest version of the plugin's tables it asks for, 6 to 12 (docs/nccl-compatibility.md); 0: before 2.13.
  int table() const;
  // 2.27.3 opens lib*.so as it is named and of everything else libnccl-net-NAME.so only, as libnccl-tuner-NAME.so.
  bool takes_no_paths() const { return version == 22703; }
  // From 2.28.7 on an environment plugin may answer for variables.
  bool asks_env_plugin() const { return at_least(2, 28, 7); }
};

// path: from the command line, or "": what the loader finds as libnccl.so.2, and what PyTorch brings in Python's packages.
// Null: none, said as a failure.
std::optional<NcclLibrary> find_nccl(const std::string& path, Findings& findings);

}  // namespace fanin::doctor
