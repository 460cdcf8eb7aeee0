#include "reducer/cli/secret_source.h"

#include <sys/stat.h>

namespace fanin::reducer::cli {

bool SecretSource::look(Look& out) const {
  struct stat st {};
  if (::stat(file_.c_str(), &st) != 0) return false;
  out = {st.st_dev, st.st_ino, st.st_size, st.st_mtim};
  return true;
}

Result<SecretFile> SecretSource::load() {
  if (!has_file()) {
    Result<Secret> s = Secret::make(text_);
    if (!s) return s.error().in("FANIN_SECRET");
    return SecretFile{{{"FANIN_SECRET", *std::move(s)}}, {}};
  }
  // Looked at before it is read: what is written meanwhile counts as a change.
  look(read_);
  Result<SecretFile> f = read_secret_file(file_);
  return f ? std::move(f) : f.error().in("--secret-file");
}

bool SecretSource::changed() {
  Look now;
  if (!has_file()) return false;
  if (!look(now)) return ++missed_ == 2;
  missed_ = 0;
  return !(now == read_);
}

}  // namespace fanin::reducer::cli
