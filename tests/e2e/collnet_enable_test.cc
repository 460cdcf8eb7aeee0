// What the plugin does about NCCL_COLLNET_ENABLE, on NCCL releases that look at it before and after the plugin is opened.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "nccl/env_v2.h"
#include "plugin/collnet/enable.h"
#include "plugin/collnet/nccl_version.h"
#include "plugin/tuner/reopen.h"
#include "tests/support/log_capture.h"
#include "tests/support/program.h"

namespace fanin {
namespace {

namespace cn = plugin::collnet;
using test::built;
using test::LogCapture;

const char kPool[] = "127.0.0.1:4000";

// Options are read and the message is given once per process: each case has its own.
std::string in_child(const std::map<std::string, std::string>& variables,
                     const std::function<std::string()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("NCCL_COLLNET_ENABLE");
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const std::string failure = body();
    if (!failure.empty()) fprintf(stderr, "%s\n", failure.c_str());
    _exit(failure.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? "" : "the child said what is wrong above";
}

ncclDebugLogger_t logger_of(const std::string& release) {
  void* library = dlopen(built("tests/libfake_nccl_" + release + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<ncclDebugLogger_t>(dlsym(library, "fake_logger")) : nullptr;
}

std::string value() {
  const char* v = getenv("NCCL_COLLNET_ENABLE");
  return v ? v : "(unset)";
}

// Calls it twice; what the variable is then and how many warnings of the text were given.
std::string expect(const std::string& release, const std::string& variable, size_t warnings,
                   const std::string& text = "NCCL will not use the reducers") {
  LogCapture log;
  ncclDebugLogger_t logger = logger_of(release);
  if (!logger) return "no library for " + release;
  cn::enable_or_warn(logger);
  cn::enable_or_warn(logger);
  if (value() != variable) return "NCCL_COLLNET_ENABLE is " + value() + ", not " + variable;
  if (log.count(NCCL_LOG_WARN, text) != warnings) return log.all();
  return "";
}

TEST(CollnetEnable, ReleaseIsFoundByAnAddressInTheLibrary) {
  EXPECT_EQ(cn::nccl_version(reinterpret_cast<const void*>(logger_of("22605"))), 22605);
  EXPECT_EQ(cn::nccl_version(reinterpret_cast<const void*>(logger_of("22703"))), 22703);
  EXPECT_EQ(cn::nccl_version(reinterpret_cast<const void*>(&getpid)), 0);
  int on_stack = 0;
  EXPECT_EQ(cn::nccl_version(&on_stack), 0);
  EXPECT_EQ(cn::nccl_version(nullptr), 0);
}

TEST(CollnetEnable, TurnedOnBeforeAnOldNcclLooks) {
  EXPECT_EQ(in_child({{"FANIN_REDUCERS", kPool}}, [] { return expect("22605", "1", 0); }), "");
}

TEST(CollnetEnable, ANewNcclHasLookedAlready) {
  EXPECT_EQ(in_child({{"FANIN_REDUCERS", kPool}},
                     [] { return expect("22703", "(unset)", 1, "NCCL_COLLNET_ENABLE is not 1"); }),
            "");
}

TEST(CollnetEnable, TheUsersValueStays) {
  EXPECT_EQ(in_child({{"FANIN_REDUCERS", kPool}, {"NCCL_COLLNET_ENABLE", "0"}},
                     [] { return expect("22605", "0", 1, "NCCL_COLLNET_ENABLE is 0"); }),
            "");
  EXPECT_EQ(in_child({{"FANIN_REDUCERS", kPool}, {"NCCL_COLLNET_ENABLE", "1"}},
                     [] { return expect("22703", "1", 0); }),
            "");
}

TEST(CollnetEnable, ForThePoolOfAPlatformToo) {
  const std::string pool = R"({"cluster": {"workerpool2": ["a:2222"]}})";
  EXPECT_EQ(in_child({{"CLUSTER_SPEC", pool}}, [] { return expect("22605", "1", 0); }), "");
  EXPECT_EQ(
      in_child({{"CLUSTER_SPEC", pool}},
               [] { return expect("22703", "(unset)", 1, "CLUSTER_SPEC is set but NCCL_COLLNET_ENABLE"); }),
      "");
  // It need not name reducers; who asks for Slurm's does.
  EXPECT_EQ(in_child({{"CLUSTER_SPEC", R"({"cluster": {"workerpool0": ["a:2222"]}})"}},
                     [] { return expect("22605", "(unset)", 0); }),
            "");
  EXPECT_EQ(in_child({{"CLUSTER_SPEC", pool}, {"FANIN_REDUCERS", "none"}},
                     [] { return expect("22605", "(unset)", 0); }),
            "");
  EXPECT_EQ(
      in_child({{"FANIN_REDUCERS", "slurm:4000"}},
               [] { return expect("22605", "(unset)", 1, "SLURM_JOB_NODELIST_HET_GROUP_1 is not set"); }),
      "");
}

TEST(CollnetEnable, NotWithoutReducersNorWhenAskedNotTo) {
  EXPECT_EQ(in_child({}, [] { return expect("22605", "(unset)", 0); }), "");
  EXPECT_EQ(in_child({{"FANIN_REDUCERS", kPool}, {"FANIN_COLLNET", "0"}},
                     [] { return expect("22605", "(unset)", 0); }),
            "");
}

TEST(CollnetEnable, NoWarningWhereTheEnvironmentPluginAnswers) {
  EXPECT_EQ(in_child({{"FANIN_REDUCERS", kPool}},
                     [] {
                       if (!dlopen(built("lib/libnccl-env.so").c_str(), RTLD_NOW | RTLD_LOCAL))
                         return std::string(dlerror());
                       return expect("22809", "(unset)", 0);
                     }),
            "");
}

// ---- the tuner in our library, on releases that unmap it too early ----

// What NCCL_TUNER_PLUGIN and FANIN_TUNER are after the net table's init under a release.
std::string tuner_plugin(const std::string& release, const std::map<std::string, std::string>& variables,
                         const std::string& want, const std::string& want_fanin = "(unset)") {
  return in_child(variables, [&]() -> std::string {
    LogCapture log;
    ncclDebugLogger_t logger = logger_of(release);
    if (!logger) return "no library for " + release;
    if (!variables.count("NCCL_TUNER_PLUGIN")) unsetenv("NCCL_TUNER_PLUGIN");
    plugin::tuner::reopen_for_tuner(logger);
    plugin::tuner::reopen_for_tuner(logger);
    const auto now = [](const char* name) {
      const char* value = getenv(name);
      return std::string(value ? value : "(unset)");
    };
    const std::string got = now("NCCL_TUNER_PLUGIN") + ", " + now("FANIN_TUNER");
    return got == want + ", " + want_fanin ? "" : "it is " + got + "\n" + log.all();
  });
}
const std::string kOurs = "libnccl-net-fanin.so";

TEST(TunerLibrary, IsOpenedTwiceWhereNcclClosesItTooEarly) {
  EXPECT_EQ(tuner_plugin("22605", {}, kOurs), "");
  EXPECT_EQ(tuner_plugin("22703", {}, kOurs), "");
  EXPECT_EQ(tuner_plugin("22809", {}, "(unset)"), "");
  EXPECT_EQ(tuner_plugin("22605", {{"NCCL_TUNER_PLUGIN", ""}}, kOurs), "");
}

TEST(TunerLibrary, TheUsersTunerStays) {
  const std::string other = built("tests/libfake_nccl_22605.so");
  EXPECT_EQ(tuner_plugin("22605", {{"NCCL_TUNER_PLUGIN", other}}, other), "");
  EXPECT_EQ(tuner_plugin("22605", {{"NCCL_TUNER_PLUGIN", "STATIC_PLUGIN"}}, "STATIC_PLUGIN"), "");
}

// NCCL would take ours all the same, and crash.
TEST(TunerLibrary, ANameOfNoLibraryIsReplaced) {
  EXPECT_EQ(tuner_plugin("22605", {{"NCCL_TUNER_PLUGIN", "ofi-of-nobody"}}, kOurs), "");
  EXPECT_EQ(tuner_plugin("22809", {{"NCCL_TUNER_PLUGIN", "ofi-of-nobody"}}, "ofi-of-nobody"), "");
  // 2.27.3 takes no path.
  EXPECT_EQ(tuner_plugin("22703", {{"NCCL_TUNER_PLUGIN", built("tests/libfake_nccl_22605.so")}}, kOurs), "");
}

TEST(TunerLibrary, NoneIsNoTuner) {
  EXPECT_EQ(tuner_plugin("22605", {{"NCCL_TUNER_PLUGIN", "none"}}, kOurs, "0"), "");
  EXPECT_EQ(tuner_plugin("22703", {{"NCCL_TUNER_PLUGIN", "NONE"}, {"FANIN_TUNER", "1"}}, kOurs, "0"), "");
  EXPECT_EQ(tuner_plugin("22809", {{"NCCL_TUNER_PLUGIN", "none"}}, "none"), "");
}

// ---- the environment plugin's answers ----

class EnvPlugin : public testing::Test {
 protected:
  // name's answer under these variables, "(unset)" for NULL.
  static std::string answer(const std::string& name, const std::map<std::string, std::string>& variables,
                            const std::string& path = built("lib/libnccl-env.so")) {
    std::string out = "no answer";
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0) return out;
    in_child(variables, [&] {
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      const auto* v1 =
          library ? static_cast<const ncclEnv_v1_t*>(dlsym(library, "ncclEnvPlugin_v1")) : nullptr;
      const auto* v2 =
          library ? static_cast<const ncclEnv_v2_t*>(dlsym(library, "ncclEnvPlugin_v2")) : nullptr;
      if (!v1 || !v2) return std::string("no tables");
      if (v1->init(2, 28, 9, "") != ncclSuccess || v2->init(2, 30, 7, "", nullptr) != ncclSuccess)
        return std::string("init");
      const char* one = v1->getEnv(name.c_str());
      if (one != v2->getEnv(name.c_str())) return std::string("v1 and v2 differ");
      const std::string text = one ? one : "(unset)";
      if (write(pipe_fds[1], text.data(), text.size()) < 0) return std::string("write");
      return std::string(v1->finalize() == ncclSuccess ? "" : "finalize");
    });
    close(pipe_fds[1]);
    char text[4096];
    const ssize_t n = read(pipe_fds[0], text, sizeof text);
    close(pipe_fds[0]);
    return n > 0 ? std::string(text, static_cast<size_t>(n)) : out;
  }
};

TEST_F(EnvPlugin, AnswersWhenReducersAreNamed) {
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"FANIN_REDUCERS", kPool}}), "1");
  // The net plugin beside it, by its path.
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", kPool}}), built("lib/libnccl-net-fanin.so"));
}

