// The memory of components must have the right size, and every value must be in its declared range. For packets, only
// those in the network are checked, because other entries are reset before they are read.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simcore/error.hpp"
#include "verify/verify.hpp"

namespace flitgym {

namespace {

template <class T>
void each_cell(const MemoryShape& shape, const u8* entry, T least, T most, const std::string& what) {
  for (std::size_t at = 0; at < shape.entry_bytes(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, entry + at, sizeof(T));
    bool fine = value >= least && value <= most;  // false for NaN
    if constexpr (sizeof(T) == sizeof(u32) && !std::is_floating_point_v<T>) fine |= shape.or_none && value == kNone;
    if (!fine)
      refuse_state(what + ": " + std::to_string(value) + "; valid are " + std::to_string(least) + " to " +
                   std::to_string(most));
  }
}

// Limits a bound to the range of the type.
template <class T>
T bound(double value) {
  const double least = std::is_floating_point_v<T> ? -static_cast<double>(std::numeric_limits<T>::max()) : 0;
  const double most = static_cast<double>(std::numeric_limits<T>::max());
  return static_cast<T>(value < least ? least : value > most ? most : value);
}

}  // namespace

void verify_memory(const Network& net, const State& s, const std::vector<u8>& live) {
  hold(s.memory.size() == net.memories.size(), "the memories of its components");
  for (std::size_t k = 0; k < s.memory.size(); k++) {
    const MemoryShape& shape = net.memories[k];
    const AlignedBytes& bytes = s.memory[k];
    const std::size_t entries = memory_entries(net, shape.per, s.packets.size()), size = shape.entry_bytes();
    if (bytes.size() != entries * size)
      refuse_state("the memory '" + shape.name + "' has " + std::to_string(bytes.size()) + " bytes instead of " +
                   std::to_string(entries * size));
    if (shape.learned) continue;  // see verify_table()
    with_cell(shape.cell, [&](auto type) {
      using T = decltype(type);
      const T least = bound<T>(shape.lowest), most = bound<T>(shape.highest);
      for (std::size_t entry = 0; entry < entries; entry++)
        if (shape.per != Per::kPacket || live[entry])
          each_cell<T>(shape, &bytes[entry * size], least, most, "the memory '" + shape.name + "'");
    });
  }
}

}  // namespace flitgym
