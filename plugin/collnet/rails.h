// Which of a reducer's addresses the lanes of one NIC's communicator use.
//
// An address of the NIC's own subnet comes first; several are shared out over the lanes, as many of the fastest as carry
// most when all lanes carry alike. Without one, the address that answered, or one that the kernel reaches through this
// NIC. Behind these, everything else that may work: an address is a preference, never a condition. Pure but for the routes
// that `source_of` looks up; any thread.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "transport/tcp/rail.h"

namespace fanin::plugin::collnet {

// The NIC of a communicator. netmask of family AF_UNSPEC: not known, no address is of its subnet.
struct Nic {
  tcp::Address address, netmask;
};

// What to connect to, from where, and how long to wait for an answer.
struct Target {
  tcp::Address to;
  std::optional<tcp::Address> source;  // none: as the kernel routes
  std::chrono::milliseconds patience{2000};
};

// The local address the kernel would leave from.
using SourceOf = std::function<std::optional<tcp::Address>(const tcp::Address&)>;

bool same_subnet(const Nic& nic, const tcp::Address& address);

// To try in order until the reducer answers; never empty unless `addresses` is. No nic: as the kernel routes.
std::vector<Target> targets_to(const std::optional<Nic>& nic, const std::vector<tcp::Address>& addresses,
                               const SourceOf& source_of);

// What a reducer tells, as far as it holds for who reached it at `used`: one that is reached through a forwarded port, an
// address translation or a relay does not know itself by that address, and the others it knows are not meant to be used
// unless a person chose them.
std::vector<tcp::Rail> told_by(std::string_view text, const tcp::Address& used);

class LaneTargets {
 public:
  // used: what answered. dead: addresses that did not answer just now. told: what the reducer says of itself.
  LaneTargets(const std::optional<Nic>& nic, const Target& used, const std::vector<tcp::Address>& dead,
              const std::vector<tcp::Address>& configured, const std::vector<tcp::Rail>& told,
              const SourceOf& source_of);
  // To try in order; at least one.
  std::vector<Target> of(uint32_t lane) const;
  // What the NICs of the reducer that are used carry, as all lanes carry alike; 0: unknown.
  uint32_t mbps() const { return mbps_; }
  // The addresses that lanes begin with, and what each of them carries of mbps(), 0: unknown.
  std::vector<tcp::Rail> used() const;

 private:
  std::vector<Target> shared_, rest_;  // lanes begin with one of `shared_` each
  uint32_t mbps_ = 0;
};

// What several NICs' lanes together can get out of one reducer, some of whose addresses they share; 0: unknown.
uint32_t carried_together(const std::vector<std::vector<tcp::Rail>>& used);

}  // namespace fanin::plugin::collnet
