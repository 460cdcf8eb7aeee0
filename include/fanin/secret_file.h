// Files with secrets: one a line, `secret` or `name: secret`; empty lines and comments (#) are skipped.
//
// A reducer's file holds the secrets of all jobs it serves, a worker's the one of its own. Errors and warnings name
// file and line, never a secret. Blocks (reads a file); not for data paths.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "fanin/error.h"
#include "fanin/secret.h"

namespace fanin {

struct NamedSecret {
  std::string name;  // as in the file, else "line 3"
  Secret secret;
};

struct SecretFile {
  std::vector<NamedSecret> secrets;   // at least one
  std::vector<std::string> warnings;  // everyone on the host may read it, …
};

inline constexpr size_t kMaxSecrets = 4096;
inline constexpr size_t kMaxSecretFile = 2 << 20;

// path is for messages.
Result<std::vector<NamedSecret>> parse_secrets(std::string_view text, const std::string& path);
Result<SecretFile> read_secret_file(const std::string& path);

}  // namespace fanin
