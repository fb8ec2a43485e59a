// Memory of components: declaration, size and initial values.
#include "simcore/memory.hpp"

#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "simcore/state.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

static bool huge(std::size_t bytes) { return bytes >= kHugePage / 2; }
static std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{huge(bytes) ? kHugePage : 64}; }

std::size_t array_bytes(std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  return bytes;  // so that an access behind the last element is reported
#else
  return huge(bytes) ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes;
#endif
}

void* allocate_array(std::size_t bytes) {
  void* const array = ::operator new(array_bytes(bytes), alignment(bytes));
#ifdef MADV_HUGEPAGE
  if (huge(bytes)) madvise(array, array_bytes(bytes) / kHugePage * kHugePage, MADV_HUGEPAGE);  // may be refused
#endif
  return array;
}

void free_array(void* array, std::size_t bytes) { ::operator delete(array, alignment(bytes)); }

std::size_t memory_entries(const Network& net, Per per, std::size_t packets) {
  switch (per) {
    case Per::kRouter: return net.routers;
    case Per::kPort: return net.router_ports;
    case Per::kPacket: return packets;
    case Per::kJob: return net.workload ? net.workload->job_count() : 1;
    default: return 1;
  }
}

u32 declare_memory(Network& net, MemoryShape shape) {
  const bool by_place = shape.per == Per::kNetwork || shape.per == Per::kRouter || shape.per == Per::kPort;
  const u64 entries = by_place ? memory_entries(net, shape.per) : 0;
  if (shape.stride == 0) shape.stride = shape.columns;
  const std::string routers = std::to_string(net.routers) + " routers";
  // Few rows of a sparse table become full, so an eighth of them is claimed.
  const u64 bytes = shape.sparse ? shape.rows * sizeof(SparseRow) + shape.entry_bytes() / 8 : shape.entry_bytes();
  claim_memory(entries * bytes, "routing." + net.routing_name,
               shape.learned ? "the tables of " + routers + ", of " + std::to_string(shape.rows) + " rows each,"
                             : "the memory '" + shape.name + "' of " + routers);
  const u32 id = static_cast<u32>(net.memories.size());
  for (const MemoryShape& other : net.memories)
    if (other.name == shape.name) throw CoreError("memory '", shape.name, "' is declared twice");
  if (shape.per == Per::kPacket || shape.fill != 0) {
    shape.blank.resize(shape.entry_bytes());
    with_cell(shape.cell, [&](auto cell) {
      cell = static_cast<decltype(cell)>(shape.fill);
      for (std::size_t at = 0; at < shape.blank.size(); at += sizeof cell)
        std::memcpy(&shape.blank[at], &cell, sizeof cell);
    });
  }
  if (shape.per == Per::kPacket) net.packet_memories.push_back(id);
  if (shape.learned && net.table == kNone) net.table = id;
  net.memories.push_back(std::move(shape));
  return id;
}

LearnedTable declare_table(Network& net, MemoryShape shape) {
  shape.per = Per::kRouter;
  shape.cell = Cell::kFloat;
  shape.learned = true;
  shape.stride = (shape.columns + 7) / 8 * 8;
  const LearnedTable table{static_cast<u32>(net.memories.size()), shape.rows, shape.columns, shape.stride};
  declare_memory(net, std::move(shape));
  return table;
}

float& Memory::entry(u32 router, u32 row, u32 column) {
  SparseRow& r = sparse[std::size_t{router} * rows + row];
  if (r.changes <= SparseRow::kMost) {
    const u32 place = static_cast<u32>(std::find(r.column, r.column + r.changes, column) - r.column);
    if (place < r.changes) return r.value[place];
    if (r.changes < SparseRow::kMost) {
      r.column[place] = static_cast<u8>(column);
      r.changes++;
      return r.value[place] = initial[std::size_t{r.from} * stride + column];
    }
    const std::size_t end = full[router].size();
    full[router].resize(end + stride);
    values(router, row, &full[router][end]);
    r.from = static_cast<u32>(end / stride);
    r.changes = SparseRow::kFull;
  }
  return full[router][std::size_t{r.from} * stride + column];
}

void LearnedTable::fill(State& s, u32 router, u32 at, const std::vector<float>& values) const {
  Memory& m = s.memory[memory];
  if (m.sparse.empty()) {
    std::ranges::copy(values, row(s, router, at));
    return;
  }
  const auto known = static_cast<u32>(m.initial.size() / stride);
  const auto differs = [&](u32 from) { return !std::equal(values.begin(), values.end(), &m.initial[from * stride]); };
  SparseRow* const r = &m.sparse[std::size_t{router} * rows + at];
  u32& from = r->from;
  from = r == m.sparse.data() ? 0 : r[-1].from;  // rows after each other are often alike
  if (known == 0 || differs(from))
    for (from = 0; from < known && differs(from);) from++;
  if (from == known) m.initial.insert(m.initial.end(), values.begin(), values.end());
}

void make_dense(State& s, u32 memory) {
  if (s.memory[memory].sparse.empty()) return;
  const Memory table = std::exchange(s.memory[memory], {});
  const std::size_t row_bytes = table.stride * sizeof(float);
  s.memory[memory].resize(table.sparse.size() * row_bytes);
  u8* to = s.memory[memory].data();
  table.each_row([&](const float* row) { std::memcpy(to, row, row_bytes), to += row_bytes; });
}

u32 find_memory(const Network& net, const std::string& name) {
  std::vector<std::string> names;
  for (u32 k = 0; k < net.memories.size(); k++) {
    if (net.memories[k].name == name) return k;
    names.push_back(net.memories[k].name);
  }
  throw ConfigError("memory: routing.", net.routing_name, " keeps no '", name, "'", did_you_mean(name, names),
                    names.empty() ? "; it keeps nothing" : "; it keeps: " + join(names));
}

void fill_memory(const Network& net, State& s, u32 memory) {
  const MemoryShape& shape = net.memories[memory];
  if (shape.initialise) return shape.initialise(net, s);
  AlignedBytes& bytes = s.memory[memory];
  if (shape.fill != 0)
    for (std::size_t at = 0; at < bytes.size(); at += shape.blank.size()) {
      worked(1 + shape.blank.size() / 4);
      std::memcpy(&bytes[at], shape.blank.data(), shape.blank.size());
    }
}

void begin_packet(const Network& net, State& s, u32 packet) {
  for (const u32 k : net.packet_memories) {
    const std::vector<u8>& blank = net.memories[k].blank;
    AlignedBytes& bytes = s.memory[k];
    const std::size_t at = packet * blank.size();
    if (bytes.size() <= at) [[unlikely]]
      bytes.resize(s.packets.size() * blank.size());
    u8* const entry = &bytes[at];
    if (blank.size() == sizeof(u32)) std::memcpy(entry, blank.data(), sizeof(u32));  // avoids a call in most cases
    else std::memcpy(entry, blank.data(), blank.size());
  }
}

}  // namespace flitgym
