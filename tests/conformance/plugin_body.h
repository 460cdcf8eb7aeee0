/* The program of one ABI version; plugin_v6.c … plugin_v12.c define V and include it. It loads the library as
 * NCCL does, walks both tables, runs two ranks over each, unloads the library, sees it gone, and does it all
 * again. */
#include <dlfcn.h>
#include <unistd.h>

#include "tests/conformance/calls.h"
#include "tests/conformance/collnet_ranks.h"
#include "tests/conformance/net_ranks.h"

static void check_properties(const properties* p, int dev) {
  CHECK(p->name && *p->name && p->ptrSupport == NCCL_PTR_HOST && p->speed > 0);
  CHECK(p->maxComms >= 1024 && p->maxRecvs == NCCL_NET_MAX_RECVS && p->latency >= 0);
#if V >= 7
  CHECK(p->netDeviceType == NCCL_NET_DEVICE_HOST && p->netDeviceVersion == NCCL_NET_DEVICE_INVALID_VERSION);
#endif
#if V >= 8
  CHECK(p->regIsGlobal == 0 || p->regIsGlobal == 1);
#endif
#if V >= 9
  const size_t limit = (size_t)1 << 40;
  CHECK(p->forceFlush == 0 && p->vProps.ndevs == 1 && p->vProps.devs[0] == dev);
  CHECK(p->maxP2pBytes > 0 && p->maxP2pBytes <= limit && p->maxCollBytes > 0 && p->maxCollBytes <= limit);
#endif
#if V >= 11
  CHECK(p->maxMultiRequestSize == 1);
#endif
#if V >= 12
  CHECK(p->railId == NCCL_NET_ID_UNDEF && p->planeId == NCCL_NET_ID_UNDEF);
#endif
  (void)dev;
}

static void walk_tables(const struct tables* t) {
  const net_table* n = t->net;
  const coll_table* c = t->coll;
  CHECK(strcmp(n->name, "fanin") == 0 && strcmp(c->name, "fanin") == 0);
  CHECK(n->init && n->devices && n->getProperties && n->listen && n->connect && n->accept && n->regMr &&
        n->deregMr);
  CHECK(n->isend && n->irecv && n->iflush && n->test && n->closeSend && n->closeRecv && n->closeListen);
  CHECK(c->init && c->devices && c->getProperties && c->listen && c->connect && c->reduceSupport && c->regMr);
  CHECK(c->deregMr && c->iallreduce && c->iflush && c->test && c->closeColl && c->closeListen);
  /* NULL tells NCCL that these do not exist; it looks before it calls. */
  CHECK(!n->regMrDmaBuf && !c->regMrDmaBuf);
#if V >= 7
  CHECK(!n->getDeviceMr && !n->irecvConsumed);
#endif
#if V >= 8
  CHECK(c->iallgather && c->ireducescatter);
#endif
#if V >= 9
  CHECK(!n->makeVDevice && !c->makeVDevice);
#endif
#if V >= 11
  CHECK(n->finalize && c->finalize && !n->setNetAttr);
#endif
}

static void check_devices(const struct tables* t) {
  int net_devices = 0, coll_devices = 0;
  OK(t->net->devices(&net_devices));
  OK(t->coll->devices(&coll_devices));
  CHECK(net_devices == 1 && coll_devices == net_devices); /* NCCL_SOCKET_IFNAME=lo */
  properties n, c;
  memset(&n, 0xa5, sizeof n);
  memset(&c, 0x5a, sizeof c);
  OK(t->net->getProperties(0, &n));
  OK(t->coll->getProperties(0, &c));
  check_properties(&n, 0);
  check_properties(&c, 0);
  CHECK(strcmp(n.name, "lo") == 0 && strcmp(c.name, "lo") == 0 && n.guid == c.guid && n.port == c.port);
  CHECK(n.speed == c.speed && n.maxComms == c.maxComms);
}

/* Misuse is an error with one line in the log, however often a progress thread repeats it. */
static void check_misuse(const struct tables* t) {
  properties p;
  int done = 0, supported = 0;
  conf_warnings(1);
  CHECK(t->net->devices(NULL) == ncclInvalidArgument && conf_warnings(1) == 1);
  CHECK(t->net->getProperties(0, NULL) == ncclInvalidArgument && conf_warnings(1) == 1);
  CHECK(t->net->getProperties(99, &p) == ncclInvalidArgument && conf_warnings(1) == 1);
  CHECK(t->net->getProperties(-1, &p) == ncclInvalidArgument && conf_warnings(1) == 1);
  CHECK(t->coll->reduceSupport(ncclFloat32, ncclSum, NULL) == ncclInvalidArgument && conf_warnings(1) == 1);
  for (int i = 0; i < 1000; ++i) CHECK(t->net->test(NULL, &done, NULL) == ncclInvalidArgument);
  CHECK(conf_warnings(1) == 1);
  OK(t->net->closeSend(NULL));
  OK(t->net->closeRecv(NULL));
  OK(t->net->closeListen(NULL));
  OK(t->coll->closeColl(NULL));
  OK(t->coll->closeListen(NULL));
  OK(t->coll->reduceSupport((ncclDataType_t)99, ncclSum, &supported));
  CHECK(supported == 0 && conf_warnings(0) == 0);
}

static void load_run_unload(void) {
  void* library = dlopen(conf_library(), RTLD_NOW | RTLD_LOCAL);
  if (!library) FAIL("%s", dlerror());
  const struct tables t = {dlsym(library, NET_SYMBOL), dlsym(library, COLL_SYMBOL)};
  CHECK(t.net != NULL && t.coll != NULL);
  walk_tables(&t);

  void *net_ctx, *coll_ctx;
  OK(net_init(t.net, &net_ctx));
  OK(coll_init(t.coll, &coll_ctx));
  check_devices(&t);
  check_misuse(&t);
  conf_ranks(net_rank, (void*)&t);
  conf_ranks(coll_rank, (void*)&t);
  finish(&t, net_ctx, coll_ctx);
  const int unexpected = conf_warnings(0);
  if (unexpected) FAIL("%d warnings without a cause", unexpected);

  CHECK(dlclose(library) == 0);
  if (dlopen(conf_library(), RTLD_NOW | RTLD_NOLOAD)) FAIL("the library is still loaded after dlclose");
}

int main(void) {
  alarm(120);
  conf_start_reducer();
  load_run_unload();
  load_run_unload();
  conf_stop_reducer();
  printf("ABI v%d: ok\n", V);
  return 0;
}
