#include "tests/faults/worker.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "perf/common/check.h"
#include "perf/common/coll_comm.h"
#include "perf/common/plugin_log.h"
#include "perf/fanin_perf/chunking.h"
#include "perf/fanin_perf/collnet_engine.h"
#include "perf/fanin_perf/memory.h"
#include "tests/faults/dice.h"
#include "tests/support/descriptors.h"
#include "tests/support/footprint.h"
#include "tests/support/heap.h"
#include "transport/tcp/socket.h"

namespace fanin::faults {
namespace {

constexpr milliseconds kClosePatience{2000};   // closing is prompt; the rest is for a loaded machine
constexpr milliseconds kUnwindPatience{2000};  // a joined thread takes a moment to leave /proc
constexpr size_t kFlying = 6;                  // messages in flight when a rank aborts

// This process's sockets that lead to the pool.
std::vector<int> lanes_of(const std::vector<uint16_t>& ports) {
  std::vector<int> out;
  for (const int fd : test::descriptors()) {
    Result<tcp::Address> peer = tcp::remote_address(fd);
    if (peer && std::find(ports.begin(), ports.end(), peer->port()) != ports.end()) out.push_back(fd);
  }
  return out;
}

// A second thread, since a rank blocks in its rounds; it lives as long as the process. Nothing of the plugin runs in it.
[[noreturn]] void obey(const WorkerTask& task, const Board& board, size_t me) {
  const Scenario& s = task.scenario;
  for (bool shut = false;; std::this_thread::sleep_for(milliseconds(1))) {
    const uint32_t order = board.order[me];
    if (order == Board::kExit) exit(0);
    if (order == Board::kShut && !shut) {
      std::vector<int> lanes = lanes_of(task.ports);
      if (lanes.empty()) continue;
      ::shutdown(lanes[s.connection % lanes.size()], s.flow == Flow::kUp ? SHUT_WR : SHUT_RDWR);
      shut = true;
    }
  }
}

class Worker {
 public:
  Worker(const WorkerTask& task, Board& board, test::Rank& rank)
      : task_(task), s_(task.scenario), board_(board), rank_(rank), me_(static_cast<size_t>(rank.rank())) {}

  std::string run() {
    if (task_.enter) task_.enter(rank_.rank());
    setenv("NCCL_COLLNET_ENABLE", "1", 1);
    perf::set_plugin_log(NCCL_LOG_NONE, "");
    std::thread([&task = task_, &board = board_, me = me_] { obey(task, board, me); }).detach();
    const test::Footprint before = test::Footprint::of();
    mallopt(M_ARENA_MAX, 1);  // another arena would look like a leak
    for (int i = 0; i < 3; ++i) in_thread([this] { warm_up(); });
    const size_t heap_before = test::heap();
    std::string failure;
    in_thread([&] { failure = use_plugin(); });
    perf::clear_plugin_log();
    if (!failure.empty()) return failure;
    test::Footprint after;
    auto clean = [&] { return (after = test::Footprint::of()).within(before); };
    if (!test::within(kUnwindPatience, clean))
      return "LEAK: " + before.text() + " before, " + after.text() + " after";
    const size_t heap_after = test::heap() - verdict_.capacity();
    if (test::kHeapCounted && heap_after > heap_before + test::kHeapSlack)
      return "LEAK: " + std::to_string(heap_after - heap_before) + " bytes of the heap, " + verdict_;
    if (test::lost_memory()) return "LEAK: LeakSanitizer found some";
    rank_.say(verdict_);
    return "";
  }

 private:
  // What a thread has freed is free for good when it has ended: its cache goes with it.
  template <class F>
  static void in_thread(F f) {
    std::thread(f).join();
  }

  // What the C library, its loader and the driver allocate once and keep.
  void warm_up() {
    auto plugin = perf::Plugin::open(test::built("lib/libnccl-net-fanin.so"));
    void* context = nullptr;
    int devices = 0;
    if (plugin && plugin->collnet().init(&context, 0, perf::plugin_logger()) == ncclSuccess) {
      (void)plugin->collnet().devices(&devices);
      (void)plugin->collnet().finalize(context);
    }
    perf::plugin_logger()(NCCL_LOG_WARN, 0, __FILE__, __LINE__, "%s", std::string(1000, '.').c_str());
    perf::clear_plugin_log();
  }

  std::string use_plugin() {
    auto plugin = perf::Plugin::open(test::built("lib/libnccl-net-fanin.so"));
    if (!plugin) return plugin.error().text();
    // The interfaces are looked at once, here: a link that is down then is a job set up wrong.
    void* context = nullptr;
    int devices = 0;
    if (plugin->collnet().init(&context, 0, perf::plugin_logger()) != ncclSuccess ||
        plugin->collnet().devices(&devices) != ncclSuccess ||
        plugin->collnet().finalize(context) != ncclSuccess)
      return "no device: " + perf::last_plugin_warning();
    rank_.say("connecting");
    auto made = perf::CollComm::make(*plugin, rank_.group());
    if (!made) {
      rank_.say("refused: " + made.error().text());
      verdict_ = "error: " + made.error().text();
      return made.error().code() == Errc::kRemote ? "" : "WRONG CODE: " + made.error().text();
    }
    if (!made->comm()) {
      rank_.say("fallback: " + perf::last_plugin_line());
      verdict_ = "fallback";
      return "";
    }
    rank_.say("reducers");
    table_ = &made->table(), comm_ = made->comm();
    perf::CollnetEngine engine(std::move(*made), rank_.rank(), rank_.nranks(), s_.channels, false, true);
    std::string failure = run_rounds(engine);
    rank_.say("closing");
    auto began = std::chrono::steady_clock::now();
    Status closed = engine.close();
    auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
    if (!failure.empty()) return failure;
    if (!closed) return "closing failed: " + closed.error().text();
    // A process that was stopped meanwhile is not slow.
    if (took > kClosePatience && s_.kind != Kind::kStopWorker)
      return "SLOW CLOSE: " + std::to_string(took.count()) + " ms";
    return "";
  }

