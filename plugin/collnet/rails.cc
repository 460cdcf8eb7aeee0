#include "plugin/collnet/rails.h"

#include <algorithm>

namespace fanin::plugin::collnet {
namespace {

using tcp::Address;
using tcp::Rail;

// Addresses are compared without ports where a port says nothing.
bool same_host(const Address& a, const Address& b) {
  return a.family() == b.family() && a.bytes() == b.bytes();
}

bool holds(const std::vector<Address>& list, const Address& a) {
  return std::find(list.begin(), list.end(), a) != list.end();
}

bool routed_through(const Nic& nic, const Address& to, const SourceOf& source_of) {
  const std::optional<Address> source = source_of(to);
  return source && same_host(*source, nic.address);
}

void add(std::vector<Target>& out, Target t) {
  for (const Target& o : out)
    if (o.to == t.to && o.source.has_value() == t.source.has_value()) return;
  out.push_back(std::move(t));
}

// The fastest n of them whose slowest, n times, is most. Where a speed is unknown: all.
size_t best_share(const std::vector<Rail>& rails) {
  size_t best = 0;
  uint64_t most = 0;
  for (size_t n = 1; n <= rails.size(); ++n) {
    const uint64_t carries = n * rails[n - 1].mbps;
    if (rails[n - 1].mbps == 0) return rails.size();
    if (carries >= most) best = n, most = carries;
  }
  return best;
}

}  // namespace

bool same_subnet(const Nic& nic, const Address& address) {
  if (nic.netmask.family() != nic.address.family() || address.family() != nic.address.family()) return false;
  const auto a = nic.address.bytes(), b = address.bytes(), mask = nic.netmask.bytes();
  for (size_t i = 0; i < a.size(); ++i)
    if (((a[i] ^ b[i]) & mask[i]) != 0) return false;
  return true;
}

std::vector<Target> targets_to(const std::optional<Nic>& nic, const std::vector<Address>& addresses,
                               const SourceOf& source_of) {
  std::vector<Target> out;
  if (!nic) {
    for (const Address& a : addresses) add(out, {a, std::nullopt});
    return out;
  }
  // The NIC's address can be no source of another family; the kernel chooses then.
  const auto bound = [&](const Address& a) {
    return a.family() == nic->address.family() ? std::optional<Address>(nic->address) : std::nullopt;
  };
  for (const Address& a : addresses)
    if (same_subnet(*nic, a)) add(out, {a, bound(a)});
  // From another NIC than the kernel's choice a packet may leave, and its answer find no way back.
  std::vector<Target> last;
  for (const Address& a : addresses) {
    const bool own_way = routed_through(*nic, a, source_of) || !bound(a);
    if (!same_subnet(*nic, a)) add(out, {a, bound(a), std::chrono::milliseconds(own_way ? 2000 : 1000)});
    if (!own_way) last.push_back({a, std::nullopt});
  }
  for (Target& t : last) add(out, std::move(t));
  return out;
}

std::vector<Rail> told_by(std::string_view text, const Address& used) {
  std::vector<Rail> told = tcp::parse_rails(text);
  const bool itself = std::any_of(told.begin(), told.end(), [&](const Rail& r) { return r.address == used; });
  if (!itself && !text.starts_with(tcp::kChosenRails)) told.clear();
  return told;
}

LaneTargets::LaneTargets(const std::optional<Nic>& nic, const Target& used, const std::vector<Address>& dead,
                         const std::vector<Address>& configured, const std::vector<Rail>& told,
                         const SourceOf& source_of) {
  std::vector<Rail> own;
  std::vector<Address> others;
  const auto consider = [&](const Rail& r) {
    const auto same = [&](const Rail& o) { return o.address == r.address; };
    if (nic && same_subnet(*nic, r.address) && !holds(dead, r.address)) {
      if (std::none_of(own.begin(), own.end(), same)) own.push_back(r);
    } else if (!holds(others, r.address)) {
      others.push_back(r.address);
    }
  };
  for (const Rail& r : told) consider(r);
  for (const Address& a : configured) consider({a, 0});

  if (!own.empty()) {
    std::stable_sort(own.begin(), own.end(), [](const Rail& a, const Rail& b) { return a.mbps > b.mbps; });
    const size_t n = best_share(own);
    mbps_ = static_cast<uint32_t>(std::min<uint64_t>(n * own[n - 1].mbps, UINT32_MAX));
    for (size_t i = 0; i < own.size(); ++i)
      (i < n ? shared_ : rest_).push_back({own[i].address, nic->address});
    add(rest_, used);
  } else {
    const Rail* better = nullptr;
    if (nic && !routed_through(*nic, used.to, source_of))
      for (const Rail& r : told)
        if (!holds(dead, r.address) && routed_through(*nic, r.address, source_of) &&
            (!better || r.mbps > better->mbps))
          better = &r;
    if (better) {
      shared_ = {{better->address, nic->address}};
      add(rest_, used);
    } else {
      shared_ = {used};
    }
    for (const Rail& r : told)
      if (r.address == shared_[0].to) mbps_ = r.mbps;
  }
  for (Target& t : targets_to(nic, others, source_of)) add(rest_, std::move(t));
}

std::vector<Target> LaneTargets::of(uint32_t lane) const {
  std::vector<Target> out = shared_;
  std::rotate(out.begin(), out.begin() + static_cast<ptrdiff_t>(lane % out.size()), out.end());
  for (const Target& t : rest_) add(out, t);
  return out;
}

std::vector<Rail> LaneTargets::used() const {
  std::vector<Rail> out;
  for (const Target& t : shared_) out.push_back({t.to, mbps_ / static_cast<uint32_t>(shared_.size())});
  return out;
}

uint32_t carried_together(const std::vector<std::vector<Rail>>& used) {
  std::vector<Rail> all;
  for (const std::vector<Rail>& of_one : used)
    for (const Rail& r : of_one) {
      if (r.mbps == 0) return 0;
      const auto same = std::find_if(all.begin(), all.end(), [&](auto& a) { return a.address == r.address; });
      if (same == all.end())
        all.push_back(r);
      else
        same->mbps = std::max(same->mbps, r.mbps);
    }
  uint64_t sum = 0;
  for (const Rail& r : all) sum += r.mbps;
  return static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX));
}

}  // namespace fanin::plugin::collnet
