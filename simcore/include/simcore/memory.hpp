// What components keep. A routing, an observation or a reward declares at set-up what it has to remember per router,
// port, packet or job: a name, a shape, a type, a first value and a range. State allocates it, hashes it, saves it,
// looks through what a snapshot brings, and shows it to Python by its name; nobody edits State for it.
#pragma once

#include <limits>
#include <new>
#include <string>
#include <vector>

#include "simcore/types.hpp"

namespace flitgym {

struct Network;
struct State;
struct Batch;

// Arrays that begin on a cache line, and with them the rows of learned tables.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  bool operator==(const LineAllocator&) const { return true; }
};
using AlignedFloats = std::vector<float, LineAllocator<float>>;
using AlignedBytes = std::vector<u8, LineAllocator<u8>>;

// What has an entry of its own.
enum class Per : u8 {
  kNetwork,  // one entry in all
  kRouter,   // [routers]
  kPort,     // [router_ports]
  kVcClass,  // [router_ports, VC classes]; scratch alone
  kPacket,   // [pool], by packet id; an entry begins anew with every packet
  kJob,      // [jobs]; a traffic pattern is one
};
enum class Cell : u8 { kU8, kU16, kU32, kFloat, kDouble };

struct MemoryShape {
  std::string name;     // one of its kind in a network
  std::string meaning;  // of the rows and columns of an entry, with the unit
  Per per = Per::kNetwork;
  u32 rows = 1, columns = 1;  // of an entry
  u32 stride = 0;             // from row to row; 0 = columns
  double fill = 0;            // the first value of all cells
  // What a snapshot may bring: finite values in lowest .. highest, or kNone where that means "none".
  double lowest = 0, highest = std::numeric_limits<double>::max();
  bool or_none = false;
  void (*initialise)(const Network&, State&) = nullptr;  // writes the first values of all cells, where they differ
  bool learned = false;    // a table of floats that users may write to; infinity where an entry means nothing
  Cell cell = Cell::kU32;  // declare() knows
  std::vector<u8> blank;   // likewise: the bytes of a new entry of a packet

  u32 cell_bytes() const { return cell == Cell::kU8 ? 1 : cell == Cell::kU16 ? 2 : cell == Cell::kDouble ? 8 : 4; }
  std::size_t entry_bytes() const { return std::size_t{rows} * stride * cell_bytes(); }
};

// visit(T{}) with the type of a cell.
template <class Visit>
decltype(auto) with_cell(Cell cell, Visit&& visit) {
  switch (cell) {
    case Cell::kU8: return visit(u8{});
    case Cell::kU16: return visit(u16{});
    case Cell::kFloat: return visit(float{});
    case Cell::kDouble: return visit(double{});
    default: return visit(u32{});
  }
}
template <class T> inline constexpr Cell kCellOf = Cell::kU32;
template <> inline constexpr Cell kCellOf<u8> = Cell::kU8;
template <> inline constexpr Cell kCellOf<u16> = Cell::kU16;
template <> inline constexpr Cell kCellOf<float> = Cell::kFloat;
template <> inline constexpr Cell kCellOf<double> = Cell::kDouble;

// How a component reaches its memory. of() costs two loads: take it ahead of a loop (the memory of packets moves as
// their pool grows, which it does not while a batch is decided).
template <class T>
struct Kept {
  u32 memory = kNone;
  T* of(State& s) const;
  const T* of(const State& s) const;
};
// Memory that is all 0 between two cycles and so no part of State: it stands in the Batch. Who writes there cleans up.
template <class T>
struct Scratch {
  u32 memory = kNone;
  T* of(Batch& b) const;
};
// A learned table: rows x columns of float per router.
struct LearnedTable {
  u32 memory = kNone, rows = 0, columns = 0, stride = 0;
  float* row(State& s, u32 router, u32 row) const;
  const float* row(const State& s, u32 router, u32 row) const;
};

// ---- src/memory.cpp: called from a component's setup, they claim what they know the size of ----

u32 declare_memory(Network&, MemoryShape);
u32 declare_scratch_memory(Network&, MemoryShape);
LearnedTable declare_table(Network&, MemoryShape);
template <class T>
Kept<T> declare(Network& net, MemoryShape shape) {
  shape.cell = kCellOf<T>;
  return {declare_memory(net, std::move(shape))};
}
template <class T>
Scratch<T> declare_scratch(Network& net, MemoryShape shape) {
  shape.cell = kCellOf<T>;
  return {declare_scratch_memory(net, std::move(shape))};
}

std::size_t memory_entries(const Network&, Per, std::size_t packets = 0);
inline std::size_t memory_bytes(const Network& net, const MemoryShape& shape, std::size_t packets = 0) {
  return memory_entries(net, shape.per, packets) * shape.entry_bytes();
}
u32 find_memory(const Network&, const std::string& name);  // throws ConfigError that lists those there are
void fill_memory(const Network&, State&, u32 memory);      // the first values
void begin_packet(const Network&, State&, u32 packet);     // the entries of a new packet; the pool has grown already

}  // namespace flitgym
