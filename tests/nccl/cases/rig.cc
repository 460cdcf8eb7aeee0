#include "tests/nccl/cases/rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <sstream>

namespace fanin::test {
namespace {

constexpr unsigned kTestLimit = 200;  // seconds; each run inside a test has its own, shorter one
constexpr double kStartLimit = 20, kDrainLimit = 20;

std::string port_file(size_t i) { return "port" + std::to_string(i); }
std::string output_file(size_t i) { return "reducer" + std::to_string(i); }

// The number before a word in a reducer's last line: "… 123 received, …".
uint64_t number_before(const std::string& text, const std::string& word) {
  const size_t line = text.rfind("ended: ");
  if (line == std::string::npos) return 0;
  const size_t at = text.find(word, line);
  if (at == std::string::npos || at < 2) return 0;
  const size_t end = at - 1, begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return begin < end ? std::stoull(text.substr(begin, end - begin)) : 0;
}

}  // namespace

Pool::Pool(int reducers, int lanes, const Words& options) {
  for (size_t i = 0; i < static_cast<size_t>(reducers); i++) {
    Words command = {built("bin/fanin-reducer"),
                     "--listen",
                     "127.0.0.1:0",
                     "--lanes",
                     std::to_string(lanes),
                     "--memory",
                     "256M",
                     "--port-file",
                     folder_.path() + "/" + port_file(i)};
    command.insert(command.end(), options.begin(), options.end());
    members_.push_back(
        {std::make_unique<Process>(command, Variables{}, folder_.path() + "/" + output_file(i)), 0});
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(kStartLimit);
  for (size_t i = 0; i < members_.size(); i++) {
    // The file appears whole, once the reducer listens.
    std::string port;
    while ((port = folder_.read(port_file(i))).empty() && members_[i].process->running() &&
           std::chrono::steady_clock::now() < deadline)
      usleep(2000);
    EXPECT_FALSE(port.empty()) << "reducer " << i << " did not start: " << output(i);
    members_[i].port = port.empty() ? 0 : std::stoi(port);
  }
}

std::string Pool::list() const {
  std::string text;
  for (size_t i = 0; i < members_.size(); i++) text += (i ? "," : "") + address(i);
  return text;
}

void Pool::stop() {
  for (Member& m : members_)
    if (m.process->running()) kill(m.process->pid(), SIGTERM);
  for (size_t i = 0; i < members_.size(); i++) {
    Process& p = *members_[i].process;
    EXPECT_TRUE(p.wait(kDrainLimit)) << "reducer " << i << " did not drain: " << output(i);
    const bool killed = WIFSIGNALED(p.status()) && WTERMSIG(p.status()) == SIGKILL;
    EXPECT_TRUE(killed || p.exited_with(0)) << "reducer " << i << ": " << output(i);
  }
}

std::string Pool::output(size_t reducer) const { return folder_.read(output_file(reducer)); }
uint64_t Pool::received(size_t reducer) const { return number_before(output(reducer), "received"); }
uint64_t Pool::sum(const std::string& what) const {
  uint64_t n = 0;
  for (size_t i = 0; i < members_.size(); i++)
    n += number_before(output(i), what == "summed" ? "bytes summed" : what);
  return n;
}

Ranks::Ranks(const std::string& arguments, const Variables& variables) {
  Words command = {built("cpudev/nccl-ranks")};
  std::istringstream words(arguments);
  for (std::string w; words >> w;) command.push_back(w);
  Variables all = {{"NCCL_DEBUG", "INFO"},
                   {"NCCL_DEBUG_SUBSYS", "INIT,ENV,NET,TUNING"},
                   {"NCCL_DEBUG_FILE", folder_.path() + "/nccl.%p"},
                   // Small buffers: every connection touches them at its start, which is slow on a CPU.
                   {"NCCL_LL_BUFFSIZE", "65536"},
                   {"NCCL_LL128_BUFFSIZE", "65536"}};
  command_ = "nccl-ranks " + arguments + ", with";
  for (const auto& [name, value] : variables) {
    all[name] = value;
    command_ += " " + name + "=" + value;
  }
  process_ = std::make_unique<Process>(command, all, folder_.path() + "/out");
}

bool Ranks::wait(double seconds) { return process_->wait(seconds); }

std::string Ranks::hash() const {
  const std::string text = output();
  const size_t at = text.rfind("results ");
  return at == std::string::npos ? "none" : text.substr(at + 8, 16);
}

std::string Ranks::story() const {
  // NCCL's log is long: what it says of us and of errors is what matters.
  std::istringstream lines(log());
  std::string notable;
  size_t n = 0;
  for (std::string line; std::getline(lines, line);)
    if ((line.find("fanin") != std::string::npos || line.find("WARN") != std::string::npos) && n++ < 60)
      notable += line + "\n";
  return command_ + "\n" + output() + notable;
}

Variables with_net(const Variables& more) {
  Variables v = {{"NCCL_NET_PLUGIN", built("lib/libnccl-net-fanin.so")}, {"NCCL_SOCKET_IFNAME", "=lo"}};
  for (const auto& [name, value] : more) v[name] = value;
  return v;
}

Variables with_pool(const Pool& pool, const Variables& more) {
  Variables v = with_net({{"NCCL_COLLNET_ENABLE", "1"}, {"FANIN_REDUCERS", pool.list()}});
  for (const auto& [name, value] : more) v[name] = value;
  return v;
}

std::string expect_right(const std::string& arguments, const Variables& variables, double seconds) {
  Ranks ranks(arguments, variables);
  EXPECT_TRUE(ranks.wait(seconds)) << "took more than " << seconds << " s: " << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  EXPECT_EQ(count(ranks.output(), ", 0 wrong, 0 segments left"), 1u) << ranks.story();
  return ranks.hash();
}

std::string expect_through(int reducers, const std::string& algorithm, const std::string& arguments,
                           const Variables& more, double seconds) {
  Pool pool(reducers);
  Variables variables = with_pool(pool, more);
  if (!algorithm.empty()) variables["NCCL_ALGO"] = algorithm;
  Ranks ranks(arguments, variables);
  EXPECT_TRUE(ranks.wait(seconds)) << "took more than " << seconds << " s: " << ranks.story();
  EXPECT_TRUE(ranks.good()) << ranks.story();
  EXPECT_EQ(count(ranks.output(), ", 0 wrong, 0 segments left"), 1u) << ranks.story();
  if (!algorithm.empty()) {
    const std::string said = algorithm == "CollnetChain" ? "Algo COLLNET_CHAIN" : "Algo COLLNET_DIRECT";
    EXPECT_GT(count(ranks.log(), said), 0u) << "NCCL did not use " << algorithm << ": " << ranks.story();
  }
  pool.stop();
  EXPECT_GT(pool.received(), 0u) << "nothing went through the reducers: " << ranks.story() << pool.output(0);
  return ranks.hash();
}

void NcclTest::SetUp() { alarm(kTestLimit); }

void NcclTest::TearDown() {
  errno = 0;
  EXPECT_TRUE(waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) << "a process is left";
}

}  // namespace fanin::test
