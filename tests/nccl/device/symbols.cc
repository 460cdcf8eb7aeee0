#include "tests/nccl/device/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>

namespace cpudev {
namespace {

struct Mapped {
  std::string path;
  uintptr_t base = 0;
};

int visit(dl_phdr_info* info, size_t, void* arg) {
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* file = slash ? slash + 1 : info->dlpi_name;
  if (strncmp(file, "libnccl.so", 10) != 0) return 0;
  *static_cast<Mapped*>(arg) = {info->dlpi_name, info->dlpi_addr};
  return 1;
}

SymbolTable* load_nccl() {
  Mapped found;
  if (!dl_iterate_phdr(visit, &found)) {
    // Preloaded into a program that opens NCCL itself later: it then gets this same mapping.
    if (!dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL) || !dl_iterate_phdr(visit, &found)) return nullptr;
  }
  auto table = SymbolTable::read(found.path, found.base);
  return table ? new SymbolTable(std::move(*table)) : nullptr;
}

// The file's headers and tables only: libnccl is hundreds of megabytes of device code.
template <class T>
bool read_array(std::ifstream& in, uint64_t offset, uint64_t count, std::vector<T>* out) {
  out->resize(count);
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(out->data()), static_cast<std::streamsize>(count * sizeof(T)));
  return static_cast<bool>(in);
}

}  // namespace

std::optional<SymbolTable> SymbolTable::read(const std::string& path, uintptr_t base) {
  std::ifstream in(path, std::ios::binary);
  std::vector<Elf64_Ehdr> header;
  if (!in || !read_array(in, 0, 1, &header)) return std::nullopt;
  const Elf64_Ehdr& eh = header[0];
  if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  std::vector<Elf64_Shdr> sections;
  if (!read_array(in, eh.e_shoff, eh.e_shnum, &sections)) return std::nullopt;
  SymbolTable table;
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections.size()) continue;
    std::vector<Elf64_Sym> entries;
    std::vector<char> names;
    if (!read_array(in, s.sh_offset, s.sh_size / sizeof(Elf64_Sym), &entries) ||
        !read_array(in, sections[s.sh_link].sh_offset, sections[s.sh_link].sh_size, &names))
      return std::nullopt;
    names.push_back('\0');
    for (const Elf64_Sym& e : entries) {
      const int type = ELF64_ST_TYPE(e.st_info);
      if (e.st_shndx == SHN_UNDEF || e.st_name >= names.size()) continue;
      if (type != STT_FUNC && type != STT_OBJECT) continue;
      table.by_name_.emplace(names.data() + e.st_name, table.symbols_.size());
      table.by_address_.emplace(base + e.st_value, table.symbols_.size());
      table.symbols_.push_back({names.data() + e.st_name, base + e.st_value, e.st_size, type == STT_FUNC});
    }
  }
  if (table.symbols_.empty()) return std::nullopt;
  return table;
}

const Symbol* SymbolTable::find(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &symbols_[it->second];
}

const Symbol* SymbolTable::at(uintptr_t address) const {
  auto it = by_address_.find(address);
  return it == by_address_.end() ? nullptr : &symbols_[it->second];
}

const SymbolTable* nccl_symbols() {
  static const SymbolTable* table = load_nccl();
  return table;
}

}  // namespace cpudev
