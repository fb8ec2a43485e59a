// Save, restore and hash a State, by visiting its list of fields.
#include <cstring>
#include <type_traits>

#include "simcore/rng.hpp"
#include "simcore/simulation.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

namespace {

constexpr u64 kMagic = 0x35796d6774696c66ull;  // "flitgym5"

// Visits a field with all its parts. `visitor` gets scalars and arrays of scalars, and nested data for which it has an
// own function.
template <class Visitor, class T>
void visit(Visitor& v, T& x) {
  using Own = std::remove_const_t<T>;
  if constexpr (requires { v.nested(x); }) {
    v.nested(x);
  } else if constexpr (requires { x.chunks; }) {  // a wheel
    v.field(x.first);
    v.field(x.last);
    v.field(x.chunks);
    v.field(x.free);
  } else if constexpr (requires { x.lines; }) {  // delay lines
    for (auto& line : x.lines) {
      v.field(line.delay);
      v.field(line.first);
      v.field(line.end);
      v.field(line.mask);
      v.field(line.items);
      v.field(line.marks);
    }
  } else if constexpr (std::is_same_v<Own, Memory>) {
    v.field(static_cast<std::conditional_t<std::is_const_v<T>, const AlignedBytes, AlignedBytes>&>(x));
  } else if constexpr (std::is_same_v<Own, Partition>) {
#define FLITGYM_VISIT(type, name) visit(v, x.name);
    FLITGYM_PARTITION(FLITGYM_VISIT)
  } else if constexpr (std::is_same_v<Own, Hosts>) {
    FLITGYM_HOSTS(FLITGYM_VISIT)
  } else if constexpr (std::is_same_v<Own, Flows>) {
    FLITGYM_FLOWS(FLITGYM_VISIT)
  } else if constexpr (std::is_same_v<Own, Acknowledgements>) {
    FLITGYM_ACKNOWLEDGEMENTS(FLITGYM_VISIT)
#undef FLITGYM_VISIT
  } else if constexpr (requires { requires !std::is_trivially_copyable_v<typename Own::value_type>; }) {
    for (auto& one : x) visit(v, one);
  } else {
    v.field(x);
  }
}

struct Hasher {
  u64 value = 0x51ed270b27b4d3efull;
  void word(u64 x) { value = mix64(value ^ x) + 0x9e3779b97f4a7c15ull; }
  void bytes(const void* data, std::size_t size) {
    word(size);
    words(data, size / 8);
    u64 rest = 0;
    if (size % 8 > 0) std::memcpy(&rest, static_cast<const char*>(data) + size / 8 * 8, size % 8);
    word(rest);
  }
  void words(const void* data, std::size_t count) {
    for (std::size_t k = 0; k < count; k++) {
      u64 x;
      std::memcpy(&x, static_cast<const char*>(data) + 8 * k, 8);
      word(x);
    }
  }
  template <class T> void field(const T& scalars) { bytes(&scalars, sizeof scalars); }
  template <class T, class A> void field(const std::vector<T, A>& array) {
    bytes(array.data(), array.size() * sizeof(T));
  }
  template <class T> void nested(const DelayLines<T>& lines) {
    for (const auto& line : lines.lines) {
      field(line.marks);
      for (u32 n = line.first; n != line.end; n++) field(line.at(n));
    }
  }
  void nested(const Memory& memory) {  // as the array of a dense table
    if (memory.sparse.empty()) return field(static_cast<const AlignedBytes&>(memory));
    word(memory.sparse.size() * memory.stride * sizeof(float));
    memory.each_row([&](const float* row) { words(row, memory.stride / 2); });
    word(0);
  }
  // The items by slot, independent of the position of their chunks in the pool.
  template <class T> void nested(const Wheel<T>& wheel) {
    for (u32 slot = 0; slot < wheel.first.size(); slot++)
      for (u32 c = wheel.first[slot]; c != kNone; c = wheel.chunks[c].next) {
        word(slot);
        bytes(wheel.chunks[c].items, wheel.chunks[c].count * sizeof(T));
      }
  }
};

struct Writer {
  std::string& out;
  void bytes(const void* data, std::size_t size) {
    if (size > 0) out.append(static_cast<const char*>(data), size);
  }
  template <class T> void field(const T& scalars) { bytes(&scalars, sizeof scalars); }
  template <class T, class A> void field(const std::vector<T, A>& array) {
    const u64 n = array.size();
    bytes(&n, sizeof n);
    bytes(array.data(), n * sizeof(T));
  }
};

struct Reader {
  const std::string& in;
  std::size_t at = 0;
  void bytes(void* data, std::size_t size) {
    if (size > in.size() - at) throw ConfigError("restore(): the snapshot is cut short");
    if (size > 0) std::memcpy(data, in.data() + at, size);
    at += size;
  }
  template <class T> void field(T& scalars) { bytes(&scalars, sizeof scalars); }
  template <class T, class A> void field(std::vector<T, A>& array) {
    u64 n = 0;
    bytes(&n, sizeof n);
    if (n > (in.size() - at) / sizeof(T)) throw ConfigError("restore(): the snapshot is cut short");
    array.resize(n);
    bytes(array.data(), n * sizeof(T));
  }
};

struct Counter {
  u64 bytes = 0;
  template <class T> void field(const T& scalars) { bytes += sizeof scalars; }
  template <class T> void field(const std::vector<T>& array) { bytes += array.capacity() * sizeof(T); }
  template <class T> void field(const Array<T>& array) { bytes += array_bytes(array.capacity() * sizeof(T)); }
  void nested(const Memory& memory) {
    field(static_cast<const AlignedBytes&>(memory));
    field(memory.sparse);
    for (const AlignedFloats& rows : memory.full) field(rows);
  }
};

// Hash of everything after the four words at the beginning.
u64 body_hash(const std::string& bytes) {
  Hasher h;
  h.bytes(bytes.data() + 4 * sizeof(u64), bytes.size() - 4 * sizeof(u64));
  return h.value;
}

// Arrays of fixed size must have the same size as in the present state.
template <class T>
void same_size(const T&, const T&) {}
template <class T, class A>
void same_size(const std::vector<T, A>& fresh, const std::vector<T, A>& own) {
  if (fresh.size() != own.size())
    throw ConfigError("restore(): the snapshot has an array of ", fresh.size(), " entries, where ", own.size(),
                      " are expected");
}

// Clears events that have left a delay line. They stay in its ring until they are overwritten, and the stages prefetch
// a few events ahead.
template <class T>
void forget_delivered(DelayLines<T>& lines) {
  for (auto& line : lines.lines)
    for (u32 n = line.end; n != line.first + static_cast<u32>(line.items.size()); n++) line.items[n & line.mask] = T{};
}

// Identifies the networks whose states have the same arrays.
u64 layout(const Network& net) {
  Hasher h;
  h.bytes(net.identity.data(), net.identity.size());
  for (const MemoryShape& shape : net.memories) {
    h.bytes(shape.name.data(), shape.name.size());
    for (const u64 x :
         {u64{static_cast<u8>(shape.per)}, u64{static_cast<u8>(shape.cell)}, u64{shape.rows}, u64{shape.stride}})
      h.word(x);
  }
  h.word(sizeof(State));
  return h.value;
}

}  // namespace

