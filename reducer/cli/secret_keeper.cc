#include "reducer/cli/secret_keeper.h"

#include <algorithm>

#include "reducer/cli/log.h"

namespace fanin::reducer::cli {
namespace {

constexpr size_t kNamesTold = 8;

const NamedSecret* same_as(const std::vector<NamedSecret>& all, const NamedSecret& one) {
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const NamedSecret& s) { return s.secret.id() == one.secret.id(); });
  return found == all.end() ? nullptr : &*found;
}

// "new: a, b" of those in `all` that are not in `others`, or "".
std::string missing_from(const std::vector<NamedSecret>& others, const std::vector<NamedSecret>& all,
                         const std::string& title) {
  std::string out;
  size_t n = 0;
  for (const NamedSecret& s : all) {
    if (same_as(others, s)) continue;
    if (++n <= kNamesTold) out += (out.empty() ? title : ", ") + s.name;
  }
  return n <= kNamesTold ? out : out + " and " + std::to_string(n - kNamesTold) + " more";
}

}  // namespace

Result<std::vector<NamedSecret>> SecretKeeper::load() {
  Result<SecretFile> file = source_.load();
  if (!file) return file.error();
  for (const std::string& w : file->warnings) log_line("warning: " + w);
  for (const NamedSecret& s : file->secrets)
    if (const NamedSecret* admin = same_as(admins_, s))
      return Error(Errc::kInvalidUsage,
                   "the job's secret '" + s.name + "' is '" + admin->name +
                       "' of --admin-secret-file too, so everyone of that job could drain "
                       "this reducer; make another one with: openssl rand -hex 32");
  return std::move(file->secrets);
}

Result<std::vector<NamedSecret>> SecretKeeper::read() {
  Result<std::vector<NamedSecret>> secrets = load();
  if (secrets) held_ = *secrets;
  return secrets;
}

std::optional<std::vector<NamedSecret>> SecretKeeper::renew() {
  Result<std::vector<NamedSecret>> now = load();
  if (!now) {
    log_line("warning: " + now.error().text() + "; the secrets read before stay in use");
    return std::nullopt;
  }
  const std::string come = missing_from(held_, *now, "new: "), gone = missing_from(*now, held_, "gone: ");
  std::string what = come + (come.empty() || gone.empty() ? "" : "; ") + gone;
  log_line("secrets read again: " + std::to_string(now->size()) + (what.empty() ? "" : " (" + what + ")"));
  held_ = *now;
  return *std::move(now);
}

}  // namespace fanin::reducer::cli
