// gloo-allreduce: one rank of Gloo's ring all-reduce (libgloo, its TCP transport), as PyTorch's gloo backend uses it.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>

#include "perf/peers/peer.h"

namespace fanin::perf {
namespace {

// How Gloo's ranks tell each other their addresses: every rank sets the same number of keys, and all see all of them
// when set() returns. Throws, as Gloo expects.
class GroupStore : public gloo::rendezvous::Store {
 public:
  explicit GroupStore(Group& group) : group_(group) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    auto sizes = group_.all_gather_value(Sizes{key.size(), data.size()});
    if (!sizes) throw std::runtime_error(sizes.error().text());
    size_t room = 0;
    for (auto [k, d] : *sizes) room = std::max(room, k + d);
    std::string mine = key + std::string(data.begin(), data.end());
    mine.resize(room);
    auto all = group_.all_gather(mine);
    if (!all) throw std::runtime_error(all.error().text());
    for (size_t r = 0; r < all->size(); r++) {
      const std::string& text = (*all)[r];
      auto [k, d] = (*sizes)[r];
      values_[text.substr(0, k)] = std::vector<char>(text.data() + k, text.data() + k + d);
    }
  }
  std::vector<char> get(const std::string& key) override { return values_.at(key); }
  void wait(const std::vector<std::string>&) override {}

 private:
  struct Sizes {
    size_t key, data;
  };
  Group& group_;
  std::map<std::string, std::vector<char>> values_;
};

class GlooPeer final : public Peer {
 public:
  static Result<std::unique_ptr<Peer>> make(const PeerOptions& o, Group& group) {
    try {
      gloo::transport::tcp::attr attributes;
      attributes.hostname = o.host;
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      auto context = std::make_shared<gloo::rendezvous::Context>(o.rank, o.nranks);
      context->setTimeout(std::chrono::seconds(60));
      GroupStore store(group);
      context->connectFullMesh(store, device);
      return std::unique_ptr<Peer>(new GlooPeer(std::move(context)));
    } catch (const std::exception& e) {
      return Error(Errc::kSystem, std::string("gloo: ") + e.what());
    }
  }

  Status all_reduce(const float* in, float* out, size_t count) override {
    try {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setInput(const_cast<float*>(in), count);
      options.setOutput(out, count);
      options.setReduceFunction(
          [](void* to, const void* a, const void* b, size_t n) { gloo::sum<float>(to, a, b, n); });
      gloo::allreduce(options);
      return {};
    } catch (const std::exception& e) {
      return Error(Errc::kRemote, std::string("gloo: ") + e.what());
    }
  }

 private:
  explicit GlooPeer(std::shared_ptr<gloo::Context> context) : context_(std::move(context)) {}
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace
}  // namespace fanin::perf

int main(int argc, char** argv) {
  return fanin::perf::run_peer(argc, argv, "gloo-allreduce", fanin::perf::GlooPeer::make);
}
