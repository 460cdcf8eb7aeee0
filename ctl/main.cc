// fanin-ctl: see ctl/options.cc for what it does. Exit codes: 0 done, 1 the reducer did not, 2 wrong usage.
#include <cstdio>

#include "ctl/commands.h"
#include "ctl/options.h"

int main(int argc, char** argv) {
  using namespace fanin;
  const auto fail = [](const Error& e) {
    fprintf(stderr, "fanin-ctl: %s\n", e.text().c_str());
    return e.code() == Errc::kInvalidUsage ? 2 : 1;
  };
  Result<ctl::Parsed> parsed = ctl::parse_options(argc, argv);
  if (!parsed) return fail(parsed.error());
  if (parsed->exit_code) return *parsed->exit_code;
  if (Status s = ctl::run(parsed->options); !s) return fail(s.error());
  return fflush(stdout) == 0 ? 0 : 1;
}
