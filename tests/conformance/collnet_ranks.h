/* Collectives through the reducer, as both ranks run them: every function of the ncclCollNet table. Needs
 * calls.h. */
#ifndef FANIN_TESTS_CONFORMANCE_COLLNET_RANKS_H
#define FANIN_TESTS_CONFORMANCE_COLLNET_RANKS_H
#include "tests/conformance/calls.h"

enum { ELEMENTS = 300007 };

/* Small integers: exact in float whatever the order. */
static float element(int rank, int salt, size_t i) {
  return (float)((int)((i * 7 + (size_t)salt) % 1000) - 400 + rank * 3);
}
static float summed(int salt, size_t i) { return element(0, salt, i) + element(1, salt, i); }

static void coll_finish(const coll_table* t, void* request, int* size, const char* what) {
  int done = 0;
  for (struct conf_patience p = {0}; !done; conf_wait(&p, what)) OK(t->test(request, &done, size));
}

#define START(request, call)                                                                         \
  do {                                                                                               \
    (request) = NULL;                                                                                \
    for (struct conf_patience p = {0}; !(request); conf_wait(&p, "a collective to start")) OK(call); \
  } while (0)

static void all_reduces(const coll_table* t, void* comm, int rank, float* send, float* recv, void* smh,
                        void* rmh) {
  void* request;
  int size = -1;
  for (size_t i = 0; i < ELEMENTS; ++i) send[i] = element(rank, 0, i), recv[i] = -1;
  START(request, t->iallreduce(comm, send, recv, ELEMENTS, ncclFloat32, ncclSum, smh, rmh, &request));
  coll_finish(t, request, &size, "an all-reduce to end");
  CHECK(size == ELEMENTS * (int)sizeof(float));
  for (size_t i = 0; i < ELEMENTS; ++i)
    if (recv[i] != summed(0, i)) FAIL("all-reduce: element %zu is %g, not %g", i, recv[i], summed(0, i));

  /* In place, another type and operator, several in flight. */
  int32_t* ints = (int32_t*)recv;
  void* requests[4];
  enum { PART = 10000 };
  for (int i = 0; i < 4 * PART; ++i) ints[i] = i * (rank ? -1 : 1);
  for (int k = 0; k < 4; ++k)
    START(requests[k], t->iallreduce(comm, ints + k * PART, ints + k * PART, PART, ncclInt32, ncclMax, rmh,
                                     rmh, &requests[k]));
  for (int k = 0; k < 4; ++k) coll_finish(t, requests[k], NULL, "an in-place all-reduce to end");
  for (int i = 0; i < 4 * PART; ++i)
    if (ints[i] != i) FAIL("in-place max: element %d is %d", i, ints[i]);
}

#if V >= 8
/* The window [offset, offset + bytes) of both ranks' shares; what of it is this rank's is [begin, end). */
struct window {
  size_t offset, bytes, begin, end;
};
static struct window window_of(int rank, size_t share, size_t offset, size_t bytes) {
  const size_t mine = (size_t)rank * share;
  struct window w = {offset, bytes, mine > offset ? mine : offset,
                     mine + share < offset + bytes ? mine + share : offset + bytes};
  if (w.end < w.begin) w.end = w.begin;
  return w;
}

