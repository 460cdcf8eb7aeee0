// Small pieces of x86-64 code made at run time: jumps that count, and overwritten function entries. Any
// thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cpudev {

// A jump to target that counts its calls under this name. Never freed.
void* counting_thunk(const char* name, void* target);
// Code that logs the name as not provided, counts, and returns cudaErrorNotSupported.
void* missing_thunk(const char* name);

// Bytes that overwrite_entry() needs.
inline constexpr size_t kEntryBytes = 13;
// Makes the function at this address jump to another, whatever runs there.
void overwrite_entry(uintptr_t address, const void* target);

// Writes the counts of all thunks that were called to the file; nothing when it cannot be opened.
void write_counts(const char* path);

}  // namespace cpudev
