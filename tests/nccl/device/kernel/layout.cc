#include "tests/nccl/device/kernel/layout.h"

#include <dlfcn.h>

#include <cstring>
#include <iterator>

namespace cpudev {
namespace {

// since, {consumed, dense_ranks, profiler}, {bytes, ring_index, tree, counter}, {buffers, parts, argument, bytes}, …
constexpr Layout kLayouts[] = {
    {22200, {32, 40, 0}, {368, 16, 32, 0}, {8, 24, 56, 64}, true, true},
    {22300, {40, 48, 0}, {368, 16, 32, 0}, {8, 56, 88, 96}, true, true},   // remote addresses in work
    {22400, {40, 48, 0}, {368, 16, 32, 0}, {8, 56, 88, 96}, false, true},  // one bit per kind of registration
    {22500, {40, 48, 0}, {352, 16, 32, 0}, {8, 56, 88, 96}, false, true},  // Nvls is smaller
    {22600, {40, 48, 0}, {368, 16, 32, 352}, {8, 56, 88, 96}, false, true},   // counts works
    {22700, {0, 40, 72}, {368, 16, 32, 352}, {8, 56, 88, 96}, false, true},   // no credits of the work ring
    {22800, {0, 40, 72}, {368, 16, 32, 352}, {8, 56, 88, 96}, false, false},  //
    {22900, {0, 40, 72}, {368, 24, 40, 360}, {8, 56, 88, 96}, false, false},  // one more pointer in Ring
    {23000, {0, 40, 72}, {368, 24, 40, 360}, {24, 80, 112, 128}, false, false},  // padded work
};
static_assert(kLayouts[std::size(kLayouts) - 1].coll.bytes + 24 * sizeof(void*) == kMaxWorkBytes);

template <class T>
void get(T* to, const void* base, size_t offset) {
  memcpy(to, static_cast<const char*>(base) + offset, sizeof *to);
}

}  // namespace

abi::KernelComm Layout::read_comm(const void* base) const {
  abi::KernelComm c{};
  memcpy(&c, base, offsetof(abi::KernelComm, p2p_chunk_size) + sizeof c.p2p_chunk_size);
  if (comm.consumed) get(&c.work_consumed, base, comm.consumed);
  get(&c.dense_to_user_rank, base, comm.dense_ranks);
  get(&c.abort_flag, base, comm.dense_ranks + 8);
  get(&c.channels, base, comm.dense_ranks + 16);
  if (comm.profiler) {
    get(&c.work_started, base, comm.profiler);
    get(&c.work_completed, base, comm.profiler + 8);
  }
  return c;
}

abi::Channel Layout::read_channel(const abi::KernelComm& of, int number) const {
  char* base = of.channels + static_cast<size_t>(number) * channel.bytes;
  abi::Channel c{};
  get(&c.peers, base, 0);
  get(&c.ring.prev, base, 8);
  get(&c.ring.next, base, 12);
  get(&c.ring.user_ranks, base, 16);
  get(&c.ring.index, base, 8 + channel.ring_index);
  get(&c.tree, base, channel.tree);
  get(&c.chain, base, channel.tree + sizeof c.tree);
  get(&c.direct, base, channel.tree + 2 * sizeof c.tree);
  if (channel.counter) c.work_counter = reinterpret_cast<uint64_t*>(base + channel.counter);
  return c;
}

abi::WorkColl Layout::read_coll(const char* work) const {
  abi::WorkColl w{};
  memcpy(&w, work, 8);  // the flags and the root
  get(&w.recvbuff, work, coll.buffers);
  get(&w.sendbuff, work, coll.buffers + 8);
  get(&w.cbd, work, coll.parts);
  get(&w.red_op_arg, work, coll.argument);
  if (wide_registration) {
    constexpr int kCollNetRegistered = 3;
    const auto flags = static_cast<uint8_t>(work[3]);
    const int registered = flags >> 1 & 3;
    w.net_reg_used = registered == kCollNetRegistered;
    w.reg_used = registered && registered != kCollNetRegistered;
    w.one_node = flags >> 3 & 1;
    w.direct = w.is_one_rpn = w.profiler = 0;
  }
  return w;
}

size_t Layout::work_bytes(unsigned type) const {
  if (type == abi::kWorkP2p) return sizeof(abi::WorkP2p);
  if (type == abi::kWorkBcast) return 48;
  return coll.bytes + (type == abi::kWorkCollReg ? 24 * sizeof(void*) : 0);
}

const Layout* layout_of(int version) {
  constexpr int kUnknown = 23100;
  const Layout* found = nullptr;
  if (version >= kUnknown) return found;
  for (const Layout& l : kLayouts)
    if (l.since <= version) found = &l;
  return found;
}

int nccl_version() {
  int version = 0;
  auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  return get_version && get_version(&version) == 0 ? version : 0;
}

const Layout* layout() {
  static const Layout* const found = layout_of(nccl_version());
  return found;
}

}  // namespace cpudev
