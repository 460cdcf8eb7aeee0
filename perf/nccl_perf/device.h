// Move-only owners of what CUDA and NCCL hand out, and their error codes as Status. Each object belongs to
// the thread of its rank, whose current device is the one it was made on.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <utility>

#include "fanin/error.h"

namespace fanin::nccl_perf {

Status cuda_status(const char* call, cudaError_t rc);
// Adds what NCCL last warned about: that line has the cause.
Status nccl_status(const char* call, ncclResult_t rc, ncclComm_t comm = nullptr);

class DeviceBuffer {
 public:
  static Result<DeviceBuffer> make(size_t bytes);
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_) cudaFree(data_);
  }
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  static Result<Stream> make();
  Stream() = default;
  Stream(Stream&& o) noexcept : stream_(std::exchange(o.stream_, nullptr)) {}
  Stream& operator=(Stream&& o) noexcept {
    std::swap(stream_, o.stream_);
    return *this;
  }
  ~Stream() {
    if (stream_) cudaStreamDestroy(stream_);
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream, to be asked whether it is passed.
class Event {
 public:
  static Result<Event> make();
  Event() = default;
  Event(Event&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Event& operator=(Event&& o) noexcept {
    std::swap(event_, o.event_);
    return *this;
  }
  ~Event() {
    if (event_) cudaEventDestroy(event_);
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// A communicator. finish() ends it in order, together with all ranks; otherwise it is aborted.
class Comm {
 public:
  static Result<Comm> make(int nranks, const ncclUniqueId& id, int rank);  // blocks until all ranks are there
  Comm() = default;
  Comm(Comm&& o) noexcept : comm_(std::exchange(o.comm_, nullptr)) {}
  Comm& operator=(Comm&& o) noexcept {
    std::swap(comm_, o.comm_);
    return *this;
  }
  ~Comm() {
    if (comm_) ncclCommAbort(comm_);
  }
  ncclComm_t get() const { return comm_; }
  Status finish();

 private:
  ncclComm_t comm_ = nullptr;
};

}  // namespace fanin::nccl_perf
