// A DNS server for tests: answers A and AAAA queries over UDP from a table that may change while it runs.
//
// Each answer begins with another address than the one before. A name without addresses does not exist (NXDOMAIN). One thread of its own; all
// members may be called from any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transport/fd.h"
#include "transport/tcp/address.h"

namespace fanin::test {

class NameServer {
 public:
  // at: port 53 of loopback in a private network. Aborts the test program if it is taken.
  explicit NameServer(const tcp::Address& at);
  ~NameServer();
  // "pool.example" -> {"10.0.0.7", "fd00::7"}; replaces what was there.
  void set(const std::string& name, const std::vector<std::string>& addresses);
  // From now on each answer takes so long, one after another.
  void slow_down(std::chrono::milliseconds each);
  // Waits until the name was asked for (in its present state) and answered. False: not within ten seconds.
  bool wait_asked(const std::string& name);

 private:
  struct Name {
    std::vector<tcp::Address> addresses;
    unsigned asked = 0;
  };
  void run();
  std::string answer(std::string query);

  const Fd socket_, stop_;
  std::mutex lock_;
  std::condition_variable asked_;
  std::map<std::string, Name> names_;
  std::atomic<int> delay_ms_{0};
  std::thread thread_;
};

}  // namespace fanin::test
