#include "plugin/job_secret.h"

#include <atomic>

#include "fanin/secret_file.h"
#include "plugin/log.h"

namespace fanin::plugin {

Result<std::optional<Secret>> job_secret(const Options& options) {
  if (!options.secret_file.empty() && !options.secret.empty())
    return Error(Errc::kInvalidUsage, "FANIN_SECRET_FILE and FANIN_SECRET are both set; unset one of them");
  if (!options.secret.empty()) {
    Result<Secret> s = Secret::make(options.secret);
    if (!s) return s.error().in("FANIN_SECRET");
    return std::optional<Secret>(*std::move(s));
  }
  if (options.secret_file.empty()) return std::optional<Secret>();
  Result<SecretFile> file = read_secret_file(options.secret_file);
  if (!file) return file.error().in("FANIN_SECRET_FILE");
  static std::atomic<bool> warned{false};
  if (!file->warnings.empty() && !warned.exchange(true))
    FANIN_WARN("FANIN_SECRET_FILE: %s", file->warnings.front().c_str());
  if (file->secrets.size() != 1)
    return Error(Errc::kInvalidUsage, "FANIN_SECRET_FILE: " + options.secret_file + " holds " +
                                          std::to_string(file->secrets.size()) +
                                          " secrets, a job has one; give each job a file of its own");
  return std::optional<Secret>(file->secrets.front().secret);
}

}  // namespace fanin::plugin
