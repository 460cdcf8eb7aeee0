// The static symbol table (.symtab) of an ELF file, with addresses as mapped in this process.
//
// nccl_symbols() is that of libnccl.so.2, which keeps its table: names of host functions, of kernels' host
// stubs and of the table that numbers its device functions are all found this way. Read once, never freed
// (other constructors and destructors use it). Any thread after the first call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cpudev {

struct Symbol {
  std::string name;
  uintptr_t address;
  size_t size;
  bool is_function;
};

class SymbolTable {
 public:
  // base: where the file's address 0 is mapped. Nothing: unreadable, not ELF64, or stripped.
  static std::optional<SymbolTable> read(const std::string& path, uintptr_t base);
  const Symbol* find(const std::string& name) const;
  const Symbol* at(uintptr_t address) const;  // exact start of the symbol
  const std::vector<Symbol>& all() const { return symbols_; }

 private:
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<uintptr_t, size_t> by_address_;
};

// Null when no libnccl is mapped or loadable, or when it is stripped.
const SymbolTable* nccl_symbols();

}  // namespace cpudev
