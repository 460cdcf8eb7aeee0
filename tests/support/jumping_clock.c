// Preloaded into a program: the time of day is another day's at every look; the monotonic clock stays as it is.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static long jump(void) {
  static atomic_uint looks;
  static const long kDays[] = {0, 20000, -3, 7, 20000, -9000};
  // Processes begin at different places.
  unsigned n = atomic_fetch_add(&looks, 1) + (unsigned)getpid();
  return kDays[n % (sizeof kDays / sizeof *kDays)] * 86400;
}

int clock_gettime(clockid_t clock, struct timespec* t) {
  int rc = (int)syscall(SYS_clock_gettime, clock, t);
  if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += jump();
  return rc;
}

int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

#pragma GCC visibility pop
