// The options of fanin-topo plan: one table, from which --help comes too, and what their values mean.
#pragma once
#include <map>
#include <string>

#include "fanin/options.h"
#include "topology/cli/plan.h"

namespace fanin::topo {

inline constexpr OptionSpec kPlanOptions[] = {
    {"workers", OptionType::kInt, "", 2, 4096, "Nodes that reduce together."},
    {"worker-bw", OptionType::kText, "", 0, 0, "Bandwidth of a node's NICs together, one way: 100G, 8x400G."},
    {"reducer-bw", OptionType::kText, "", 0, 0, "Bandwidth of a reducer's NICs together, one way."},
    {"reducers", OptionType::kInt, "", 1, 100000,
     "Reducers to judge; not given: as many as match the workers."},
    {"comm-fraction", OptionType::kText, "0.3", 0, 0,
     "The part of a step with the ring in which a job waits for all-reduces between nodes, 0 to 1."},
    {"step-s", OptionType::kText, "1", 0, 0, "Seconds of a step with the ring."},
    {"bytes", OptionType::kSize, "1G", 1, int64_t{1} << 50, "Size of the all-reduce whose time is told."},
    {"price-worker", OptionType::kText, "", 0, 0, "Price of a node per hour, in any currency."},
    {"price-reducer", OptionType::kText, "", 0, 0, "Price of a reducer per hour."},
    {"lanes", OptionType::kInt, "8", 1, 256, "Lanes of a reducer (fanin-reducer --lanes: one per core)."},
    {"sessions", OptionType::kInt, "1", 1, 1 << 20,
     "Sessions at once: communicators between nodes times NICs of a node."},
    {"window", OptionType::kSize, "16M", 65536, int64_t{1} << 36, "The workers' FANIN_WINDOW."},
    {"block", OptionType::kSize, "64K", 4096, 4 << 20, "The reducers' --block."},
};

// values: by name, "" where there is none. Errors name the option.
Result<PlanQuestion> plan_question(const std::map<std::string, std::string>& values);

}  // namespace fanin::topo
