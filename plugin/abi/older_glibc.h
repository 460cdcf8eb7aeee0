// What the statically linked compiler runtime takes from glibc releases newer than 2.34, done with older
// means, so that a library built on a new system loads on an old one: exceptions look up code by
// _dl_find_object (2.35), std::random_device reads arc4random (2.36; the runtime's iostreams bring it in).
// Hidden like everything here. Any thread.
#pragma once
#include <dlfcn.h>

namespace fanin::plugin::abi {

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// As _dl_find_object(3): 0 and the object that contains pc with its unwind table, or -1. The link map is not
// filled in: the unwinder does not read it.
int find_object(const void* pc, dl_find_object* found);
#endif

}  // namespace fanin::plugin::abi