TEST_F(EnvPlugin, LeavesOtherJobsAlone) {
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {}), "(unset)");
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {}), "(unset)");
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", ""}}), "(unset)");
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", kPool}, {"FANIN_COLLNET", "0"}}), "(unset)");
}

TEST_F(EnvPlugin, KnowsThePoolsOfPlatforms) {
  const std::string with = R"({"cluster": {"workerpool2": ["a:2222"]}})",
                    ps = R"({"cluster": {"ps": ["a:1"]}})";
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"CLUSTER_SPEC", with}}), "1");
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"TF_CONFIG", ps}}), "1");
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"CLUSTER_SPEC", "{}"}, {"TF_CONFIG", ps}}), "(unset)");
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"CLUSTER_SPEC", with}, {"FANIN_REDUCERS", "none"}}), "(unset)");
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"CLUSTER_SPEC", with}, {"FANIN_COLLNET", "0"}}), "(unset)");
}

TEST_F(EnvPlugin, TheUsersValuesWin) {
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"FANIN_REDUCERS", kPool}, {"NCCL_COLLNET_ENABLE", "0"}}), "0");
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", kPool}, {"NCCL_NET_PLUGIN", "ofi"}}), "ofi");
  // Another network was chosen: its CollNet is not ours to turn on.
  EXPECT_EQ(answer("NCCL_COLLNET_ENABLE", {{"FANIN_REDUCERS", kPool}, {"NCCL_NET_PLUGIN", "ofi"}}),
            "(unset)");
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", kPool}, {"NCCL_NET", "IB"}}), "(unset)");
  EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", kPool}, {"NCCL_NET_PLUGIN", ""}}), "no answer");
}

