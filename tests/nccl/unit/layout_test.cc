#include "tests/nccl/device/kernel/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cpudev::test {
namespace {

// Bytes as NCCL would leave them.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {}
  template <class T>
  void put(size_t offset, T value) {
    memcpy(&bytes_[offset], &value, sizeof value);
  }
  char* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_;
};

TEST(Layout, IsKnownFrom222To230) {
  for (int version : {21602, 22105, 23102, 23203, 0}) EXPECT_FALSE(layout_of(version)) << version;
  for (int version : {22203, 22304, 22605, 22703, 22809, 22907, 23003, 23007})
    EXPECT_TRUE(layout_of(version)) << version;
}

// The second channel of a communicator, by what moved: the end of the work ring's credits, Ring's new pointer.
TEST(Layout, ReadsCommunicatorsAndChannels) {
  const struct {
    int version;
    size_t dense, index, tree, counter, bytes;
  } releases[] = {{22304, 48, 24, 32, 0, 368},   {22501, 48, 24, 32, 0, 352},
                  {22605, 48, 24, 32, 352, 368}, {22707, 40, 24, 32, 352, 368},
                  {22907, 40, 32, 40, 360, 368}, {23007, 40, 32, 40, 360, 368}};
  for (const auto& r : releases) {
    SCOPED_TRACE(r.version);
    const Layout* l = layout_of(r.version);
    ASSERT_TRUE(l);
    Memory channels(2 * r.bytes), comm(128);
    uint32_t abort = 0;
    int dense[2] = {}, order[2] = {};
    comm.put(0, 3);
    comm.put(4, 5);
    comm.put(24, 4096);  // the Simple buffer
    comm.put(28, 512);
    comm.put(r.dense, &dense[0]);
    comm.put(r.dense + 8, &abort);
    comm.put(r.dense + 16, channels.data());
    channels.put(r.bytes + 8, 1);
    channels.put(r.bytes + 12, 2);
    channels.put(r.bytes + 16, &order[0]);
    channels.put(r.bytes + r.index, 7);
    channels.put(r.bytes + r.tree + 4, 11);
    channels.put(r.bytes + r.tree + 20 + 4, 12);
    channels.put(r.bytes + r.tree + 40 + 8, 13);
    const abi::KernelComm c = l->read_comm(comm.data());
    EXPECT_EQ(c.rank, 3);
    EXPECT_EQ(c.n_ranks, 5);
    EXPECT_EQ(c.buff_sizes[abi::kProtoSimple], 4096);
    EXPECT_EQ(c.p2p_chunk_size, 512);
    EXPECT_EQ(c.dense_to_user_rank, dense);
    EXPECT_EQ(c.abort_flag, &abort);
    const abi::Channel ch = l->read_channel(c, 1);
    EXPECT_EQ(ch.ring.prev, 1);
    EXPECT_EQ(ch.ring.next, 2);
    EXPECT_EQ(ch.ring.user_ranks, order);
    EXPECT_EQ(ch.ring.index, 7);
    EXPECT_EQ(ch.tree.up, 11);
    EXPECT_EQ(ch.chain.up, 12);
    EXPECT_EQ(ch.direct.n_heads, 13);
    EXPECT_EQ(reinterpret_cast<char*>(ch.work_counter),
              r.counter ? channels.data() + r.bytes + r.counter : nullptr);
  }
}

TEST(Layout, ReadsWork) {
  const struct {
    int version;
    size_t buffers, parts, argument, bytes;
  } releases[] = {
      {22203, 8, 24, 56, 64}, {22304, 8, 56, 88, 96}, {22809, 8, 56, 88, 96}, {23007, 24, 80, 112, 128}};
  for (const auto& r : releases) {
    SCOPED_TRACE(r.version);
    const Layout* l = layout_of(r.version);
    Memory work(r.bytes);
    char in, out;
    work.put(0, uint32_t{2 | 5 << 8});  // channels 2 to 5
    work.put(4, uint32_t{9});
    work.put(r.buffers, &out);
    work.put(r.buffers + 8, &in);
    work.put(r.parts + 8, size_t{1000});
    work.put(r.argument, uint64_t{77});
    const abi::WorkColl w = l->read_coll(work.data());
    EXPECT_EQ(w.channel_lo, 2u);
    EXPECT_EQ(w.channel_hi, 5u);
    EXPECT_EQ(w.root, 9u);
    EXPECT_EQ(w.recvbuff, &out);
    EXPECT_EQ(w.sendbuff, &in);
    EXPECT_EQ(w.cbd.count_mid, 1000u);
    EXPECT_EQ(w.red_op_arg, 77u);
    EXPECT_EQ(l->work_bytes(abi::kWorkColl), r.bytes);
    EXPECT_EQ(l->work_bytes(abi::kWorkCollReg), r.bytes + 192);
    EXPECT_EQ(l->work_bytes(abi::kWorkP2p), 48u);
  }
}

// How a buffer is registered: a number up to 2.23 (3: with the collnet network), then bits.
TEST(Layout, ReadsRegistration) {
  Memory work(96);
  work.put(3, uint8_t{3 << 1 | 1 << 3});
  const abi::WorkColl old = layout_of(22304)->read_coll(work.data());
  EXPECT_TRUE(old.net_reg_used && old.one_node);
  EXPECT_FALSE(old.reg_used || old.red_op_arg_is_ptr || old.direct);
  work.put(3, uint8_t{1 << 2});
  const abi::WorkColl now = layout_of(22809)->read_coll(work.data());
  EXPECT_TRUE(now.net_reg_used);
  EXPECT_FALSE(now.reg_used || now.one_node);
}

}  // namespace
}  // namespace cpudev::test
