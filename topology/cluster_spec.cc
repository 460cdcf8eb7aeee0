#include "topology/cluster_spec.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "topology/host_list.h"
#include "transport/tcp/address.h"

namespace fanin {
namespace {

using nlohmann::json;

constexpr size_t kMaxText = 1 << 20;

Error bad(const ClusterForm& form, const std::string& why) {
  return Error(Errc::kInvalidUsage, std::string(form.variable) + " " + why);
}

// A member of an object; null: there is none, or `j` is no object.
const json* member(const json& j, const char* name) {
  if (!j.is_object()) return nullptr;
  const auto it = j.find(name);
  return it == j.end() ? nullptr : &*it;
}

const std::string* text_in(const json* j) { return j ? j->get_ptr<const std::string*>() : nullptr; }

Result<json> parse(const ClusterForm& form, const std::string& text) {
  if (text.size() > kMaxText) return bad(form, "is longer than 1 MiB");
  const std::string not_json = "is not valid JSON: " + fanin::quoted(text);
  try {
    return json::parse(text);
  } catch (const json::parse_error& e) {
    if (text.size() <= 100) return bad(form, not_json);
    const size_t from = std::min(e.byte > 0 ? e.byte - 1 : 0, text.size());
    return bad(form, not_json + ", wrong from character " + std::to_string(from + 1) +
                         " on: " + fanin::quoted(std::string_view(text).substr(from, 40)));
  } catch (const json::exception&) {  // a number that no double holds
    return bad(form, not_json);
  }
}

// The names of all tasks, for a person who looks for the right one.
std::string names_of(const json& cluster) {
  std::string out;
  for (const auto& [name, entries] : cluster.items()) out += (out.empty() ? "" : ", ") + printable(name, 40);
  return printable(out.empty() ? "nothing" : out, 300);
}

Result<std::vector<std::string>> entries_of(const ClusterForm& form, const json& j) {
  const json* cluster = member(j, "cluster");
  if (!cluster || !cluster->is_object()) return bad(form, "has no object 'cluster'");
  const std::string path = std::string("cluster.") + form.reducers;
  const json* pool = member(*cluster, form.reducers);
  if (!pool) return bad(form, "has no " + path + ", where reducers are; it has " + names_of(*cluster));
  const auto malformed = [&] { return bad(form, "has a " + path + " that is not a list of \"host:port\""); };
  if (!pool->is_array()) return malformed();
  std::vector<std::string> out;
  for (const json& entry : *pool) {
    const std::string* text = text_in(&entry);
    if (!text) return malformed();
    if (Result<tcp::HostPort> hp = tcp::parse_host_port(*text); !hp)
      return hp.error().in(form.variable + (" " + path));
    out.push_back(*text);
  }
  if (out.empty()) return bad(form, "has an empty " + path);
  if (out.size() > kMaxHosts) return bad(form, "has more than 4096 entries in " + path);
  return out;
}

// A number, or a string of digits, as some write it.
std::optional<uint64_t> index_in(const json* j) {
  if (!j) return std::nullopt;
  if (j->is_number_unsigned()) return j->get<uint64_t>();
  uint64_t out = 0;
  if (const std::string* text = text_in(j)) {
    const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), out);
    if (ec == std::errc() && end == text->data() + text->size()) return out;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> cluster_reducers(const ClusterForm& form, const std::string& text) {
  Result<json> j = parse(form, text);
  if (!j) return j.error();
  return entries_of(form, *j);
}

Result<uint16_t> cluster_own_port(const ClusterForm& form, const std::string& text) {
  Result<json> j = parse(form, text);
  if (!j) return j.error();
  const json none, *task = member(*j, "task");
  const std::string* type = text_in(member(task ? *task : none, "type"));
  const std::optional<uint64_t> index = index_in(member(task ? *task : none, "index"));
  if (!type || !index) return bad(form, "has no task.type and task.index to tell which task this is");
  const std::string me = "this is task " + std::to_string(*index) + " of " + printable(*type, 40);
  if (*type != form.reducers) return bad(form, "says that " + me + ", and reducers are " + form.reducers);
  Result<std::vector<std::string>> entries = entries_of(form, *j);
  if (!entries) return entries.error();
  if (*index >= entries->size())
    return bad(form, "says that " + me + ", and there are only " + std::to_string(entries->size()));
  const Result<tcp::HostPort> own = tcp::parse_host_port((*entries)[*index]);
  if (!own) return own.error();
  if (own->port == 0) return bad(form, "has port 0 in this task's entry");
  return own->port;
}

}  // namespace fanin
