#include "tests/nccl/device/kernel/function_table.h"

#include "tests/nccl/device/settings.h"
#include "tests/nccl/device/symbols.h"

namespace cpudev {
namespace {

// Fills in functions in row order.
class Numbering {
 public:
  explicit Numbering(std::span<const int> ids) : ids_(ids) {}
  void add(DeviceFunction f) {
    if (row_++ >= ids_.size()) return;
    const int id = ids_[row_ - 1];
    if (id < 0) return;
    const auto i = static_cast<size_t>(id);
    if (i >= by_id_.size()) by_id_.resize(i + 1);
    if (by_id_[i].coll < 0) by_id_[i] = f;
  }
  void add_all(int coll, int op, int type, std::span<const int> algos) {
    for (int algo : algos)
      for (int proto = 0; proto < abi::kProtos; proto++) add({coll, op, type, algo, proto});
  }
  size_t rows() const { return row_; }
  std::vector<DeviceFunction> take() { return std::move(by_id_); }

 private:
  std::span<const int> ids_;
  size_t row_ = 0;
  std::vector<DeviceFunction> by_id_;
};

struct Shape {
  bool gather_v;  // 2.29
  int types;      // fp8 came with 2.24
  bool pat;       // 2.23
};

void enumerate(const Shape& shape, Numbering* n) {
  static constexpr int kRingOnly[] = {kRing};
  static constexpr int kGatherAll[] = {kRing, kCollNetDirect, kNvls, kPat};
  static constexpr int kReduceAll[] = {kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree};
  const std::span<const int> gather(kGatherAll, shape.pat ? 4 : 3);
  n->add({kSendRecv, kSum, kI8, kRing, abi::kProtoSimple});
  n->add_all(kAllGather, kSum, kI8, gather);
  n->add_all(kBroadcast, kSum, kI8, kRingOnly);
  if (shape.gather_v) n->add_all(kAllGatherV, kSum, kI8, kRingOnly);
  const auto each = [&](int coll, std::span<const int> algos) {
    for (int op = 0; op < kNumDeviceOps; op++)
      for (int type = 0; type < shape.types; type++) n->add_all(coll, op, type, algos);
  };
  each(kAllReduce, kReduceAll);
  each(kReduce, kRingOnly);
  each(kReduceScatter, gather);
}

std::vector<DeviceFunction> number_nccl_functions() {
  const SymbolTable* table = nccl_symbols();
  const Symbol* s = table ? table->find("ncclDevFuncRowToId") : nullptr;
  if (!s) return {};
  return number_functions({reinterpret_cast<const int*>(s->address), s->size / sizeof(int) - 1});
}

}  // namespace

std::vector<DeviceFunction> number_functions(std::span<const int> row_to_id) {
  // As the table grew.
  constexpr Shape kShapes[] = {{true, 12, true}, {false, 12, true}, {false, 10, true}, {false, 10, false}};
  for (const Shape& shape : kShapes) {
    Numbering n(row_to_id);
    enumerate(shape, &n);
    if (n.rows() == row_to_id.size()) return n.take();
  }
  logf("NCCL's function table has %zu rows, which is not known: wrong version?", row_to_id.size());
  return {};
}

DeviceFunction device_function(unsigned id) {
  static const auto* table = new std::vector<DeviceFunction>(number_nccl_functions());
  return id < table->size() ? (*table)[id] : DeviceFunction{};
}

}  // namespace cpudev
