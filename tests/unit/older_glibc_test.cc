// plugin/abi/older_glibc.h against the running glibc's own, where it has one.
#include "plugin/abi/older_glibc.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fanin::plugin::abi {
namespace {

#ifdef DLFO_STRUCT_HAS_EH_DBASE
TEST(OlderGlibc, FindsTheSameUnwindTables) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  using Find = int (*)(void*, dl_find_object*);
  const auto native = reinterpret_cast<Find>(dlsym(libc, "_dl_find_object"));
  if (!native) GTEST_SKIP() << "this glibc has no _dl_find_object";
  int on_stack = 0;
  void* const places[] = {reinterpret_cast<void*>(&find_object), dlsym(libc, "qsort"),
                          dlsym(RTLD_DEFAULT, "__cxa_throw"), &on_stack, nullptr};
  for (void* pc : places) {
    dl_find_object ours{}, theirs{};
    const int found = native(pc, &theirs);
    ASSERT_EQ(find_object(pc, &ours), found) << pc;
    if (found == 0) {
      EXPECT_EQ(ours.dlfo_eh_frame, theirs.dlfo_eh_frame) << pc;
    }
  }
  dlclose(libc);
}
#endif

TEST(OlderGlibc, ExceptionsStillWork) { EXPECT_THROW(throw std::runtime_error("x"), std::runtime_error); }

}  // namespace
}  // namespace fanin::plugin::abi
