// Runs a fuzz target once over its seed corpus, as a test: what the fuzzer found stays fixed, and the targets keep up
// with the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void run(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  // Of exact size on the heap, so that reading past the end is found.
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(FuzzCorpus, Replays) {
  const std::string me = std::filesystem::read_symlink("/proc/self/exe").filename();
  const std::filesystem::path corpus = "tests/fuzz/corpus/" + me.substr(0, me.rfind("_test"));
  ASSERT_TRUE(std::filesystem::is_directory(corpus)) << corpus << ": run from the top folder";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) files.push_back(entry.path());
  ASSERT_FALSE(files.empty());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    run(file);
    RecordProperty("last", file.string());
  }
  // Every prefix of the first is an input too.
  const uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(&nothing, 0);
}

}  // namespace
