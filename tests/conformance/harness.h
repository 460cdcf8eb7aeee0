/* What the conformance programs share whatever the ABI version: checks, a reducer as a child process, a
 * logger that counts, and two ranks as threads. Plain C, so that the library is used as NCCL uses it. A
 * failed check ends the program. */
#ifndef FANIN_TESTS_CONFORMANCE_HARNESS_H
#define FANIN_TESTS_CONFORMANCE_HARNESS_H
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/types.h"

enum { RANKS = 2 };

#define FAIL(...) conf_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond) ((cond) ? (void)0 : FAIL("%s", #cond))
#define OK(call) conf_ok(__FILE__, __LINE__, #call, (call))

_Noreturn void conf_fail(const char* file, int line, const char* fmt, ...)
    __attribute__((format(printf, 3, 4)));
void conf_ok(const char* file, int line, const char* what, ncclResult_t result);

/* Starts $FANIN_BUILD/bin/fanin-reducer on a free loopback port and points FANIN_REDUCERS at it; the reducer
 * dies with this program. conf_stop_reducer asks it to end and checks that it does so cleanly. */
void conf_start_reducer(void);
void conf_stop_reducer(void);
/* $FANIN_BUILD/lib/libnccl-net-fanin.so; the build folder is "build" when the variable is not set. */
const char* conf_library(void);

/* Counts warnings, prints those that no test asked for. */
void conf_logger(int level, unsigned long flags, const char* file, int line, const char* fmt, ...);
/* Warnings since the last call; expected != 0 from now on: do not print them. */
int conf_warnings(int expected);

/* Runs body(rank, arg) as RANKS threads. In it, conf_barrier() waits for the other rank and conf_handle(rank)
 * is 128 bytes both see. */
void conf_ranks(void (*body)(int rank, void* arg), void* arg);
void conf_barrier(void);
char* conf_handle(int rank);

/* Fails the program when `what` has not come about for 20 s: call it in every polling loop. */
struct conf_patience {
  long started_ms;
};
void conf_wait(struct conf_patience* p, const char* what);

#endif
