/* One way to call the two tables, whatever the version: before including this, define V (6 … 12) and include
 * the version's headers. The differences between the versions, as a caller sees them, are all here. */
#ifndef FANIN_TESTS_CONFORMANCE_CALLS_H
#define FANIN_TESTS_CONFORMANCE_CALLS_H
#include "tests/conformance/harness.h"

#define PASTE3(a, b, c) a##b##c
#define TYPE(name, v) PASTE3(name, v, _t)
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

typedef TYPE(ncclNet_v, V) net_table;
typedef TYPE(ncclCollNet_v, V) coll_table;
typedef TYPE(ncclNetProperties_v, V) properties;
#define NET_SYMBOL "ncclNetPlugin_v" TEXT(V)
#define COLL_SYMBOL "ncclCollNetPlugin_v" TEXT(V)

struct tables {
  const net_table* net;
  const coll_table* coll;
};

#if V >= 10
static ncclResult_t no_profiler(void** e, int type, void* p, int64_t id, void* x) {
  (void)e, (void)type, (void)p, (void)id, (void)x;
  return ncclSuccess;
}
#endif

static ncclResult_t net_init(const net_table* t, void** ctx) {
  *ctx = NULL;
#if V >= 11
  TYPE(ncclNetCommConfig_v, V) config = {-1};
  return t->init(ctx, 0x1234, &config, conf_logger, no_profiler);
#elif V == 10
  return t->init(conf_logger, no_profiler);
#else
  return t->init(conf_logger);
#endif
}

static ncclResult_t coll_init(const coll_table* t, void** ctx) {
  *ctx = NULL;
#if V >= 11
  return t->init(ctx, 0x1234, conf_logger);
#else
  return t->init(conf_logger);
#endif
}

static void finish(const struct tables* t, void* net_ctx, void* coll_ctx) {
#if V >= 11
  OK(t->net->finalize(net_ctx));
  OK(t->coll->finalize(coll_ctx));
#else
  (void)t, (void)net_ctx, (void)coll_ctx;
#endif
}

static ncclResult_t net_listen(const net_table* t, void* ctx, void* handle, void** listener) {
#if V >= 11
  return t->listen(ctx, 0, handle, listener);
#else
  (void)ctx;
  return t->listen(0, handle, listener);
#endif
}

static ncclResult_t coll_listen(const coll_table* t, void* ctx, void* handle, void** listener) {
#if V >= 11
  return t->listen(ctx, 0, handle, listener);
#else
  (void)ctx;
  return t->listen(0, handle, listener);
#endif
}

static ncclResult_t net_connect(const net_table* t, void* ctx, void* handle, void** comm) {
#if V >= 11
  return t->connect(ctx, 0, handle, comm, NULL);
#elif V == 10
  ncclNetCommConfig_v10_t config = {-1};
  (void)ctx;
  return t->connect(0, &config, handle, comm, NULL);
#elif V >= 7
  (void)ctx;
  return t->connect(0, handle, comm, NULL);
#else
  (void)ctx;
  return t->connect(0, handle, comm);
#endif
}

static ncclResult_t net_accept(const net_table* t, void* listener, void** comm) {
#if V >= 7
  return t->accept(listener, comm, NULL);
#else
  return t->accept(listener, comm);
#endif
}

static ncclResult_t net_isend(const net_table* t, void* comm, void* data, int size, int tag, void* mh,
                              void** request) {
#if V >= 10
  return t->isend(comm, data, (size_t)size, tag, mh, NULL, request);
#else
  return t->isend(comm, data, size, tag, mh, request);
#endif
}

/* optional: from v10 on, tell the plugin that the sizes will not be looked at. */
static ncclResult_t net_irecv(const net_table* t, void* comm, int n, void** data, const int* sizes, int* tags,
                              void** mhs, int optional, void** request) {
#if V >= 9
  size_t bounds[NCCL_NET_MAX_RECVS];
#else
  int bounds[NCCL_NET_MAX_RECVS];
#endif
  for (int i = 0; i < n; ++i) bounds[i] = sizes[i];
  *request = NULL;
#if V >= 10
  void* phandles[NCCL_NET_MAX_RECVS] = {NULL};
  if (optional) *request = NCCL_NET_OPTIONAL_RECV_COMPLETION;
  return t->irecv(comm, n, data, bounds, tags, mhs, phandles, request);
#else
  (void)optional;
  return t->irecv(comm, n, data, bounds, tags, mhs, request);
#endif
}

#endif
