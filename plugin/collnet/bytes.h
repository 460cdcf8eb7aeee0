// Building and taking apart small variable-size messages. The reader never reads past its input and says
// once, at the end, whether everything was there. Plain values, little-endian as the wire.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace fanin::plugin::collnet {

class ByteWriter {
 public:
  template <class T>
  void put(const T& v) {
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
    out_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  void put_text(const std::string& s, size_t max) {
    const auto n = static_cast<uint32_t>(std::min(s.size(), max));
    put(n);
    out_.append(s, 0, n);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const char> in) : in_(in) {}
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T v{};
    if (!need(sizeof v)) return v;
    memcpy(&v, in_.data(), sizeof v);
    in_ = in_.subspan(sizeof v);
    return v;
  }
  std::string get_text(size_t max) {
    const auto n = get<uint32_t>();
    if (n > max || !need(n)) {
      ok_ = false;
      return {};
    }
    std::string s(in_.data(), n);
    in_ = in_.subspan(n);
    return s;
  }
  // Everything asked for was there so far.
  bool ok() const { return ok_; }
  // … and nothing is left over.
  bool complete() const { return ok_ && in_.empty(); }

 private:
  bool need(size_t n) {
    ok_ = ok_ && in_.size() >= n;
    return ok_;
  }
  std::span<const char> in_;
  bool ok_ = true;
};

}  // namespace fanin::plugin::collnet
