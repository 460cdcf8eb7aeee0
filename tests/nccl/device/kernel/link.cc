#include "tests/nccl/device/kernel/link.h"

namespace cpudev {
namespace {

template <class T>
T load(const T* p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
template <class T>
void store(T* p, T v) {
  __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

}  // namespace

Link::Link(abi::ConnInfo* conn, Direction direction, int steps_per_chunk, size_t ll_lines)
    : conn_(conn), direction_(direction), step_lines_(ll_lines) {
  const auto chunk = static_cast<uint64_t>(steps_per_chunk);
  step_ = (conn->step + chunk - 1) / chunk * chunk;
  if (direction_ == Direction::kRecv && !step_lines_) store(conn_->head, step_);
  ready(0);
}

bool Link::enough(int steps) const {
  return seen_ + (direction_ == Direction::kSend ? abi::kSteps : 0) >= step_ + static_cast<uint64_t>(steps);
}

bool Link::ready(int steps) {
  if (steps && enough(steps)) return true;
  seen_ = load(direction_ == Direction::kSend ? conn_->head : conn_->tail);
  return enough(steps);
}

char* Link::slot() const {
  const size_t k = step_ % abi::kSteps;
  char* base = conn_->buffs[abi::kProtoSimple];
  if (conn_->fifo && load(&conn_->fifo[k].mode) == 1) return base + load(&conn_->fifo[k].offset);
  return base + k * static_cast<size_t>(conn_->step_size);
}

void Link::post(int steps, int64_t bytes) {
  const bool send = direction_ == Direction::kSend;
  // The proxy reads the size once it sees the tail move.
  if (send && conn_->fifo) __atomic_store_n(&conn_->fifo[step_ % abi::kSteps].size, bytes, __ATOMIC_RELAXED);
  step_ += static_cast<uint64_t>(steps);
  store(send ? conn_->tail : conn_->head, step_);
}

uint64_t* Link::line(size_t i) const {
  return reinterpret_cast<uint64_t*>(conn_->buffs[abi::kProtoLL]) +
         ((step_ % abi::kSteps) * step_lines_ + i) * 2;
}

bool Link::lines_ready(size_t lines) {
  const auto flag = static_cast<uint32_t>(step_ + 1);
  plain_.resize(lines);
  for (; scanned_ < lines; scanned_++) {
    uint64_t* l = line(scanned_);
    const uint64_t a = load(l), b = load(l + 1);
    if (static_cast<uint32_t>(a >> 32) != flag || static_cast<uint32_t>(b >> 32) != flag) return false;
    plain_[scanned_] = (a & 0xffffffffu) | b << 32;
  }
  return true;
}

void Link::lines_done() {
  scanned_ = 0;
  step_++;
  store(conn_->head, step_);
}

void Link::send_lines(size_t lines) {
  const uint64_t flag = (step_ + 1) << 32;
  if (conn_->fifo) store(&conn_->fifo[step_ % abi::kSteps].size, static_cast<int64_t>(lines * 16));
  for (size_t i = 0; i < lines; i++) {
    uint64_t* l = line(i);
    store(l, (plain_[i] & 0xffffffffu) | flag);
    store(l + 1, plain_[i] >> 32 | flag);
  }
  step_++;
}

}  // namespace cpudev
