// The secrets of a running fanin-reducer: read at start, read again when their file changes, and what the log is told of
// it. A file that is no good, then or later, changes nothing. One thread; reads files and logs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "fanin/secret_file.h"
#include "reducer/cli/secret_source.h"

namespace fanin::reducer::cli {

class SecretKeeper {
 public:
  // admins: the secrets that may drain. A job's must be none of them: each of its ranks could stop the others' reducer.
  SecretKeeper(SecretSource source, std::vector<NamedSecret> admins)
      : source_(std::move(source)), admins_(std::move(admins)) {}
  bool given() const { return source_.given(); }
  bool has_file() const { return source_.has_file(); }

  // At start.
  Result<std::vector<NamedSecret>> read();
  bool changed() { return source_.changed(); }
  // Once more. Nothing: those read before stay in use.
  std::optional<std::vector<NamedSecret>> renew();

 private:
  Result<std::vector<NamedSecret>> load();

  SecretSource source_;
  std::vector<NamedSecret> admins_, held_;
};

}  // namespace fanin::reducer::cli
