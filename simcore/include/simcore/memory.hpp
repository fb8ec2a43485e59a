// Memory of components. At setup, a routing, observation or reward declares the data that it keeps per router, port,
// packet or job. A declaration has a name, a shape, a type, an initial value and a valid range. State allocates, hashes
// and saves the data, checks them in a loaded snapshot, and shows them to Python by name. State itself needs no change
// for a new component.
#pragma once

#include <type_traits>

#include "simcore/array.hpp"
#include "simcore/types.hpp"

namespace flitgym {

struct Network;
struct State;
struct Batch;

using AlignedFloats = Array<float>;
using AlignedBytes = Array<u8>;

// A component's memory has one entry for each object of this kind.
enum class Per : u8 {
  kNetwork,  // one entry in total
  kRouter,   // [routers]
  kPort,     // [router_ports]
  kPacket,   // [pool], by packet id; every new packet resets its entry
  kJob,      // [jobs]; a traffic pattern counts as one job
};
enum class Cell : u8 { kU8, kU16, kU32, kFloat, kDouble };

struct MemoryShape {
  std::string name;     // unique in a network
  std::string meaning;  // meaning of the rows and columns of an entry, with the unit
  Per per = Per::kNetwork;
  u32 rows = 1, columns = 1;  // shape of an entry
  u32 stride = 0;             // distance of two rows; 0: columns
  double fill = 0;            // initial value of all cells
  // Values that a snapshot may contain: finite numbers in [lowest, highest], and kNone if it means "none".
  double lowest = 0, highest = std::numeric_limits<double>::max();
  bool or_none = false;
  void (*initialise)(const Network&, State&) = nullptr;  // writes initial values that differ from `fill`
  bool learned = false;          // a table of floats that users may write; infinity marks entries without meaning
  bool sparse = false;           // a learned table that begins with sparse rows
  bool between_windows = false;  // partitions share it, because it changes only between their windows
  Cell cell = Cell::kU32;        // set by declare()
  std::vector<u8> blank = {};    // set by declare(): bytes of a new entry of a packet

  u32 cell_bytes() const { return cell == Cell::kU8 ? 1 : cell == Cell::kU16 ? 2 : cell == Cell::kDouble ? 8 : 4; }
  std::size_t entry_bytes() const { return std::size_t{rows} * stride * cell_bytes(); }
};

// A row of a large learned table. Most rows differ from their initial values in one column, so only the changes are
// stored. A row with more changes moves to the full rows of its router.
struct SparseRow {
  static constexpr u8 kMost = 2, kFull = kMost + 1;
  float value[kMost];
  u32 from;  // index of its initial values; of a full row: its index there
  u8 column[kMost];
  u8 changes;  // kFull: a full row
  u8 reserved;
};
static_assert(sizeof(SparseRow) == 16);

// The bytes of a memory, or the rows of a sparse table. make_dense() turns rows into bytes.
struct Memory : AlignedBytes {
  static constexpr u32 kMostColumns = 256;
  u32 rows = 0, stride = 0;
  Array<SparseRow> sparse;          // [routers, rows]
  std::vector<float> initial;       // [distinct initial rows, stride]
  std::vector<AlignedFloats> full;  // [routers] full rows; threads add rows of their routers
  // Values of a row, in place or written to `space` [kMostColumns].
  const float* values(u32 router, u32 row, float* space) const {
    const SparseRow& r = sparse[std::size_t{router} * rows + row];
    if (r.changes == SparseRow::kFull) return full[router].data() + std::size_t{r.from} * stride;
    std::copy_n(initial.data() + std::size_t{r.from} * stride, stride, space);
    for (u32 k = 0; k < r.changes; k++) space[r.column[k]] = r.value[k];
    return space;
  }
  template <class Visit>
  void each_row(Visit visit) const {
    float space[kMostColumns];
    for (u32 router = 0; router < full.size(); router++)
      for (u32 row = 0; row < rows; row++) visit(values(router, row, space));
  }
  float& entry(u32 router, u32 row, u32 column);
};

// Calls visit(T{}) with the type of a cell.
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

// Access to a component's memory. of() costs two loads, so call it once before a loop. The memory of packets moves when
// the packet pool grows, but never while a batch is decided.
template <class T>
struct Kept {
  u32 memory = kNone;
  bool kept() const { return memory != kNone; }
  template <class AnyState>  // const State: const T*
  auto* of(AnyState& s) const {
    return reinterpret_cast<std::conditional_t<std::is_const_v<AnyState>, const T, T>*>(s.memory[memory].data());
  }
};
// A learned table of floats: rows x columns per router.
struct LearnedTable {
  u32 memory = kNone, rows = 0, columns = 0, stride = 0;
  template <class AnyState>
  auto* row(AnyState& s, u32 router, u32 at) const {
    return Kept<float>{memory}.of(s) + (std::size_t{router} * rows + at) * stride;
  }
  // For tables that may be sparse. `space` has Memory::kMostColumns entries.
  const float* values(const State& s, u32 router, u32 row, float* space) const;
  float& entry(State& s, u32 router, u32 row, u32 column) const;
  void fill(State& s, u32 router, u32 row, const std::vector<float>& values) const;  // with its initial values
  const void* place(const State& s, u32 router, u32 row) const;                      // address to prefetch
};

// ---- src/core/memory.cpp: called by a component's setup(); they claim the declared memory ----

u32 declare_memory(Network&, MemoryShape);
LearnedTable declare_table(Network&, MemoryShape);
template <class T>
Kept<T> declare(Network& net, MemoryShape shape) {
  shape.cell = kCellOf<T>;
  return {declare_memory(net, std::move(shape))};
}

std::size_t memory_entries(const Network&, Per, std::size_t packets = 0);
inline std::size_t memory_bytes(const Network& net, const MemoryShape& shape, std::size_t packets = 0) {
  return memory_entries(net, shape.per, packets) * shape.entry_bytes();
}
void make_dense(State&, u32 memory);                       // a sparse table becomes an array, as users see it
u32 find_memory(const Network&, const std::string& name);  // throws ConfigError with the valid names
void fill_memory(const Network&, State&, u32 memory);      // writes the initial values
void begin_packet(const Network&, State&, u32 packet);  // resets the entries of a new packet, after the pool has grown

}  // namespace flitgym
