// The version of fanin as a whole; the wire and the plugin ABIs have their own (wire.h, nccl/).
#pragma once

namespace fanin {

inline constexpr const char* kFaninVersion = "0.1.0";

}  // namespace fanin
