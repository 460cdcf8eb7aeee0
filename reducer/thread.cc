#include "reducer/thread.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace fanin::reducer {

Result<std::thread> start_thread(const std::string& name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  Result<std::thread> out = [&]() -> Result<std::thread> {
    try {
      return std::thread([body = std::move(body)] {
        fesetenv(FE_DFL_ENV);
        body();
      });
    } catch (const std::system_error& e) {
      return thread_error(name, e.code().value());
    }
  }();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (out) pthread_setname_np(out->native_handle(), name.substr(0, 15).c_str());
  return out;
}

}  // namespace fanin::reducer
