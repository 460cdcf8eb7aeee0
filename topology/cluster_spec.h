// CLUSTER_SPEC (Vertex AI) and TF_CONFIG: JSON in which a job's tasks find each other.
//
//   {"cluster": {"workerpool0": ["host:2222"], "workerpool2": ["host:2222", …]}, "task": {"type": "workerpool2", "index": 0}}
//
// The reducers are the tasks of one name: workerpool2 there, ps here. Pure; errors (kInvalidUsage) begin with the variable.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fanin/error.h"

namespace fanin {

struct ClusterForm {
  const char* variable;
  const char* reducers;  // the name of their tasks
};
inline constexpr ClusterForm kClusterForms[] = {{"CLUSTER_SPEC", "workerpool2"}, {"TF_CONFIG", "ps"}};

// "host:port" of every reducer, in order; at least one.
Result<std::vector<std::string>> cluster_reducers(const ClusterForm& form, const std::string& text);

// The port of this process's own entry. Error also when its task is not a reducer's.
Result<uint16_t> cluster_own_port(const ClusterForm& form, const std::string& text);

}  // namespace fanin
