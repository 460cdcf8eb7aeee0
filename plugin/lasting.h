// What this library makes once and keeps: destroyed when the library is unloaded, but not by exit(), during which NCCL's
// threads and ours go on using it.
//
// Static storage only: static Lasting<T> t(make). Without a destructor of its own.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

namespace fanin::plugin {

class Kept {
 public:
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 protected:
  explicit Kept(void (*destroy)(Kept&)) : destroy_(destroy) {}
  void keep();  // until the library is unloaded

 private:
  friend void unload();
  void (*const destroy_)(Kept&);
  Kept* next_ = nullptr;
};

template <class T>
class Lasting final : public Kept {
 public:
  template <class Make>
  explicit Lasting(Make make)
      : Kept([](Kept& k) { static_cast<Lasting&>(k).value().~T(); }), value_(new (room_) T(make())) {
    keep();
  }
  T& operator*() { return value(); }

 private:
  T& value() { return *value_; }
  alignas(T) std::byte room_[sizeof(T)];
  T* const value_;
};

// True once the library is being unloaded from a process that goes on.
bool unloading();

}  // namespace fanin::plugin
