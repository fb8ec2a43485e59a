// Consistency checks for states. Bytes from outside are checked before they become the state of a simulation: every id,
// link, count and bit that the stages of a cycle use without checks. A state that passes can be simulated without
// access to memory outside of it. Whether the state is meaningful is not checked.
#pragma once

#include <string>
#include <vector>

#include "simcore/state.hpp"

namespace flitgym {

// Throws CoreError if the counts of flits, credits and buffer slots are inconsistent.
void check_conservation(const Network& net, const State& s);

// Throws ConfigError. `s` must have the arrays of fixed size of a state of this network. `asking`: the input VCs that
// ask for a route, if the state is between the halves of a cycle; null if it is before a cycle.
void verify_state(const Network& net, const State& s, const std::vector<u32>* asking);

// The parts of the check. `live` marks the packets in the network.
std::vector<u8> verify_network(const Network& net, const State& s, const std::vector<u32>* asking);
void verify_memory(const Network& net, const State& s, const std::vector<u8>& live);
void verify_workload(const Network& net, const State& s, const std::vector<u8>& live);
void verify_learning(const Network& net, const State& s, const std::vector<u8>& live);

// ---- learned tables (table.cpp) ----

// The used columns as bits, [routers, rows, words of 64 columns]. They are derived from the table of a new network,
// whose other columns are infinite.
std::vector<u64> used_entries(const Network& net, u32 memory);
// Throws ConfigError, naming the first invalid entry: one that is not finite or below the lowest value, or an unused
// one with a finite value.
void verify_table(const Network& net, u32 memory, const AlignedBytes& table, const std::vector<u64>& used);

// ---- shared code ----

[[noreturn]] void refuse_state(const std::string& what);
inline void hold(bool so, const char* otherwise) {
  if (!so) refuse_state(otherwise);
}

// Marks the entries of a pool that are in its free list.
inline std::vector<u8> marked_free(const std::vector<u32>& free, std::size_t pool, const char* otherwise) {
  std::vector<u8> marks(pool, 0);
  for (const u32 id : free) {
    hold(id < pool && !marks[id], otherwise);
    marks[id] = 1;
  }
  return marks;
}

// Calls visit(item) for all items of a wheel. Each chunk must be in exactly one list, or free and empty.
template <class T, class Visit>
void each_item(const Wheel<T>& wheel, Visit visit) {
  const char* const broken = "a timing wheel's lists are broken";
  std::vector<u8> seen(wheel.chunks.size(), 0);
  hold(wheel.first.size() == wheel.last.size(), broken);
  for (std::size_t slot = 0; slot < wheel.first.size(); slot++) {
    u32 at = kNone;
    for (u32 c = wheel.first[slot]; c != kNone; c = wheel.chunks[c].next) {
      hold(c < seen.size() && !seen[c], broken);
      seen[c] = 1;
      const auto& chunk = wheel.chunks[c];
      hold(chunk.count > 0 && chunk.count <= Wheel<T>::kChunkItems, broken);
      for (u32 k = 0; k < chunk.count; k++) visit(chunk.items[k]);
      at = c;
    }
    hold(at == wheel.last[slot], broken);
  }
  for (const u32 c : wheel.free) {
    hold(c < seen.size() && !seen[c] && wheel.chunks[c].count == 0, broken);
    seen[c] = 1;
  }
}

// Calls visit(line, event) for all events on delay lines, in the order of arrival. In the middle of a cycle, due events
// have come out, and events that this cycle has put in are not yet marked.
template <class T, class Visit>
void each_event(const DelayLines<T>& lines, const std::vector<u32>& delays, Cycle now, bool middle, Visit visit) {
  const char* const broken = "a delay line is broken";
  hold(lines.lines.size() == delays.size(), broken);
  for (u32 l = 0; l < lines.lines.size(); l++) {
    const DelayLine<T>& line = lines.lines[l];
    const std::size_t size = line.items.size(), slots = line.marks.size();
    hold(line.delay == delays[l] && slots > line.delay && (slots & (slots - 1)) == 0, broken);
    hold(size > 0 && (size & (size - 1)) == 0 && line.mask == size - 1 && line.end - line.first <= size, broken);
    u32 before = 0;  // how far the line had been filled in each cycle
    for (u32 k = line.delay; k > 0; k--) {
      const u32 reached = line.marks[(now - k) & (slots - 1)] - line.first;
      hold(reached >= before && reached <= line.end - line.first && (!middle || k < line.delay || reached == 0),
           broken);
      before = reached;
    }
    hold(middle || before == line.end - line.first, broken);
    for (u32 n = line.first; n != line.end; n++) visit(l, line.at(n));
  }
}

}  // namespace flitgym