// NCCL ignores a name of more than 254 characters, and splits one at its commas.
TEST_F(EnvPlugin, APathThatNcclCannotReadIsNotAnswered) {
  char name[] = "/tmp/fanin-env-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string folder = name;
  const std::string file = "/libnccl-net-fanin.so";
  for (const auto& [inner, expected] :
       std::map<std::string, bool>{{"/" + std::string(254 - folder.size() - file.size() - 1, 'd'), true},
                                   {"/" + std::string(255 - folder.size() - file.size() - 1, 'd'), false},
                                   {"/a,b", false}}) {
    std::filesystem::create_directory(folder + inner);
    std::filesystem::copy_file(built("lib/libnccl-env.so"), folder + inner + "/libnccl-env.so");
    std::ofstream(folder + inner + file) << "anything";
    EXPECT_EQ(answer("NCCL_NET_PLUGIN", {{"FANIN_REDUCERS", kPool}}, folder + inner + "/libnccl-env.so"),
              expected ? folder + inner + file : "fanin");
  }
  std::filesystem::remove_all(folder);
}

TEST_F(EnvPlugin, EveryOtherNameIsTheEnvironments) {
  EXPECT_EQ(answer("NCCL_DEBUG", {{"FANIN_REDUCERS", kPool}, {"NCCL_DEBUG", "WARN"}}), "WARN");
  EXPECT_EQ(answer("NCCL_ALGO", {{"FANIN_REDUCERS", kPool}}), "(unset)");
}

}  // namespace
}  // namespace fanin
