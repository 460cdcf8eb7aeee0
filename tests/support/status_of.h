// Addresses in what a fanin-reducer says.
#pragma once
#include <string>

#include "transport/tcp/address.h"

namespace fanin::test {

// The numeric IPv4 address after `words`; none where it is not said.
inline tcp::Address address_after(const std::string& said, const std::string& words) {
  const size_t at = said.find(words);
  if (at == std::string::npos) return {};
  std::string text = said.substr(at + words.size());
  text.resize(text.find_first_not_of("0123456789.:"));
  if (text.ends_with(':')) text.pop_back();
  Result<tcp::HostPort> hp = tcp::parse_host_port(text);
  return hp ? tcp::Address::numeric(hp->host, hp->port).value_or(tcp::Address()) : tcp::Address();
}

}  // namespace fanin::test
