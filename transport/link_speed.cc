#include "transport/link_speed.h"

#include <unistd.h>

#include <charconv>

#include "transport/small_file.h"

namespace fanin {
namespace {

constexpr int kMostMbps = 100'000'000;

bool of_cards(const std::string& folder) {
  if (access((folder + "/device").c_str(), F_OK) == 0) return true;
  const std::string text = read_small_file(folder + "/uevent", 4096).value_or("");
  for (const char* type : {"bond", "team", "vlan", "macvlan", "ipvlan"})
    if (("\n" + text).find("\nDEVTYPE=" + std::string(type) + "\n") != std::string::npos) return true;
  return false;
}

}  // namespace

uint32_t link_speed(const std::string& interface, const std::string& sys) {
  const std::string folder = sys + "/" + interface, text = first_line_of(folder + "/speed");
  int mbps = 0;
  std::from_chars(text.data(), text.data() + text.size(), mbps);
  return mbps > 0 && mbps < kMostMbps && of_cards(folder) ? static_cast<uint32_t>(mbps) : 0;
}

bool lies_on(const std::string& interface, const std::string& lower, const std::string& sys) {
  return access((sys + "/" + interface + "/lower_" + lower).c_str(), F_OK) == 0;
}

}  // namespace fanin
