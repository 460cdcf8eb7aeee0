// bare-tcp: what moving bytes over TCP costs on this machine when nothing else is done with them, and how long one message
// takes there and back. The floor under fanin's CPU time and latency.
//
//   bare-tcp stream --pairs 2 --bytes 1G --buffer 64M --chunk 64K   pairs of processes on loopback, one sends, one receives
//   bare-tcp serve --listen 10.77.0.101:7000                        answers echo clients, one after another
//   bare-tcp echo --connect 10.77.0.101:7000 --bytes 32K            messages there and back, one at a time
// Each prints one JSON object on stdout.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "fanin/options.h"
#include "perf/bare_tcp/echo.h"
#include "perf/bare_tcp/stream.h"

namespace {

int finish(const fanin::Status& s) {
  if (s) return 0;
  fprintf(stderr, "bare-tcp: %s\n", s.error().text().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fanin::perf;
  signal(SIGPIPE, SIG_IGN);
  StreamOptions stream;
  EchoOptions echo;
  CLI::App app("What bare TCP costs on this machine.", "bare-tcp");
  app.require_subcommand(1);
  auto size = [](CLI::App* to, const char* name, size_t* value, const char* help) {
    to->add_option_function<std::string>(
        name,
        [value](const std::string& text) {
          auto n = fanin::parse_size(text, 1, int64_t{1} << 40);
          if (!n) throw CLI::ValidationError(n.error().text());
          *value = static_cast<size_t>(*n);
        },
        help);
  };
  CLI::App* one = app.add_subcommand("stream", "CPU time and system calls of sending and receiving");
  one->add_option("--pairs", stream.pairs, "Connections at once")->check(CLI::Range(1, 256));
  size(one, "--bytes", &stream.bytes, "Bytes over each connection");
  size(one, "--buffer", &stream.buffer, "Memory they come from and go to, used round and round");
  size(one, "--chunk", &stream.chunk, "Bytes per system call");
  CLI::App* server = app.add_subcommand("serve", "Answer echo clients until SIGTERM");
  server->add_option("--listen", echo.address, "HOST:PORT; port 0 with --port-file")->required();
  server->add_option("--port-file", echo.port_file, "Write the port here once ready");
  CLI::App* client = app.add_subcommand("echo", "Times messages there and back");
  client->add_option("--connect", echo.address, "HOST:PORT of a bare-tcp serve")->required();
  size(client, "--bytes", &echo.bytes, "Size of a message");
  client->add_option("--iters", echo.iters, "Timed messages")->check(CLI::Range(1, 1000000));
  client->add_option("--warmup", echo.warmup, "Untimed messages before")->check(CLI::Range(0, 1000000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (*one) return finish(run_stream(stream));
  return finish(*server ? serve_echo(echo) : run_echo(echo));
}
