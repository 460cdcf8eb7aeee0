#include "fanin/secret_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace fanin {
namespace {

constexpr size_t kMaxName = 64;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/';
  });
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

// What stands before a comment: a # at the start or after white space, so that a secret may have one within.
std::string_view uncommented(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  return line;
}

// Wiped when it goes.
struct Text {
  std::string bytes;
  ~Text() { sodium_memzero(bytes.data(), bytes.size()); }
};

}  // namespace

Result<std::vector<NamedSecret>> parse_secrets(std::string_view text, const std::string& path) {
  std::vector<NamedSecret> out;
  std::map<wire::KeyId, std::string> names;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(uncommented(line));
    if (line.empty()) continue;
    std::string name = "line " + std::to_string(number);
    auto bad = [&](const std::string& why) {
      return Error(Errc::kInvalidUsage, path + ", line " + std::to_string(number) + ": " + why);
    };
    if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
      if (!is_name(trimmed(line.substr(0, colon))))
        return bad(
            "what stands before the colon is no name; write one secret a line, as `secret` or `name: "
            "secret`");
      name = trimmed(line.substr(0, colon));
      line = trimmed(line.substr(colon + 1));
    }
    Result<Secret> secret = Secret::make(line);
    if (!secret) return bad(secret.error().text());
    auto [known, is_new] = names.try_emplace(secret->id(), name);
    if (!is_new) return bad("the same secret as " + known->second + "; each job needs its own");
    if (out.size() == kMaxSecrets) return bad("more than " + std::to_string(kMaxSecrets) + " secrets");
    out.push_back({std::move(name), *std::move(secret)});
  }
  if (out.empty())
    return Error(Errc::kInvalidUsage, path + " holds no secret; make one with: openssl rand -hex 32");
  return out;
}

Result<SecretFile> read_secret_file(const std::string& path) {
  auto failed = [&](int err) {
    return system_error("cannot read the secrets in " + path, err, Errc::kInvalidUsage);
  };
  // A pipe must not block whoever reads it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(errno);
  struct stat st {};
  Text text;
  int err = ::fstat(fd, &st) == 0 ? S_ISDIR(st.st_mode) ? EISDIR : 0 : errno;
  const bool odd = err == 0 && !S_ISREG(st.st_mode);
  if (odd) err = EINVAL;
  text.bytes.reserve(kMaxSecretFile + 1);  // grown, it would leave copies behind
  text.bytes.resize(err == 0 ? kMaxSecretFile + 1 : 0);
  size_t have = 0;
  while (err == 0 && have < text.bytes.size()) {
    const ssize_t n = ::read(fd, text.bytes.data() + have, text.bytes.size() - have);
    if (n == 0) break;
    if (n > 0) have += static_cast<size_t>(n);
    if (n < 0 && errno != EINTR) err = errno;
  }
  ::close(fd);
  if (odd)
    return Error(Errc::kInvalidUsage,
                 "cannot read the secrets in " + path + ": it is a pipe or a device, not a file");
  if (err != 0) return failed(err);
  if (have > kMaxSecretFile) return failed(EFBIG);
  Result<std::vector<NamedSecret>> secrets = parse_secrets({text.bytes.data(), have}, path);
  if (!secrets) return secrets.error();
  SecretFile out{*std::move(secrets), {}};
  if ((st.st_mode & S_IROTH) != 0)
    out.warnings.push_back("everyone on this host may read the secrets in " + path + "; chmod o-r " + path);
  return out;
}

}  // namespace fanin