  std::string run_rounds(perf::CollnetEngine& engine) {
    size_t room = engine.touched_bytes(s_.bytes) + kFlying * (1 << 20);
    auto send = perf::Memory::make(room), recv = perf::Memory::make(room);
    if (!send || !recv) return "no memory";
    send_ = *std::move(send), recv_ = *std::move(recv);
    std::byte *in = send_.span().data(), *out = recv_.span().data();
    if (Status s = engine.attach({send_.span(), recv_.span()}); !s) return note(s.error());
    size_t size = dtype_size(s_.type), count = s_.bytes / size,
           share = count / static_cast<size_t>(s_.nranks);
    perf::Work w{s_.coll, s_.type, RedOp::kSum, s_.bytes, in, out};
    perf::Checker checker(s_.type, perf::CheckOp::kSum, s_.nranks);
    const size_t mine = s_.coll == Coll::kAllGather ? share : count;
    const size_t touched = engine.touched_bytes(s_.bytes);
    memset(in, 0xff, touched);  // stale tails: NaN in every float type
    for (uint32_t round = 1;; ++round) {
      if (me_ == 0 && board_.stop && board_.last == Board::kNever) board_.last = round;
      const uint64_t first = uint64_t{round} * 257;
      checker.fill(rank_.rank(), first, in, mine);
      memset(out, 0xee, touched);
      if (round > 1 && board_.order[me_] == Board::kAbort) return abort_in_flight(w);
      if (Status s = engine.run(w, s_.patience().round); !s) return note(s.error());
      if (size_t wrong = count_wrong(checker, w, first, count, share); wrong > 0)
        return "WRONG RESULT: " + std::to_string(wrong) + " elements in round " + std::to_string(round);
      board_.round[me_] = round;
      if (round == 1) rank_.say("running");
      if (board_.last <= round) {
        verdict_ = "right " + std::to_string(round);
        return "";
      }
      if (task_.pace.count() > 0) std::this_thread::sleep_for(task_.pace);
    }
  }

  size_t count_wrong(const perf::Checker& checker, const perf::Work& w, uint64_t first, size_t count,
                     size_t share) const {
    if (s_.coll == Coll::kAllReduce) return checker.count_wrong(first, w.recv, count);
    if (s_.coll == Coll::kReduceScatter) return checker.count_wrong(first + me_ * share, w.recv, share);
    size_t wrong = 0;
    for (int r = 0; r < s_.nranks; ++r)
      wrong += checker.count_wrong_copy(r, first,
                                        w.recv + static_cast<size_t>(r) * share * dtype_size(s_.type), share);
    return wrong;
  }

  // An error ends the rounds; only those that a peer's loss may cause are in order.
  std::string note(const Error& e) {
    verdict_ = "error: " + e.text();
    if (e.text().starts_with("no progress")) return "HANG: " + e.text();
    return e.code() == Errc::kRemote ? "" : "WRONG CODE: " + e.text();
  }

  // As ncclCommAbort: the progress thread stops, the communicator is closed whatever is in flight. The messages are the
  // first ones of the round that the others are in.
  std::string abort_in_flight(const perf::Work& w) {
    const perf::Chunking cut = perf::nccl_chunking(s_.bytes, s_.channels);
    for (size_t i = 0; i < std::min(kFlying, cut.steps); ++i) {
      void* request = nullptr;
      const size_t at = i * cut.step_bytes();
      ncclResult_t rc = table_->iallreduce(
          comm_, const_cast<std::byte*>(w.send) + at, w.recv + at, cut.step_bytes() / dtype_size(w.type),
          static_cast<ncclDataType_t>(w.type), ncclSum, nullptr, nullptr, &request);
      if (rc != ncclSuccess && rc != ncclRemoteError)
        return std::string("WRONG CODE: ") + perf::result_name(rc);
      if (!request) break;
    }
    verdict_ = "aborted";
    return "";
  }

  const WorkerTask& task_;
  const Scenario& s_;
  Board& board_;
  test::Rank& rank_;
  const size_t me_;
  perf::Memory send_, recv_;  // outlive the communicator
  const ncclCollNet_v12_t* table_ = nullptr;
  void* comm_ = nullptr;
  std::string verdict_;
};

}  // namespace

test::RankProcesses::Body worker(const WorkerTask& task, Board& board) {
  return [&task, &board](test::Rank& rank) { return Worker(task, board, rank).run(); };
}

}  // namespace fanin::faults
