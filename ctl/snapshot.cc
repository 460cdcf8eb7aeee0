#include "ctl/snapshot.h"

#include <nlohmann/json.hpp>

namespace fanin::ctl {
namespace {

using nlohmann::json;

// Of another type, or not there: nothing. No call here throws.
double number(const json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_number() ? found->get<double>() : 0;
}
uint64_t whole(const json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
// It goes to a terminal.
std::string text(const json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_string() ? printable(found->get_ref<const std::string&>()) : "";
}
Flow flow(const json& j) {
  return {number(j, "received_bytes"), number(j, "sent_bytes"), number(j, "reduced_bytes")};
}

}  // namespace

Result<Snapshot> parse_snapshot(const std::string& bytes) {
  const json j = json::parse(bytes, nullptr, false);
  if (!j.is_object() || !j.contains("uptime_seconds") || !j.contains("sessions") || !j["sessions"].is_array())
    return Error(Errc::kRemote, "the answer is not a fanin-reducer's");
  Snapshot s;
  s.version = text(j, "version");
  s.uptime_s = number(j, "uptime_seconds");
  s.draining = j.contains("draining") && j["draining"] == true;
  s.memory = number(j, "memory_bytes");
  s.memory_used = number(j, "memory_used_bytes");
  s.opened = whole(j, "sessions_opened");
  s.aborted = whole(j, "sessions_aborted");
  s.connections = whole(j, "connections");
  s.stall_s = number(j, "stall_seconds");
  if (j.contains("lanes") && j["lanes"].is_array())
    for (const json& l : j["lanes"])
      if (l.is_object()) s.lanes.push_back({flow(l), number(l, "cpu_seconds")});
  for (const json& e : j["sessions"]) {
    if (!e.is_object()) continue;
    SessionState v;
    v.name = text(e, "name");
    v.secret = text(e, "secret");
    v.serial = whole(e, "serial");
    v.ranks = whole(e, "ranks");
    v.connections = whole(e, "connections");
    v.message = whole(e, "message");
    v.memory = number(e, "memory_bytes");
    v.age_s = number(e, "age_seconds");
    v.waiting_s = number(e, "waiting_seconds");
    v.flow = flow(e);
    v.waiting_for = text(e, "waiting_for");
    v.aborted = text(e, "aborted");
    s.sessions.push_back(std::move(v));
  }
  return s;
}

}  // namespace fanin::ctl
