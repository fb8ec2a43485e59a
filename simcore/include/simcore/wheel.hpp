// A timing wheel: items that are due at cycle t are in slot t mod slots, as a list of fixed-size chunks from one flat
// pool. The arrays hold no pointers, so a copy of them is a copy of the wheel.
#pragma once

#include "simcore/array.hpp"
#include "simcore/types.hpp"

namespace flitgym {

template <class T>
struct Wheel {
  static constexpr u32 kChunkItems = 62;
  struct Chunk {
    u32 next = kNone;
    u32 count = 0;
    T items[kChunkItems] = {};
  };

  std::vector<u32> first, last;  // [slots] first and last chunk of each slot
  Array<Chunk> chunks;           // the pool
  std::vector<u32> free;         // chunk ids not in use

  // `longest`: largest number of cycles from push() to the cycle at which an item is due.
  void reset(u32 longest) {
    u32 slots = 64;
    while (slots <= longest) slots *= 2;
    first.assign(slots, kNone);
    last.assign(slots, kNone);
    chunks.clear();
    free.clear();
  }

  u32 longest() const { return static_cast<u32>(first.size()) - 1; }

  __attribute__((always_inline)) void push(Cycle when, const T& item) {
    const u32 slot = when & (static_cast<u32>(first.size()) - 1);
    u32 c = last[slot];
    if (c == kNone || chunks[c].count == kChunkItems) c = extend(slot);
    Chunk& chunk = chunks[c];
    chunk.items[chunk.count++] = item;
  }

  // Appends the items that are due now to `out` and empties their slot.
  void take(Cycle now, std::vector<T>& out) {
    const u32 slot = now & (static_cast<u32>(first.size()) - 1);
    for (u32 c = first[slot]; c != kNone;) {
      Chunk& chunk = chunks[c];
      out.insert(out.end(), chunk.items, chunk.items + chunk.count);
      chunk.count = 0;
      free.push_back(c);
      c = chunk.next;
    }
    first[slot] = last[slot] = kNone;
  }

  // Copies up to `most` of the items that are due at `when`, and leaves them in the wheel.
  void peek(Cycle when, T* out, u32 most) const {
    const u32 c = first[when & (static_cast<u32>(first.size()) - 1)];
    if (c != kNone) std::copy_n(chunks[c].items, std::min(chunks[c].count, most), out);
  }

  bool empty() const {
    return std::all_of(first.begin(), first.end(), [](u32 chunk) { return chunk == kNone; });
  }
  bool due(Cycle now) const { return first[now & (static_cast<u32>(first.size()) - 1)] != kNone; }

 private:
  u32 extend(u32 slot) {
    u32 c;
    if (free.empty()) {
      c = static_cast<u32>(chunks.size());
      chunks.emplace_back();
    } else {
      c = free.back();
      free.pop_back();
      chunks[c].next = kNone;
    }
    (last[slot] == kNone ? first[slot] : chunks[last[slot]].next) = c;
    last[slot] = c;
    return c;
  }
};

}  // namespace flitgym
