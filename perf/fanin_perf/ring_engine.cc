#include "perf/fanin_perf/ring_engine.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "perf/fanin_perf/ring_plan.h"
#include "reducer/kernels/reduce.h"
#include "transport/deadline.h"

namespace fanin::perf {
namespace {

// Slots hold what was received until it has been passed on. More than RingPlan::kSlices plus the receives
// posted ahead: with fewer the ring could wait for itself.
constexpr size_t kSlots = RingPlan::kSlices + 2 * RingEngine::kInFlight;
constexpr int kNoSlot = -1;

}  // namespace

struct RingEngine::Channel {
  explicit Channel(NetLink l) : link(std::move(l)) {}

  NetLink link;
  void *send_mhandle = nullptr, *recv_mhandle = nullptr;            // the user's buffers
  void *slot_send_mhandle = nullptr, *slot_recv_mhandle = nullptr;  // the slots
  void* out_send_mhandle = nullptr;  // recv buffer, sent from when passing on results
  std::vector<std::byte> slots = std::vector<std::byte>(kSlots * RingPlan::kMaxChunkBytes);

  // State of the collective under way; counted in messages: posted >= done.
  std::optional<RingPlan> plan;
  struct InFlight {
    void* request;
    int slot;
  };
  std::array<InFlight, kInFlight> receives{}, sends{};
  size_t recv_posted = 0, recv_done = 0, send_posted = 0, send_done = 0;
  // Slot of each received message until its send is posted; message m waits at m % kWaiting.
  static constexpr size_t kWaiting = kSlots + RingPlan::kSlices;
  std::array<int, kWaiting> waiting{};
  std::vector<int> free_slots;

