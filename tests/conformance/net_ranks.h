/* Point-to-point, as both ranks run it: every function of the ncclNet table. Needs calls.h. */
#ifndef FANIN_TESTS_CONFORMANCE_NET_RANKS_H
#define FANIN_TESTS_CONFORMANCE_NET_RANKS_H
#include "tests/conformance/calls.h"

enum { MESSAGE = 1 << 20 };

static unsigned char pattern(int rank, int salt, size_t i) {
  return (unsigned char)(i * 31 + (i >> 8) + (size_t)(rank * 89 + salt * 7 + 1));
}

static void net_finish(const net_table* t, void* request, int* sizes, const char* what) {
  int done = 0;
  for (struct conf_patience p = {0}; !done; conf_wait(&p, what)) OK(t->test(request, &done, sizes));
}

static void net_send(const net_table* t, void* comm, void* data, int size, int tag, void* mh,
                     void** request) {
  *request = NULL;
  for (struct conf_patience p = {0}; !*request; conf_wait(&p, "isend to start"))
    OK(net_isend(t, comm, data, size, tag, mh, request));
}

static void net_receive(const net_table* t, void* comm, int n, void** data, const int* sizes, int* tags,
                        void** mhs, int optional, void** request) {
  *request = NULL;
  for (struct conf_patience p = {0}; !*request; conf_wait(&p, "irecv to start"))
    OK(net_irecv(t, comm, n, data, sizes, tags, mhs, optional, request));
  CHECK(*request != (void*)0x1);
}

static void net_rank(int rank, void* opaque) {
  const net_table* t = ((const struct tables*)opaque)->net;
  const int peer = 1 - rank;
  void *ctx, *listener = NULL, *send = NULL, *recv = NULL, *smh = NULL, *rmh = NULL, *none = NULL;
  OK(net_init(t, &ctx));
  OK(net_listen(t, ctx, conf_handle(rank), &listener));
  CHECK(listener != NULL);
  conf_barrier();
  char handle[NCCL_NET_HANDLE_MAXSIZE];
  memcpy(handle, conf_handle(peer), sizeof handle);
  for (struct conf_patience p = {0}; !send || !recv; conf_wait(&p, "connect and accept")) {
    if (!send) OK(net_connect(t, ctx, handle, &send));
    if (!recv) OK(net_accept(t, listener, &recv));
  }

  unsigned char* out = malloc(MESSAGE);
  unsigned char* in = malloc(2 * MESSAGE);
  CHECK(out && in);
  OK(t->regMr(send, out, MESSAGE, NCCL_PTR_HOST, &smh));
  OK(t->regMr(recv, in, 2 * MESSAGE, NCCL_PTR_HOST, &rmh));
  CHECK(smh && rmh);

  /* Both directions at once; the receive is larger than the send. */
  const int sizes[] = {MESSAGE, 0, 1, 4096, 65537};
  for (int m = 0; m < (int)(sizeof sizes / sizeof *sizes); ++m) {
    for (int i = 0; i < sizes[m]; ++i) out[i] = pattern(rank, m, (size_t)i);
    memset(in, 0xee, (size_t)sizes[m] + 1);
    void *data = in, *sreq, *rreq, *flush = NULL;
    int bound = sizes[m] + 1000, tag = 40 + m, got = -1, sent = -1;
    net_receive(t, recv, 1, &data, &bound, &tag, &rmh, 0, &rreq);
    net_send(t, send, out, sizes[m], tag, smh, &sreq);
    net_finish(t, rreq, &got, "a receive to end");
    net_finish(t, sreq, &sent, "a send to end");
    if (got != sizes[m] || sent != sizes[m])
      FAIL("message %d: sent %d, got %d of %d bytes", m, sent, got, sizes[m]);
    for (int i = 0; i < got; ++i)
      if (in[i] != pattern(peer, m, (size_t)i)) FAIL("message %d: byte %d is wrong", m, i);
    CHECK(in[got] == 0xee);
    OK(t->iflush(recv, 1, &data, &got, &rmh, &flush));
    if (flush) net_finish(t, flush, NULL, "a flush to end");
  }

  /* A grouped receive: parts find their sends by tag, whatever order those come in. */
  {
    void *data[2] = {in, in + MESSAGE}, *mhs[2] = {rmh, rmh}, *rreq, *sreq[2];
    int bounds[2] = {MESSAGE, MESSAGE}, tags[2] = {7, 9}, got[3] = {-1, -1, -1};
    for (int i = 0; i < 3000; ++i) out[i] = pattern(rank, 99, (size_t)i);
    net_receive(t, recv, 2, data, bounds, tags, mhs, 1, &rreq);
    net_send(t, send, out + 1000, 2000, 9, smh, &sreq[0]);
    net_send(t, send, out, 1000, 7, smh, &sreq[1]);
    net_finish(t, rreq, got, "a grouped receive to end");
    net_finish(t, sreq[0], NULL, "a grouped send to end");
    net_finish(t, sreq[1], NULL, "a grouped send to end");
    CHECK(got[0] == 1000 && got[1] == 2000 && got[2] == -1);
    for (int i = 0; i < 3000; ++i)
      if ((i < 1000 ? in[i] : in[MESSAGE + i - 1000]) != pattern(peer, 99, (size_t)i))
        FAIL("grouped receive: byte %d is wrong", i);
  }

  /* Only host memory, and an error says so. */
  conf_barrier();
  if (rank == 0) conf_warnings(1);
  conf_barrier();
  CHECK(t->regMr(send, out, MESSAGE, NCCL_PTR_CUDA, &none) != ncclSuccess && none == NULL);
  conf_barrier();
  if (rank == 0) CHECK(conf_warnings(0) == RANKS);
  conf_barrier();

  OK(t->deregMr(send, smh));
  OK(t->deregMr(recv, rmh));
  OK(t->closeSend(send));
  OK(t->closeRecv(recv));
  OK(t->closeListen(listener));
  free(out);
  free(in);
#if V >= 11
  OK(t->finalize(ctx));
#endif
}

#endif
