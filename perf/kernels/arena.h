// n input buffers and one output in memory of a given total size, filled with finite values of a type.
//
// Buffers start at an odd number of cache lines from one another, so that equal places of different buffers
// do not compete for one cache set. Move-only owner of one mapping, of huge pages where the system gives them.
#pragma once
#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "fanin/dtype.h"

namespace fanin::perf {

class Arena {
 public:
  // total: bytes of all n + 1 buffers, at least 320 each. Throws std::bad_alloc.
  Arena(DType type, size_t n, size_t total) : bytes_((total / (n + 1) - 64) / 256 * 256), size_(total) {
    void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<unsigned char*>(p);
    madvise(base_, size_, MADV_HUGEPAGE);  // where it is refused both loops pay for it
    fill(type);
    for (size_t r = 0; r < n; r++) in_.push_back(base_ + (r + 1) * (bytes_ + 64));
  }
  ~Arena() { munmap(base_, size_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* out() const { return base_; }
  const void* const* in() const { return in_.data(); }
  size_t bytes() const { return bytes_; }  // of each buffer, a multiple of 256

 private:
  // Of magnitude 1 to 4 and both signs, as gradients are neither NaN nor denormal; integers: any bits.
  void fill(DType type) {
    const size_t element = dtype_size(type);
    int mantissa = 0;
    unsigned long long one = 0;
    switch (type) {
      case DType::kF16:
        mantissa = 10, one = 0x3c00;
        break;
      case DType::kBF16:
        mantissa = 7, one = 0x3f80;
        break;
      case DType::kE4M3:
        mantissa = 3, one = 0x38;
        break;
      case DType::kE5M2:
        mantissa = 2, one = 0x3c;
        break;
      case DType::kF32:
        mantissa = 23, one = 0x3f800000;
        break;
      case DType::kF64:
        mantissa = 52, one = 0x3ff0000000000000;
        break;
      default:
        break;
    }
    // A period that is prime to the buffers' distance, so that they differ; the rest is copied.
    const size_t period = size_ < 1021 * 64 ? size_ / element * element : size_t{1021} * 64;
    unsigned long long state = 88172645463325252ull;
    for (size_t at = 0; at + element <= period; at += element) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      unsigned long long v = state >> 8;
      if (mantissa != 0) {
        v = one + (v & ((2ull << mantissa) - 1));
        if (state & 1) v |= 1ull << (8 * element - 1);
      }
      memcpy(base_ + at, &v, element);
    }
    for (size_t at = period; at < size_; at += period) {
      memcpy(base_ + at, base_, period < size_ - at ? period : size_ - at);
    }
  }

  size_t bytes_, size_;
  unsigned char* base_ = nullptr;
  std::vector<const void*> in_;
};

}  // namespace fanin::perf
