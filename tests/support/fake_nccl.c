/* A library that looks like an NCCL of release FAKE_VERSION to whoever asks by the address of its logger. */
#include <stddef.h>

int ncclGetVersion(int* version) {
  *version = FAKE_VERSION;
  return 0;
}

/* ncclDebugLogger_t */
void fake_logger(int level, unsigned long flags, const char* file, int line, const char* format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}