static void gathers_and_scatters(const coll_table* t, void* comm, int rank, float* send, float* recv,
                                 void* smh, void* rmh) {
  enum { SHARE = 50000 }; /* elements */
  const size_t F = sizeof(float), share = SHARE * F;
  const struct window windows[] = {
      window_of(rank, share, 0, 2 * share),           /* all of it */
      window_of(rank, share, share / 2, share),       /* straddles the ranks */
      window_of(rank, share, share + 400, share / 4), /* rank 0 has nothing in it */
  };
  for (int k = 0; k < 3; ++k) {
    const struct window w = windows[k];
    TYPE(ncclNetSGE_v, V) part = {rmh, recv, 0};
    part.size = w.bytes;
    /* Where this rank's part of the window starts in its input. */
    char* own = (char*)send + (w.end > w.begin ? w.begin - (size_t)rank * share : 0);
    void* request;
    /* The concatenation of both inputs is element(0, k, i) for i over both shares. */
    for (size_t i = 0; i < SHARE; ++i) send[i] = element(0, k, i + (size_t)rank * SHARE);
    for (size_t i = 0; i <= 2 * SHARE; ++i) recv[i] = -1;
    START(request, t->iallgather(comm, own, 1, &part, share, w.offset, w.bytes, smh, &request));
    coll_finish(t, request, NULL, "an all-gather to end");
    for (size_t i = 0; i < w.bytes / F; ++i)
      if (recv[i] != element(0, k, i + w.offset / F)) FAIL("all-gather %d: element %zu is %g", k, i, recv[i]);
    CHECK(recv[w.bytes / F] == -1);

    for (size_t i = 0; i < w.bytes / F; ++i) send[i] = element(rank, k, i + w.offset / F);
    for (size_t i = 0; i <= SHARE; ++i) recv[i] = -1;
    TYPE(ncclNetSGE_v, V) source = {smh, send, 0};
    source.size = w.bytes;
    START(request, t->ireducescatter(comm, 1, &source, recv, share, w.offset, w.bytes, ncclFloat32, ncclSum,
                                     rmh, &request));
    coll_finish(t, request, NULL, "a reduce-scatter to end");
    for (size_t i = 0; i < (w.end - w.begin) / F; ++i)
      if (recv[i] != summed(k, i + w.begin / F)) FAIL("reduce-scatter %d: element %zu is %g", k, i, recv[i]);
    CHECK(recv[(w.end - w.begin) / F] == -1);
  }
}
#endif

static void coll_rank(int rank, void* opaque) {
  const coll_table* t = ((const struct tables*)opaque)->coll;
  void *ctx, *listener = NULL, *comm = NULL, *smh = NULL, *rmh = NULL, *again = NULL, *flush = NULL;
  OK(coll_init(t, &ctx));
  OK(coll_listen(t, ctx, conf_handle(rank), &listener));
  CHECK(listener != NULL);
  conf_barrier();
  void* handles[RANKS] = {conf_handle(0), conf_handle(1)};
  OK(t->connect(handles, RANKS, rank, listener, &comm));
  CHECK(comm != NULL);

  for (int type = 0; type <= ncclFloat8e5m2; ++type)
    for (int op = ncclSum; op <= ncclAvg; ++op) {
      int supported = -1;
      OK(t->reduceSupport((ncclDataType_t)type, (ncclRedOp_t)op, &supported));
      if (supported != (op != ncclAvg)) FAIL("reduceSupport(%d, %d) says %d", type, op, supported);
    }

  float* send = malloc(ELEMENTS * sizeof(float));
  float* recv = malloc(ELEMENTS * sizeof(float));
  CHECK(send && recv);
  OK(t->regMr(comm, send, ELEMENTS * sizeof(float), NCCL_PTR_HOST, &smh));
  OK(t->regMr(comm, recv, ELEMENTS * sizeof(float), NCCL_PTR_HOST, &rmh));
  OK(t->regMr(comm, recv, ELEMENTS * sizeof(float), NCCL_PTR_HOST, &again));
  CHECK(smh && rmh && again);
  all_reduces(t, comm, rank, send, recv, smh, rmh);
#if V >= 8
  gathers_and_scatters(t, comm, rank, send, recv, smh, rmh);
#endif
  OK(t->iflush(comm, recv, 64, rmh, &flush));
  if (flush) coll_finish(t, flush, NULL, "a flush to end");
  OK(t->deregMr(comm, again));
  OK(t->deregMr(comm, rmh));
  OK(t->deregMr(comm, smh));
  conf_barrier(); /* neither leaves while the other still needs it */
  OK(t->closeColl(comm));
  OK(t->closeListen(listener));
  free(send);
  free(recv);
#if V >= 11
  OK(t->finalize(ctx));
#endif
}

#endif
