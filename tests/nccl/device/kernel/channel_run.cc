#include "tests/nccl/device/kernel/channel_run.h"

#include <time.h>

#include <bit>
#include <cstring>

#include "tests/nccl/device/kernel/function_table.h"
#include "tests/nccl/device/settings.h"

namespace cpudev {

ChannelRun::ChannelRun(const Layout& layout, const abi::KernelComm& comm, const char* arguments, int channel,
                       int first_batch)
    : arguments_(arguments),
      header_(reinterpret_cast<const abi::KernelArgs*>(arguments)),
      channel_(channel),
      batch_(first_batch),
      layout_(layout),
      comm_(comm),
      state_(layout.read_channel(comm, channel)) {
  load();
}

bool ChannelRun::poke() {
  if (done_) return false;
  bool moved = false, all = true;
  for (auto& g : groups_) {
    moved |= g->poke();
    all &= g->finished;
  }
  if (!all) return moved;
  groups_.clear();
  if (++work_ < works_.size()) {
    start();
    return true;
  }
  stamp(false);
  if (state_.work_counter) *state_.work_counter += works_.size();
  if (next_ < 0) {
    done_ = true;
    return true;
  }
  batch_ = next_;
  load();
  return true;
}

void ChannelRun::copy_work(uint32_t at, size_t size, Slot* to) const {
  if (header_->storage == abi::kStorageArguments) {
    memcpy(to->bytes, arguments_ + at, size);
    return;
  }
  const char* ring = static_cast<const char*>(header_->work_buf);  // wraps at any multiple of 16
  for (size_t k = 0; k < size; k += 16) memcpy(to->bytes + k, ring + ((at + k) & header_->work_mask), 16);
}

void ChannelRun::load() {
  works_.clear();
  const auto* batches = reinterpret_cast<const abi::Batch*>(arguments_ + sizeof(abi::KernelArgs));
  for (;;) {
    const abi::Batch& b = batches[batch_];
    const size_t size = layout_.work_bytes(b.work_type);
    for (uint32_t i = 0; i < 64; i++)
      if (b.offset_bits >> i & 1)
        copy_work(b.offset_base + i * static_cast<uint32_t>(size), size, &works_.emplace_back());
    if (comm_.work_consumed && header_->storage == abi::kStorageFifo && !b.next_extends)
      __atomic_store_n(&comm_.work_consumed[channel_],
                       b.offset_base + (64 - static_cast<uint32_t>(std::countl_zero(b.offset_bits))) *
                                           static_cast<uint32_t>(size),
                       __ATOMIC_RELEASE);
    if (b.next_extends) {
      batch_ += b.next_jump;
      continue;
    }
    next_ = b.next_jump == 0 ? -1 : batch_ + static_cast<int>(b.next_jump);
    type_ = b.work_type;
    function_ = b.func_id;
    break;
  }
  work_ = 0;
  stamp(true);
  if (works_.empty())
    done_ = next_ < 0;
  else
    start();
}

void ChannelRun::start() {
  if (type_ == abi::kWorkBcast) {
    logf("batched broadcasts (kernel function %u) are not implemented", function_);
    done_ = true;
    return;
  }
  if (type_ != abi::kWorkP2p) {
    start_collective(layout_.read_coll(works_[work_].bytes));
    return;
  }
  // All point-to-point works of a batch run side by side.
  for (const Slot& s : works_)
    build_p2p(&comm_, &state_, channel_, layout_.mirrored_parts, s.p2p(), &groups_);
  work_ = works_.size() - 1;
}

void ChannelRun::start_collective(const abi::WorkColl& args) {
  Work w{};
  w.comm = &comm_;
  w.channel = &state_;
  w.channel_id = channel_;
  w.args = args;
  w.function = device_function(function_);
  const DeviceFunction& f = w.function;
  w.element_size = static_cast<int64_t>(type_size(f.type));
  w.reduction = {f.op, f.type, args.red_op_arg};
  if (args.red_op_arg_is_ptr) {
    w.reduction.arg = 0;
    memcpy(&w.reduction.arg, reinterpret_cast<const void*>(args.red_op_arg),
           f.op == kSumPostDiv ? 8 : static_cast<size_t>(w.element_size));
  }
  w.in = static_cast<char*>(args.sendbuff);
  w.out = static_cast<char*>(args.recvbuff);
  if (!build_collective(w, &groups_)) {
    logf("kernel function %u (coll %d op %d type %d algo %d proto %d registered %d) is not implemented",
         function_, f.coll, f.op, f.type, f.algo, f.proto, static_cast<int>(args.reg_used));
    done_ = true;
  }
  if (verbose() && channel_ == static_cast<int>(args.channel_lo))
    logf("kernel rank %d coll %d algo %d type %d op %d channels %d..%d registered %d, with the net %d",
         comm_.rank, f.coll, f.algo, f.type, f.op, static_cast<int>(args.channel_lo),
         static_cast<int>(args.channel_hi), static_cast<int>(args.reg_used),
         static_cast<int>(args.net_reg_used));
}

void ChannelRun::stamp(bool begin) {
  if (!comm_.work_started) return;
  uint64_t counter = *state_.work_counter;
  for (const Slot& s : works_) {
    counter++;
    if (!(type_ == abi::kWorkP2p ? s.p2p().profiler : layout_.read_coll(s.bytes).profiler)) continue;
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    auto& d = (begin ? comm_.work_started : comm_.work_completed)[channel_].data[counter % 64];
    d.timestamp = static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
    __atomic_store_n(&d.counter, counter, __ATOMIC_RELEASE);
  }
}

}  // namespace cpudev
