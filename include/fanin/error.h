// Errors as values: what failed, where, which peer, what to do about it.
//
// Every fallible function of fanin returns Status or Result<T>. Nothing on the data path throws; the C ABI
// edge (plugin/abi/) turns an Error into one log line and an ncclResult_t, the reducer's main into a line on
// stderr and an exit code. Errors are values without owner or thread; copying one is the only allocation.
#pragma once
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fanin {

// Text from outside for a log line: without control characters, and at most so many bytes of it.
inline std::string printable(std::string_view text, size_t most = 1000) {
  size_t end = most < text.size() ? most : text.size();
  // No half of a character.
  if (end < text.size())
    for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; ++i) --end;
  std::string out(text.substr(0, end));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return out + (text.size() > most ? "…" : "");
}

// A user's text as messages quote it: printable, and at most 100 characters of it.
inline std::string quoted(std::string_view text) { return "'" + printable(text, 100) + "'"; }

// Who has to act, and so which ncclResult_t NCCL gets (see plugin/abi/edge.h).
enum class Errc {
  kSystem,           // this host refused: a system call, memory, descriptors
  kInternal,         // a bug in fanin
  kInvalidArgument,  // the caller passed something impossible
  kInvalidUsage,     // configuration: an option, an address, a file
  kRemote,           // a peer is gone, silent, or broke the protocol
};

// Where an Error was made. (std::source_location is missing in clang 14.)
struct Where {
  const char* file;
  int line;
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

class Error {
 public:
  Error(Errc code, std::string text, Where where = Where::here())
      : code_(code), text_(std::move(text)), where_(where) {}
  Errc code() const { return code_; }
  // One line for people; names the thing, the peer and the remedy.
  const std::string& text() const { return text_; }
  const Where& where() const { return where_; }
  // The same error seen from further out: "connecting lane 2: " + text.
  Error in(std::string context) const {
    Error e = *this;
    e.text_ = std::move(context) + ": " + text_;
    return e;
  }

 private:
  Errc code_;
  std::string text_;
  Where where_;
};

// strerror(err), and where it is a limit that ends, which one and how to raise it.
inline std::string system_text(int err) {
  char buf[128];
  std::string text = strerror_r(err, buf, sizeof buf);
  if (err == EMFILE) text += " (raise this process's limit on open files, ulimit -n)";
  if (err == ENFILE) text += " (raise the host's limit on open files, sysctl fs.file-max)";
  return text;
}

// "what: system_text(err)", for a failed system call.
inline Error system_error(std::string what, int err, Errc code = Errc::kSystem, Where where = Where::here()) {
  return Error(code, std::move(what) + ": " + system_text(err), where);
}

// The same for a thread that could not be started: only there EAGAIN is a limit.
inline Error thread_error(const std::string& name, int err, Where where = Where::here()) {
  return Error(
      Errc::kSystem,
      "cannot start thread " + name + ": " + system_text(err) +
          (err == EAGAIN ? " (raise the limit on threads, ulimit -u or the cgroup's pids.max, or the one on "
                           "memory, ulimit -v)"
                         : ""),
      where);
}

// A T or the Error that kept it from being. Test with if (!r) before use.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return v_.index() == 0; }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  const Error& error() const { return std::get<1>(v_); }

 private:
  std::variant<T, Error> v_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace fanin