u64 state_bytes(const State& s) {
  Counter counter;
#define FLITGYM_COUNT(type, name) visit(counter, s.name);
  FLITGYM_STATE(FLITGYM_COUNT)
#undef FLITGYM_COUNT
  return counter.bytes;
}

u64 Simulation::hash() const {
  Hasher h;
#define FLITGYM_HASH(type, name) visit(h, state_.name);
  FLITGYM_STATE_FIXED(FLITGYM_HASH)
  FLITGYM_STATE_GROWING(FLITGYM_HASH)
  if (network_->workload) {
    FLITGYM_STATE_WORKLOAD_FIXED(FLITGYM_HASH)
    FLITGYM_STATE_WORKLOAD_GROWING(FLITGYM_HASH)
  }
  if (network_->workload && network_->workload->host.kind == HostKind::kLogGops) {
    FLITGYM_STATE_LOGGOPS(FLITGYM_HASH)
  }
  FLITGYM_STATE_FLOWS(FLITGYM_HASH)
  if (network_->workload && network_->workload->has_links()) {
    FLITGYM_STATE_NODES_FIXED(FLITGYM_HASH)
    FLITGYM_STATE_NODES_GROWING(FLITGYM_HASH)
  }
  if (network_->seam) {
    FLITGYM_STATE_LEARNING_FIXED(FLITGYM_HASH)
    FLITGYM_STATE_LEARNING_GROWING(FLITGYM_HASH)
  }
  if (network_->control) {
    FLITGYM_STATE_CONTROL_FIXED(FLITGYM_HASH)
    FLITGYM_STATE_CONTROL_GROWING(FLITGYM_HASH)
  }
#undef FLITGYM_HASH
  return h.value;
}

