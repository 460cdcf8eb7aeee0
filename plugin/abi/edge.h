// Where C++ ends and NCCL begins: the only place where an Error becomes one log line and an ncclResult_t.
//
// Every function of every table runs its body in at_edge(). Nothing is thrown past it: an exception (memory
// ran out, or a bug) is logged and returned like an Error. net/ and collnet/ return errors and do not log
// them; they are logged here, once: NCCL's progress thread may call test() over and over on a broken comm, so
// a call on the progress path logs an error only when it differs from the last one this thread logged, or
// that was more than 10 s ago. NCCL has one progress thread per communicator, which makes it one line per
// broken communicator. Any thread; nothing is held.
#pragma once
#include <initializer_list>
#include <string>

#include "fanin/error.h"
#include "nccl/types.h"

namespace fanin::plugin::abi {

struct Call {
  const char* name;       // as in NCCL's table, for the log
  bool progress = false;  // called from the progress thread, maybe again and again
};

ncclResult_t result_of(Errc code);

// The C library ends the process when it finds no memory for a library's thread-local data at its first use in a thread, and
// exceptions have such data. So the first use is a thread's first call, not the exception that says that memory ran out.
void make_room_for_this_thread() noexcept;

// Logs as said above; returns result_of(error.code()).
ncclResult_t report(const Call& call, const Error& error) noexcept;
// For use in a catch block only.
ncclResult_t report_exception(const Call& call) noexcept;

// Body: () -> Status.
template <class Body>
ncclResult_t at_edge(const Call& call, Body&& body) noexcept {
  if (!call.progress) make_room_for_this_thread();
  try {
    const Status status = body();
    if (status) [[likely]]
      return ncclSuccess;
    return report(call, status.error());
  } catch (...) {
    return report_exception(call);
  }
}

// An argument NCCL never leaves NULL, and its name for the log.
struct Argument {
  const void* value;
  const char* name;
};
// kInvalidArgument naming the first one that is NULL.
inline Status all_given(std::initializer_list<Argument> arguments, Where where = Where::here()) {
  for (const Argument& a : arguments)
    if (!a.value) [[unlikely]]
      return Error(Errc::kInvalidArgument, std::string(a.name) + " is NULL, which NCCL never passes", where);
  return {};
}

// Hands a result out through a C pointer, which is left alone on an error.
template <class T, class Out>
Status hand_out(const Result<T>& result, Out* out) {
  if (!result) [[unlikely]]
    return result.error();
  *out = *result;
  return {};
}

}  // namespace fanin::plugin::abi
