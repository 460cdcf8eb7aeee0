// Where the dynamic loader found a library that was opened by name.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <string>

namespace fanin::doctor {

inline std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name ? map->l_name : name;
}

}  // namespace fanin::doctor
