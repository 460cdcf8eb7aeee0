#include "ctl/commands.h"

#include <cstdio>
#include <thread>

#include "ctl/report.h"
#include "ctl/snapshot.h"
#include "fanin/drain_proof.h"
#include "fanin/secret_file.h"
#include "reducer/http/client.h"

namespace fanin::ctl {
namespace {

using reducer::http::Answer;

class Remote {
 public:
  Remote(std::vector<tcp::Address> addresses, std::chrono::seconds timeout)
      : addresses_(std::move(addresses)), timeout_(timeout) {}
  // The first address that answers is kept.
  Result<Answer> ask(const std::string& method, const std::string& path,
                     const std::string& authorization = "") {
    for (;;) {
      Result<Answer> a =
          reducer::http::ask(addresses_.front(), method, path, Deadline::after(timeout_), authorization);
      if (a || addresses_.size() == 1) return a;
      addresses_.erase(addresses_.begin());
    }
  }
  Result<Answer> get(const std::string& path) {
    Result<Answer> a = ask("GET", path);
    if (a && a->status != 200)
      return Error(Errc::kRemote,
                   "it answered " + std::to_string(a->status) + " to " + path + ": " + sentence(*a));
    return a;
  }
  bool is_listening() const {
    return reducer::http::is_listening(addresses_.front(), Deadline::after(timeout_));
  }
  static std::string sentence(const Answer& a) { return printable(a.body.substr(0, a.body.find('\n'))); }
  std::string text() const { return addresses_.front().text(); }

 private:
  std::vector<tcp::Address> addresses_;
  std::chrono::seconds timeout_;
};

Result<Snapshot> look(Remote& remote) {
  Result<Answer> a = remote.get("/sessions");
  if (!a) return a.error();
  return parse_snapshot(a->body);
}

Status show(const Options& o, Remote& remote) {
  if (o.json) {
    Result<Answer> a = remote.get("/sessions");
    if (!a) return a.error();
    if (Result<Snapshot> s = parse_snapshot(a->body); !s) return s.error();
    fputs(a->body.c_str(), stdout);
    return {};
  }
  Result<Snapshot> before = look(remote);
  if (!before) return before.error();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Result<Snapshot> now = look(remote);
  if (!now) return now.error();
  fputs((o.command == Command::kStatus ? status_text(*before, *now, remote.text())
                                       : sessions_text(*before, *now))
            .c_str(),
        stdout);
  return {};
}

Status drain(const Options& o, Remote& remote) {
  Result<SecretFile> file = read_secret_file(o.secret_file);
  if (!file) return file.error().in("--secret-file");
  if (file->secrets.size() != 1)
    return Error(Errc::kInvalidUsage, "--secret-file: " + o.secret_file + " has " +
                                          std::to_string(file->secrets.size()) +
                                          " secrets; give a file with one");
  Result<Answer> asked = remote.get("/drain");
  if (!asked) return asked.error();
  const std::string challenge = Remote::sentence(*asked);
  Result<Answer> a = remote.ask(
      "POST", "/drain", "fanin " + challenge + " " + drain_proof(file->secrets.front().secret, challenge));
  if (!a) return a.error();
  if (a->status != 202) return Error(Errc::kRemote, "it will not drain: " + Remote::sentence(*a));
  printf("%s: %s\n", remote.text().c_str(), Remote::sentence(*a).c_str());
  if (o.wait_s == 0) return {};
  for (const Deadline end = Deadline::after(std::chrono::seconds(o.wait_s)); !end.passed();) {
    if (!remote.is_listening()) {
      printf("%s: ended\n", remote.text().c_str());
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return Error(Errc::kRemote, "it has not ended after " + std::to_string(o.wait_s) +
                                  " s; fanin-ctl sessions says what is still running");
}

}  // namespace

Status run(const Options& o) {
  Result<tcp::HostPort> at = tcp::parse_host_port(o.address);
  if (!at) return at.error();
  Result<std::vector<tcp::Address>> addresses = tcp::resolve(*at);
  if (!addresses) return addresses.error();
  Remote remote(*std::move(addresses), std::chrono::seconds(o.timeout_s));
  Status s = o.command == Command::kDrain ? drain(o, remote) : show(o, remote);
  return s || s.error().code() == Errc::kInvalidUsage ? s : Status(s.error().in(o.address));
}

}  // namespace fanin::ctl