  std::byte* slot(int i) { return slots.data() + static_cast<size_t>(i) * RingPlan::kMaxChunkBytes; }
  bool finished() const { return send_done == plan->messages() && recv_done == plan->messages(); }
  void start(const RingPlan& p) {
    plan = p;
    recv_posted = recv_done = send_posted = send_done = 0;
    free_slots.clear();
    for (size_t i = 0; i < kSlots; i++) free_slots.push_back(static_cast<int>(i));
  }
};

RingEngine::RingEngine(NetContext context, int rank, int nranks, bool crowded)
    : context_(std::move(context)),
      rank_(static_cast<size_t>(rank)),
      nranks_(static_cast<size_t>(nranks)),
      backoff_(crowded) {}

RingEngine::~RingEngine() { (void)close(); }

Result<std::unique_ptr<Engine>> RingEngine::make(const Plugin& plugin, Group& group, size_t channels,
                                                 bool crowded, std::chrono::milliseconds patience) {
  auto context = NetContext::make(plugin);
  if (!context) return context.error();
  std::unique_ptr<RingEngine> engine(
      new RingEngine(std::move(*context), group.rank(), group.size(), crowded));
  for (size_t c = 0; c < channels; c++) {
    auto link = NetLink::make(plugin, engine->context_.get(), group, patience);
    if (!link) return link.error();
    engine->channels_.push_back(std::make_unique<Channel>(std::move(*link)));
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

Status RingEngine::attach(const Regions& regions) {
  for (auto& c : channels_) {
    std::span<std::byte> slots(c->slots);
    struct {
      void** mhandle;
      std::span<std::byte> memory;
      bool sending;
    } const wanted[] = {{&c->send_mhandle, regions.send, true},
                        {&c->out_send_mhandle, regions.recv, true},
                        {&c->slot_send_mhandle, slots, true},
                        {&c->recv_mhandle, regions.recv, false},
                        {&c->slot_recv_mhandle, slots, false}};
    for (auto& w : wanted) {
      auto m = w.sending ? c->link.register_send(w.memory.data(), w.memory.size())
                         : c->link.register_recv(w.memory.data(), w.memory.size());
      if (!m) return m.error();
      *w.mhandle = *m;
    }
  }
  return {};
}

Status RingEngine::progress(Channel& c, const Work& work, bool* idle) {
  const RingPlan& plan = *c.plan;
  const ncclNet_v12_t& net = c.link.table();
  auto* const in = const_cast<std::byte*>(work.send);  // the ABI has no const
  std::byte* const out = work.recv;
  // In a reduce-scatter the output buffer holds this rank's row only, in an all-gather the input buffer does.
  auto out_at = [&](const RingPlan::Chunk& k) {
    return out + (work.coll == Coll::kReduceScatter ? k.column : k.offset);
  };
  auto in_at = [&](const RingPlan::Chunk& k) {
    return in + (work.coll == Coll::kAllGather ? k.column : k.offset);
  };

  // Receive: posted ahead, so that the previous rank never waits for this one.
  while (c.recv_posted < plan.messages() && c.recv_posted < c.recv_done + kInFlight &&
         c.recv_posted < c.send_posted + kSlots) {
    size_t m = c.recv_posted;
    RingPlan::Chunk k = plan.received(m);
    Channel::InFlight& f = c.receives[m % kInFlight];
    f = {nullptr, kNoSlot};
    if (k.bytes > 0) {
      void* to = out_at(k);
      void* mhandle = c.recv_mhandle;
      if (plan.reduces(m)) {
        if (c.free_slots.empty()) break;
        f.slot = c.free_slots.back();
        to = c.slot(f.slot);
        mhandle = c.slot_recv_mhandle;
      }
      int tag = 0;
      if (ncclResult_t rc =
              net.irecv(c.link.recv_comm(), 1, &to, &k.bytes, &tag, &mhandle, nullptr, &f.request);
          rc != ncclSuccess)
        return call_failed("irecv", rc);
      if (!f.request) break;
      if (f.slot != kNoSlot) c.free_slots.pop_back();
    }
    c.recv_posted++;
    *idle = false;
  }
  while (c.recv_done < c.recv_posted) {
    size_t m = c.recv_done;
    Channel::InFlight& f = c.receives[m % kInFlight];
    RingPlan::Chunk k = plan.received(m);
    if (k.bytes > 0) {
      int done = 0, size = 0;
      if (ncclResult_t rc = net.test(f.request, &done, &size); rc != ncclSuccess)
        return call_failed("test", rc);
      if (!done) break;
      if (static_cast<size_t>(size) != k.bytes)
        return Error(Errc::kRemote, "received " + std::to_string(size) + " bytes where " +
                                        std::to_string(k.bytes) + " were due");
      if (plan.reduces(m)) {
        const void* inputs[2] = {in_at(k), c.slot(f.slot)};
        void* to = plan.finishes(m) ? out_at(k) : c.slot(f.slot);
        reduce_fn(work.type, work.op)(to, inputs, 2, k.bytes / dtype_size(work.type));
        if (plan.finishes(m)) c.free_slots.push_back(std::exchange(f.slot, kNoSlot));
      }
    }
    c.waiting[m % Channel::kWaiting] = f.slot;
    c.recv_done++;
    *idle = false;
  }

  // Send, in message order: own input at once, anything else when it has come in.
  while (c.send_posted < plan.messages() && c.send_posted < c.send_done + kInFlight) {
    size_t m = c.send_posted;
    if (!plan.starts_chain(m) && m - RingPlan::kSlices >= c.recv_done) break;
    RingPlan::Chunk k = plan.sent(m);
    Channel::InFlight& f = c.sends[m % kInFlight];
    f = {nullptr, kNoSlot};
    if (k.bytes > 0) {
      void* from = in_at(k);
      void* mhandle = c.send_mhandle;
      if (!plan.starts_chain(m)) {
        f.slot = c.waiting[(m - RingPlan::kSlices) % Channel::kWaiting];
        from = f.slot != kNoSlot ? c.slot(f.slot) : out_at(k);
        mhandle = f.slot != kNoSlot ? c.slot_send_mhandle : c.out_send_mhandle;
      }
      if (ncclResult_t rc = net.isend(c.link.send_comm(), from, k.bytes, 0, mhandle, nullptr, &f.request);
          rc != ncclSuccess)
        return call_failed("isend", rc);
      if (!f.request) break;
    }
    c.send_posted++;
    *idle = false;
  }
  while (c.send_done < c.send_posted) {
    Channel::InFlight& f = c.sends[c.send_done % kInFlight];
    int done = f.request == nullptr;
    if (f.request)
      if (ncclResult_t rc = net.test(f.request, &done, nullptr); rc != ncclSuccess)
        return call_failed("test", rc);
    if (!done) break;
    if (f.slot != kNoSlot) c.free_slots.push_back(f.slot);
    c.send_done++;
    *idle = false;
  }
  return {};
}

Status RingEngine::run(const Work& work, std::chrono::milliseconds patience) {
  size_t active = RingPlan::channels_for(work.coll, work.bytes, nranks_, channels_.size());
  for (size_t i = 0; i < active; i++) {
    Channel& c = *channels_[i];
    c.start(RingPlan(work.coll, work.bytes, rank_, nranks_, i, active));
    // Nobody sends a rank its own share of an all-gather.
    std::byte* mine = work.recv + rank_ * (work.bytes / nranks_) + c.plan->first_column();
    const std::byte* from = work.send + c.plan->first_column();
    if (work.coll == Coll::kAllGather && mine != from) memcpy(mine, from, c.plan->columns());
  }
  Deadline deadline = Deadline::after(patience);
  unsigned polls = 0;
  bool progressed = false;
  for (;;) {
    bool idle = true, finished = true;
    for (size_t i = 0; i < active; i++) {
      if (channels_[i]->finished()) continue;
      if (Status s = progress(*channels_[i], work, &idle); !s) return s;
      finished = finished && channels_[i]->finished();
    }
    if (finished) return {};
    if (idle) {
      backoff_.idle();
    } else {
      backoff_.progressed();
      progressed = true;
    }
    if (++polls % 1024 != 0) continue;  // the clock is read rarely
    if (std::exchange(progressed, false)) {
      deadline = Deadline::after(patience);
    } else if (deadline.passed()) {
      return Error(Errc::kRemote, "no progress for " + std::to_string(patience.count() / 1000) + " s");
    }
  }
}

Status RingEngine::close() {
  Status first;
  for (auto& c : channels_)
    if (Status s = c->link.close(); !s && first) first = s;
  channels_.clear();
  return first;
}

}  // namespace fanin::perf
