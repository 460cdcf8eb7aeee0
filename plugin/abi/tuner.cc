// ncclTuner v2 (NCCL 2.21), v3 (2.22, 2.23), v4 (2.24 - 2.27), v5 (2.28 - 2.30.1) and v6. NCCL looks for them in the
// library it opened as network plugin, when neither NCCL_TUNER_PLUGIN nor a libnccl-tuner.so gives it another tuner.
#include "plugin/tuner/tuner.h"

#include <memory>

#include "plugin/abi/edge.h"
#include "plugin/abi/net_calls.h"
#include "plugin/abi/tables.h"
#include "plugin/log.h"

namespace fanin::plugin::abi {
namespace {

using tuner::CostTable;
using tuner::Tuner;

ncclResult_t start(size_t ranks, size_t nodes, std::optional<uint64_t> communicator, ncclDebugLogger_t logger,
                   void** context) {
  return at_edge({"tuner init"}, [&]() -> Status {
    if (Status s = all_given({{context, "context"}}); !s) return s;
    set_logger(logger);
    Result<Tuner> tuner = tuner::make_tuner(options(), {nodes, ranks}, communicator);
    if (!tuner) return tuner.error();
    *context = std::make_unique<Tuner>(*std::move(tuner)).release();
    return {};
  });
}

ncclResult_t start_v4(size_t ranks, size_t nodes, ncclDebugLogger_t logger, void** context) {
  return start(ranks, nodes, std::nullopt, logger, context);
}

ncclResult_t start_v5(void** context, uint64_t id, size_t ranks, size_t nodes, ncclDebugLogger_t logger,
                      ncclNvlDomainInfo_v5_t*, ncclTunerConstants_v5_t*) {
  return start(ranks, nodes, id, logger, context);
}

ncclResult_t decide(void* context, int coll, size_t bytes, int pipe_ops, float** costs, int algorithms,
                    int protocols, int registered, int* channels) {
  return at_edge({"tuner getCollInfo", true}, [&]() -> Status {
    if (Status s = all_given({{context, "context"}, {costs, "costTable"}, {channels, "nChannels"}}); !s)
      return s;
    static_cast<const Tuner*>(context)->decide(
        {.collective = coll, .bytes = bytes, .pipe_ops = pipe_ops, .reg_buff = registered},
        CostTable(costs, algorithms, protocols), channels);
    return {};
  });
}

ncclResult_t decide_v3(void* context, int coll, size_t bytes, int pipe_ops, float** costs, int algorithms,
                       int protocols, int* channels) {
  return decide(context, coll, bytes, pipe_ops, costs, algorithms, protocols, 0, channels);
}

ncclResult_t decide_v2(void* context, int coll, size_t bytes, int collnet, int, int pipe_ops, int* algorithm,
                       int* protocol, int* channels) {
  return at_edge({"tuner getCollInfo", true}, [&]() -> Status {
    if (Status s = all_given({{context, "context"},
                              {algorithm, "algorithm"},
                              {protocol, "protocol"},
                              {channels, "nChannels"}});
        !s)
      return s;
    const Tuner::Choice c = static_cast<const Tuner*>(context)->decide(
        {.collective = coll, .bytes = bytes, .pipe_ops = pipe_ops}, collnet == 1);
    if (c.algorithm < 0) return {};
    *algorithm = c.algorithm;
    *protocol = c.protocol;
    if (c.channels > 0) *channels = c.channels;
    return {};
  });
}

ncclResult_t end(void* context) {
  return at_edge({"tuner destroy"}, [&]() -> Status {
    const std::unique_ptr<Tuner> tuner(static_cast<Tuner*>(context));
    return {};
  });
}

}  // namespace
}  // namespace fanin::plugin::abi

using namespace fanin::plugin::abi;

const ncclTuner_v2_t ncclTunerPlugin_v2 = {
    .name = kName, .init = start_v4, .getCollInfo = decide_v2, .destroy = end};
const ncclTuner_v3_t ncclTunerPlugin_v3 = {
    .name = kName, .init = start_v4, .getCollInfo = decide_v3, .destroy = end};
const ncclTuner_v4_t ncclTunerPlugin_v4 = {
    .name = kName, .init = start_v4, .getCollInfo = decide, .destroy = end};
const ncclTuner_v5_t ncclTunerPlugin_v5 = {
    .name = kName, .init = start_v5, .getCollInfo = decide, .finalize = end};
const ncclTuner_v6_t ncclTunerPlugin_v6 = {.name = kName,
                                           .init = start_v5,
                                           .getCollInfo = decide,
                                           .finalize = end,
                                           .getChunkSize = nullptr};  // nothing gains: docs/performance.md
