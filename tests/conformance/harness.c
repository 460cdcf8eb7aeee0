#define _GNU_SOURCE
#include "tests/conformance/harness.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t reducer = 0;
static atomic_int warnings;
static atomic_int warnings_expected;
static pthread_barrier_t barrier;
static char handles[RANKS][NCCL_NET_HANDLE_MAXSIZE];

void conf_fail(const char* file, int line, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, fmt, args);
  fputc('\n', stderr);
  va_end(args);
  _exit(1); /* the reducer has PR_SET_PDEATHSIG */
}

void conf_ok(const char* file, int line, const char* what, ncclResult_t result) {
  if (result != ncclSuccess) conf_fail(file, line, "%s returned %d", what, (int)result);
}

static const char* build_folder(void) {
  const char* b = getenv("FANIN_BUILD");
  return b ? b : "build";
}

const char* conf_library(void) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/lib/libnccl-net-fanin.so", build_folder());
  return path;
}

static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void conf_wait(struct conf_patience* p, const char* what) {
  if (!p->started_ms) p->started_ms = now_ms();
  if (now_ms() - p->started_ms > 20000) FAIL("waited 20 s for %s", what);
  sched_yield();
}

void conf_start_reducer(void) {
  char program[4096], folder[] = "/tmp/fanin-conformance-XXXXXX", file[64];
  snprintf(program, sizeof program, "%s/bin/fanin-reducer", build_folder());
  CHECK(mkdtemp(folder) != NULL);
  snprintf(file, sizeof file, "%s/port", folder);
  const pid_t parent = getpid();
  reducer = fork();
  CHECK(reducer >= 0);
  if (reducer == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    execl(program, program, "--listen", "127.0.0.1:0", "--lanes", "2", "--memory", "256M", "--port-file",
          file, (char*)NULL);
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    _exit(127);
  }
  int port = 0;
  for (struct conf_patience p = {0}; port == 0; conf_wait(&p, "the reducer's port file")) {
    int status;
    if (waitpid(reducer, &status, WNOHANG) == reducer) FAIL("fanin-reducer ended with status %d", status);
    FILE* f = fopen(file, "r");
    if (!f) continue;
    char c = 0;
    /* The line is whole once its newline is there. */
    if (fscanf(f, "%d%c", &port, &c) != 2 || c != '\n') port = 0;
    fclose(f);
  }
  unlink(file);
  rmdir(folder);
  char pool[32];
  snprintf(pool, sizeof pool, "127.0.0.1:%d", port);
  setenv("FANIN_REDUCERS", pool, 1);
  setenv("FANIN_STRICT", "1", 1); /* a fallback would be a failure here */
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("NCCL_COLLNET_ENABLE", "1", 1);
}

void conf_stop_reducer(void) {
  int status = 0;
  CHECK(kill(reducer, SIGTERM) == 0);
  for (struct conf_patience p = {0}; waitpid(reducer, &status, WNOHANG) == 0;)
    conf_wait(&p, "the reducer to end after SIGTERM with no session left");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) FAIL("fanin-reducer ended with wait status %d", status);
}

void conf_logger(int level, unsigned long flags, const char* file, int line, const char* fmt, ...) {
  (void)flags;
  CHECK(file != NULL && fmt != NULL);
  if (level > NCCL_LOG_WARN) return;
  atomic_fetch_add(&warnings, 1);
  if (atomic_load(&warnings_expected)) return;
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "%s:%d WARN ", file, line);
  vfprintf(stderr, fmt, args);
  fputc('\n', stderr);
  va_end(args);
}

int conf_warnings(int expected) {
  atomic_store(&warnings_expected, expected);
  return atomic_exchange(&warnings, 0);
}

struct rank_thread {
  pthread_t thread;
  int rank;
  void (*body)(int, void*);
  void* arg;
};

static void* run_rank(void* opaque) {
  struct rank_thread* r = opaque;
  r->body(r->rank, r->arg);
  return NULL;
}

void conf_ranks(void (*body)(int rank, void* arg), void* arg) {
  struct rank_thread ranks[RANKS];
  CHECK(pthread_barrier_init(&barrier, NULL, RANKS) == 0);
  for (int r = 0; r < RANKS; ++r) {
    ranks[r].rank = r;
    ranks[r].body = body;
    ranks[r].arg = arg;
    CHECK(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]) == 0);
  }
  for (int r = 0; r < RANKS; ++r) CHECK(pthread_join(ranks[r].thread, NULL) == 0);
  pthread_barrier_destroy(&barrier);
}

void conf_barrier(void) { pthread_barrier_wait(&barrier); }
char* conf_handle(int rank) { return handles[rank]; }
