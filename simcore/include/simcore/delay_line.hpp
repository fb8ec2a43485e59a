// A delay line: an event that enters at cycle t comes out at t + delay, in order. Channels of equal delay share a line.
// An event costs a store to put in and a load to take out. The arrays hold no pointers, so a copy of them is a copy of
// the line. Aligned, because a line belongs to one thread.
#pragma once

#include "simcore/array.hpp"
#include "simcore/types.hpp"

namespace flitgym {

template <class T>
struct alignas(64) DelayLine {
  u32 delay = 1;           // cycles, at least 1
  u32 first = 0, end = 0;  // number of the oldest event, and of the next event that enters; numbers count up
  u32 mask = 0;            // size of items - 1
  Array<T> items;          // [power of two] event n is at n mod size
  std::vector<u32> marks;  // [power of two > delay] value of `end` after cycle t, at index t mod size

  void reset(u32 cycles) {
    delay = cycles;
    first = end = 0;
    u32 slots = 2;
    while (slots <= delay) slots *= 2;
    items.assign(64, T{});
    mask = 63;
    marks.assign(slots, 0);
  }

  __attribute__((always_inline)) void push(const T& item) { push_if(true, item); }

  // The same if `enters`, without a branch.
  __attribute__((always_inline)) void push_if(bool enters, const T& item) {
    if (end - first > mask) [[unlikely]]
      grow();
    items[end & mask] = item;
    end += enters;
  }

  bool empty() const { return first == end; }
  // The events numbered first .. due(now)-1 come out in cycle `now`. The caller then sets `first` to due(now).
  u32 due(Cycle now) const { return marks[(now - delay) & (marks.size() - 1)]; }
  const T& at(u32 number) const { return items[number & mask]; }

  // Must be called for every line at the end of every cycle.
  void close(Cycle now) { marks[now & (marks.size() - 1)] = end; }
  // The same for all cycles from `from` to `until`-1. `marks` holds only the last marks.size() cycles, so earlier
  // cycles are skipped.
  void close(Cycle from, Cycle until) {
    const Cycle slots = static_cast<Cycle>(marks.size());
    for (Cycle t = until - from > slots ? until - slots : from; t != until; t++) close(t);
  }

 private:
  __attribute__((noinline)) void grow() {
    Array<T> larger(items.size() * 2);
    for (u32 n = first; n != end; n++) larger[n & (larger.size() - 1)] = at(n);
    items.swap(larger);
    mask = static_cast<u32>(items.size()) - 1;
  }
};

// One line per distinct channel delay of the network.
template <class T>
struct DelayLines {
  std::vector<DelayLine<T>> lines;

  void reset(const std::vector<u32>& delays) {
    lines.assign(delays.size(), {});
    for (std::size_t k = 0; k < delays.size(); k++) lines[k].reset(delays[k]);
  }
  bool empty() const {
    return std::all_of(lines.begin(), lines.end(), [](const DelayLine<T>& line) { return line.empty(); });
  }
  void close(Cycle now) {
    for (DelayLine<T>& line : lines) line.close(now);
  }
  void close(Cycle from, Cycle until) {
    for (DelayLine<T>& line : lines) line.close(from, until);
  }
};

}  // namespace flitgym
