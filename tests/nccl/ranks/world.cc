#include "tests/nccl/ranks/world.h"

#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>

namespace ranks {
namespace {

void write_line(int fd, int rank, const char* format, va_list args) {
  char text[2048];
  int n = snprintf(text, sizeof text, "rank %d: ", rank);
  n += vsnprintf(text + n, sizeof text - static_cast<size_t>(n) - 1, format, args);
  if (n > static_cast<int>(sizeof text) - 2) n = static_cast<int>(sizeof text) - 2;
  text[n++] = '\n';
  [[maybe_unused]] ssize_t written = write(fd, text, static_cast<size_t>(n));
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Rank::barrier() {
  barriers++;
  shared.arrived++;
  while (shared.arrived < barriers * options.ranks) {
    if (shared.failed) _exit(4);
    usleep(200);
  }
}

ncclComm_t Rank::join(int slot) {
  if (rank == 0) {
    RANK_NCCL(*this, ncclGetUniqueId(&shared.id[slot]));
    shared.id_ready[slot] = true;
  }
  while (!shared.id_ready[slot]) {
    if (shared.failed) _exit(4);
    usleep(1000);
  }
  ncclComm_t comm;
  RANK_NCCL(*this, ncclCommInitRank(&comm, options.ranks, shared.id[slot], rank));
  return comm;
}

void Rank::say(const char* format, ...) const {
  va_list args;
  va_start(args, format);
  write_line(1, rank, format, args);
  va_end(args);
}

void Rank::give_up(const char* format, ...) const {
  va_list args;
  va_start(args, format);
  write_line(2, rank, format, args);
  va_end(args);
  shared.failed = true;
  _exit(3);
}

}  // namespace ranks
