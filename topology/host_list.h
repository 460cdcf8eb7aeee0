// Slurm's compressed lists of hosts: "node[01-03,7],gpu-5" is node01 node02 node03 node7 gpu-5.
//
// A bracket holds numbers and ranges, padded with zeros as their first number is; a name may have several. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "fanin/error.h"

namespace fanin {

inline constexpr size_t kMaxHosts = 4096;

// In the list's order. Errors (kInvalidUsage) quote the list and say what is wrong with it; an empty list is one.
Result<std::vector<std::string>> expand_hosts(std::string_view list);

// Parts of a list at the commas that are not within brackets, without blanks around them; empty ones are left out.
std::vector<std::string_view> split_list(std::string_view list);

}  // namespace fanin
