#include "plugin/job_secret.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "fanin/secret_file.h"
#include "plugin/lasting.h"
#include "plugin/log.h"

namespace fanin::plugin {
namespace {

// Every secret read so far, by id. Any thread.
class Known {
 public:
  static Known& secrets() {
    static Lasting<Known> known([] { return Known(); });
    return *known;
  }
  std::optional<Secret> find(const wire::KeyId& key) {
    std::lock_guard lock(mutex_);
    auto s = place(key);
    return s == secrets_.end() ? std::nullopt : std::optional<Secret>(*s);
  }
  void add(const Secret& secret) {
    std::lock_guard lock(mutex_);
    if (place(secret.id()) == secrets_.end()) secrets_.push_back(secret);
  }

 private:
  std::vector<Secret>::const_iterator place(const wire::KeyId& key) const {
    return std::find_if(secrets_.begin(), secrets_.end(), [&](const Secret& s) { return s.id() == key; });
  }

  std::mutex mutex_;
  std::vector<Secret> secrets_;
};

Result<std::optional<Secret>> read_job_secret(const Options& options) {
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

}  // namespace

Result<std::optional<Secret>> job_secret(const Options& options) {
  Result<std::optional<Secret>> s = read_job_secret(options);
  if (s && *s) Known::secrets().add(**s);
  return s;
}

Result<std::optional<Secret>> shared_secret(const Options& options, const wire::KeyId& key,
                                            const std::string& whose) {
  const bool asked = key != wire::KeyId{};
  if (asked)
    if (std::optional<Secret> s = Known::secrets().find(key)) return s;
  Result<std::optional<Secret>> own = job_secret(options);
  if (!own) return own.error();
  if (!asked && !*own) return std::optional<Secret>();
  if (asked && *own && (*own)->id() == key) return own;
  return Error(Errc::kInvalidUsage, whose +
                                        (!asked  ? " has no secret, this rank has one"
                                         : !*own ? " has a secret, this rank has none"
                                                 : " has another secret than this rank") +
                                        "; set the same FANIN_SECRET_FILE on all ranks of a job");
}

}  // namespace fanin::plugin
