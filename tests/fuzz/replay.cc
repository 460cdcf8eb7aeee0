// Runs a fuzz target once over its seed corpus, as a test: what the fuzzer found stays fixed, and the targets keep up
// with the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kPrefixes = 256;  // at most

std::vector<uint8_t> content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// On the heap and of exact size, so that reading past the end is found; never null, as with libFuzzer.
void run(std::span<const uint8_t> input) {
  const auto exact = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
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
    run(content(file));
    RecordProperty("last", file.string());
  }
  // An input may end anywhere: the prefixes of the first, from none of it on.
  const std::vector<uint8_t> first = content(files.front());
  const size_t step = first.size() / kPrefixes + 1;
  for (size_t n = 0; n < first.size(); n += step) {
    SCOPED_TRACE(files.front().string() + ", the first " + std::to_string(n) + " bytes");
    run(std::span(first).first(n));
  }
}

}  // namespace