// A snapshot has four words and then the fields. The words are a magic number, the layout of the network, and the size
// and the hash of the fields.
std::string Simulation::snapshot() {
  ready(1);
  if (state_.part.totals.collected)
    throw CoreError("snapshot() between collect() and apply(): apply the choices first");
  if (workspace_.at_hosts)
    throw CoreError("snapshot(): the run was interrupted in the middle of a cycle; run() at least one cycle first");
  for (u32 k = 0; k < state_.memory.size(); k++) make_dense(state_, k);
  std::string out(4 * sizeof(u64), '\0');
  Writer w{out};
#define FLITGYM_WRITE(type, name) visit(w, state_.name);
  FLITGYM_STATE(FLITGYM_WRITE)
#undef FLITGYM_WRITE
  const u64 head[] = {kMagic, layout(*network_), out.size() - 4 * sizeof(u64), body_hash(out)};
  std::memcpy(out.data(), head, sizeof head);
  return out;
}

void Simulation::restore(const std::string& bytes) {
  Reader r{bytes};
  u64 magic = 0, shape = 0, size = 0, hash = 0;
  for (u64* word : {&magic, &shape, &size, &hash}) r.field(*word);
  if (magic != kMagic) throw ConfigError("restore(): the bytes are no snapshot, or of another version of flitgym");
  if (shape != layout(*network_))
    throw ConfigError(
        "restore(): the snapshot is of another configuration (network, router, routing, traffic pattern or seed)");
  if (bytes.size() - r.at < size) throw ConfigError("restore(): the snapshot is cut short");
  if (bytes.size() - r.at > size) throw ConfigError("restore(): the snapshot is longer than its contents");
  if (body_hash(bytes) != hash)
    throw ConfigError("restore(): the snapshot is damaged; its hash does not match its contents");

  // The hash detects accidental damage. Contents with a correct hash are trusted, apart from their sizes and sums.
  State fresh = state_;                           // with the numbers of partitions and lines
  fresh.memory = Memories(state_.memory.size());  // dense
#define FLITGYM_READ(type, name) visit(r, fresh.name);
  FLITGYM_STATE(FLITGYM_READ)
#undef FLITGYM_READ
  if (r.at != bytes.size()) throw ConfigError("restore(): the snapshot is longer than its contents");
#define FLITGYM_SIZE(type, name) same_size(fresh.name, state_.name);
  FLITGYM_STATE_FIXED(FLITGYM_SIZE)
  FLITGYM_STATE_WORKLOAD_FIXED(FLITGYM_SIZE)
  FLITGYM_STATE_NODES_FIXED(FLITGYM_SIZE)
  FLITGYM_STATE_LEARNING_FIXED(FLITGYM_SIZE)
  FLITGYM_STATE_CONTROL_FIXED(FLITGYM_SIZE)
#undef FLITGYM_SIZE
  try {
    flitgym::check_conservation(*network_, fresh);
  } catch (const CoreError& error) {
    throw ConfigError("restore(): the snapshot is inconsistent: ", error.what());
  }
  tables_.check_all(*network_, fresh);
  for (u32 k = 0; k < network_->partitions(); k++)
    partition(fresh, k).each_lines([](auto& lines) { forget_delivered(lines); });

  broken_ = "restore() was interrupted";
  workspace_.at_hosts = workspace_.at_routing = false;
  workspace_.starting.clear();
  workspace_.answered.clear();
  workspace_.acknowledgements.clear();
  state_ = fresh;  // copied into the existing arrays, so that views of them stay valid
  broken_.clear();
  workspace_.batch.count = workspace_.batch.decisions.count = 0;
  workspace_.routes.clear();
  workspace_.verify_choices = true;
  watchdog_ = {};
  show_progress();
}

}  // namespace flitgym
