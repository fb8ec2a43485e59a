// Arrays of the simulation that may be large.
#pragma once

#include <cstddef>
#include <vector>

namespace flitgym {

// src/core/memory.cpp. Memory that begins at a cache line. An array of 1 MiB or more gets huge pages of 2 MiB, if the
// system has them. Nearly every access of a cycle goes to another line, so with small pages many accesses miss the TLB.
// An array with huge pages takes a multiple of 2 MiB.
void* allocate_array(std::size_t bytes);
void free_array(void* array, std::size_t bytes);
std::size_t array_bytes(std::size_t bytes);  // memory that an array of this size takes

template <class T>
struct ArrayAllocator {
  using value_type = T;
  ArrayAllocator() = default;
  template <class U>
  ArrayAllocator(const ArrayAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_array(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { free_array(p, n * sizeof(T)); }
  bool operator==(const ArrayAllocator&) const { return true; }
};
template <class T>
using Array = std::vector<T, ArrayAllocator<T>>;

}  // namespace flitgym
