// What the ranks put into their buffers, and what must come out: pseudo-random values by (rank, element),
// results computed in double (integers: exactly, wrapping) from the rounded inputs, with an error bound per
// type and operator.
//
// Pure functions of the object; any thread.
#pragma once
#include <nccl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ranks {

class Values {
 public:
  virtual ~Values() = default;
  virtual ncclDataType_t type() const = 0;
  virtual ncclRedOp_t op() const = 0;
  virtual size_t size() const = 0;       // of an element
  virtual std::string name() const = 0;  // "f32 sum"
  // Elements [first, first + n) of this rank's input.
  virtual void fill(void* data, size_t n, size_t first, int rank) const = 0;
  // How many of data[0 … n) differ from the reduction of elements [first, first + n) over these ranks by more
  // than the bound. One rank: from its input, bit for bit. *example: the first one in words.
  virtual size_t check(const void* data, size_t n, size_t first, const std::vector<int>& ranks,
                       std::string* example) const = 0;
};

// type and op as on the command line. round_once: small floats were accumulated in float and rounded once.
std::unique_ptr<Values> make_values(const std::string& type, const std::string& op, bool round_once);

// FNV-1a over bytes, chained by `hash`.
uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes);
inline constexpr uint64_t kHashSeed = 0xcbf29ce484222325ull;

}  // namespace ranks
