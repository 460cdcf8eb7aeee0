// Secrets and the files they come in: what is taken, what is refused, and that no message tells one.
#include "fanin/secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "fanin/proof.h"
#include "fanin/secret_file.h"
#include "reducer/cli/secret_source.h"

namespace fanin {
namespace {

const std::string kA = "0123456789abcdef-secret-of-job-a", kB = "fedcba9876543210-secret-of-job-b";

Secret made(const std::string& text) {
  Result<Secret> s = Secret::make(text);
  EXPECT_TRUE(s) << s.error().text();
  return *std::move(s);
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string out;
  for (uint8_t b : bytes) out += "0123456789abcdef"[b >> 4], out += "0123456789abcdef"[b & 15];
  return out;
}

TEST(Secret, HasAnIdThatNeverChanges) {
  EXPECT_EQ(made(kA).id(), made(kA).id());
  EXPECT_NE(made(kA).id(), made(kB).id());
  // Computed with Python's hashlib; another value would lock out every other release.
  EXPECT_EQ(hex(made(kA).id()), "73d3cb817d7214f4c466a4dc97694f31");
}

TEST(Secret, ProofsDifferInEveryInput) {
  const Secret a = made(kA), b = made(kB);
  wire::Hello hello{};
  wire::Welcome challenge{};
  const wire::Proof base = worker_proof(a, hello, challenge);
  EXPECT_TRUE(equal(base, worker_proof(a, hello, challenge)));
  EXPECT_FALSE(equal(base, worker_proof(b, hello, challenge)));
  EXPECT_FALSE(equal(base, reducer_proof(a, hello, challenge)));
  EXPECT_FALSE(equal(base, welcome_proof(a, hello, challenge, {}, "")));
  // Every byte of what was said counts: version, session, rank, nranks, lane, capabilities, window, key, nonces.
  for (size_t i = 0; i < sizeof hello; ++i) {
    wire::Hello other = hello;
    reinterpret_cast<uint8_t*>(&other)[i] ^= 1;
    EXPECT_FALSE(equal(base, worker_proof(a, other, challenge))) << "byte " << i << " of Hello";
    EXPECT_FALSE(equal(reducer_proof(a, hello, challenge), reducer_proof(a, other, challenge))) << i;
  }
  const wire::Proof last = welcome_proof(a, hello, challenge, {}, "text");
  for (size_t i = 0; i < sizeof challenge; ++i) {
    wire::Welcome other = challenge;
    reinterpret_cast<uint8_t*>(&other)[i] ^= 1;
    EXPECT_FALSE(equal(base, worker_proof(a, hello, other))) << "byte " << i << " of the challenge";
    EXPECT_FALSE(equal(last, welcome_proof(a, hello, other, {}, "text"))) << i;
    const bool in_proof = i >= offsetof(wire::Welcome, proof);
    EXPECT_EQ(equal(last, welcome_proof(a, hello, challenge, other, "text")), in_proof) << i;
  }
  EXPECT_FALSE(equal(last, welcome_proof(a, hello, challenge, {}, "texu")));
}

TEST(Secret, NoncesAreFresh) { EXPECT_NE(*fresh_nonce(), *fresh_nonce()); }

TEST(Secret, RefusesWhatIsShortLongOrOdd) {
  for (const std::string& bad :
       {std::string(15, 'x'), std::string(257, 'x'), std::string(), std::string("0123456789 abcdef"),
        std::string("0123456789:abcdef"), std::string("0123456789\tabcdef"),
        std::string("0123456789abcdef\n"), std::string("pässword-pässword")}) {
    Result<Secret> s = Secret::make(bad);
    ASSERT_FALSE(s) << bad;
    EXPECT_NE(s.error().text().find("openssl rand -hex 32"), std::string::npos);
    if (!bad.empty()) {
      EXPECT_EQ(s.error().text().find(bad), std::string::npos) << s.error().text();
    }
  }
  EXPECT_TRUE(Secret::make(std::string(16, 'x')));
  EXPECT_TRUE(Secret::make(std::string(256, '#')));
}

TEST(SecretFile, NamesCommentsAndBlankLines) {
  auto s = parse_secrets(
      "# jobs of today\n\n  " + kA + "  # the first\r\njob-b/2.x: " + kB + "\n0123456789#abcdef", "f");
  ASSERT_TRUE(s) << s.error().text();
  ASSERT_EQ(s->size(), 3u);
  EXPECT_EQ((*s)[0].name, "line 3");
  EXPECT_EQ((*s)[0].secret.id(), made(kA).id());
  EXPECT_EQ((*s)[1].name, "job-b/2.x");
  EXPECT_EQ((*s)[1].secret.id(), made(kB).id());
  EXPECT_EQ((*s)[2].secret.id(), made("0123456789#abcdef").id());
}

TEST(SecretFile, ErrorsNameTheLineAndNeverTheSecret) {
  const struct {
    std::string text, says;
  } cases[] = {
      {kA + "\nshortsecret\n", "f, line 2: a secret has 16 to 256"},
      {"a: " + kA + "\nb: " + kA, "f, line 2: the same secret as a"},
      {"no name at all: " + kA, "f, line 1: what stands before the colon"},
      {kA + ":" + kB + ":x", "f, line 1: a secret is of printable"},
      {"# nothing\n\n", "f holds no secret"},
      {"", "f holds no secret"},
      {"name:\n", "f, line 1: a secret has"},
  };
  for (auto& c : cases) {
    auto s = parse_secrets(c.text, "f");
    ASSERT_FALSE(s) << c.text;
    EXPECT_EQ(s.error().code(), Errc::kInvalidUsage);
    EXPECT_EQ(s.error().text().rfind(c.says, 0), 0u) << s.error().text();
    for (const std::string& secret : {kA, kB, std::string("shortsecret")})
      EXPECT_EQ(s.error().text().find(secret), std::string::npos) << s.error().text();
  }
}

class SecretFileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fanin-secret-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/secrets";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_, path_;
};

TEST_F(SecretFileOnDisk, WarnsWhenEveryoneMayReadIt) {
  std::ofstream(path_) << kA << "\n";
  chmod(path_.c_str(), 0600);
  auto f = read_secret_file(path_);
  ASSERT_TRUE(f) << f.error().text();
  EXPECT_TRUE(f->warnings.empty());
  chmod(path_.c_str(), 0644);
  f = read_secret_file(path_);
  ASSERT_TRUE(f);
  ASSERT_EQ(f->warnings.size(), 1u);
  EXPECT_NE(f->warnings[0].find("chmod o-r " + path_), std::string::npos);
}

TEST_F(SecretFileOnDisk, OtherThingsThanFilesAreRefused) {
  auto says = [](const std::string& path, const char* what) {
    auto f = read_secret_file(path);
    ASSERT_FALSE(f);
    EXPECT_NE(f.error().text().find(path), std::string::npos) << f.error().text();
    EXPECT_NE(f.error().text().find(what), std::string::npos) << f.error().text();
  };
  says(path_, "No such file");
  says(folder_, "directory");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  says(path_, "it is a pipe or a device");  // and does not wait for a writer
  unlink(path_.c_str());
  std::ofstream(path_) << std::string(kMaxSecretFile + 1, '\n');
  says(path_, "too large");
}

TEST_F(SecretFileOnDisk, AFileThatIsGoneIsToldOnce) {
  std::ofstream(path_) << kA << "\n";
  reducer::cli::SecretSource source(path_, "");
  ASSERT_TRUE(source.load());
  EXPECT_FALSE(source.changed());
  unlink(path_.c_str());
  EXPECT_FALSE(source.changed());  // its successor may be on the way
  EXPECT_TRUE(source.changed());
  EXPECT_FALSE(source.load());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(source.changed());
  std::ofstream(path_) << kB << "\n";
  EXPECT_TRUE(source.changed());
  ASSERT_TRUE(source.load());
  EXPECT_FALSE(source.changed());
}

}  // namespace
}  // namespace fanin
