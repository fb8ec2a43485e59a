// Does a state hold together? Bytes that came from elsewhere are looked through before they become the state of a
// simulation: every id, link, count and bit that the stages of a cycle follow without looking. What passes can be
// played on without touching memory that is not the state's own, whoever wrote it; what the state means is the
// writer's affair.
#pragma once

#include <string>
#include <vector>

#include "simcore/state.hpp"

namespace flitgym {

// Throws CoreError if flits, credits and buffer slots do not add up.
void check_conservation(const Network& net, const State& s);

// Throws ConfigError; `s` has the arrays of fixed size of a state of this network.
// `asking`: it stands between the halves of a cycle, and these input VCs ask for a route; null: it stands before a
// cycle.
void verify_state(const Network& net, const State& s, const std::vector<u32>* asking);

// The parts of it. `live` marks the packets that are in the network.
std::vector<u8> verify_network(const Network& net, const State& s, const std::vector<u32>* asking);
void verify_memory(const Network& net, const State& s, const std::vector<u8>& live);
void verify_workload(const Network& net, const State& s, const std::vector<u8>& live);
void verify_learning(const Network& net, const State& s, const std::vector<u8>& live);

// ---- learned tables (table.cpp) ----

// A bit per column that means something, [routers, rows, words of 64 columns]; of the table as a fresh network has it,
// where the others hold infinity.
std::vector<u64> used_entries(const Network& net, u32 memory);
// Throws ConfigError that names the first entry no routing could work with: one that is not finite or below the least
// value, or one that has been given a value and means nothing.
void verify_table(const Network& net, u32 memory, const AlignedBytes& table, const std::vector<u64>& used);

// ---- what they share ----

[[noreturn]] void refuse_state(const std::string& what);
inline void hold(bool so, const char* otherwise) {
  if (!so) refuse_state(otherwise);
}

// Marks the entries of a pool that are in its list of free ones.
inline std::vector<u8> marked_free(const std::vector<u32>& free, std::size_t pool, const char* otherwise) {
  std::vector<u8> marks(pool, 0);
  for (const u32 id : free) {
    hold(id < pool && !marks[id], otherwise);
    marks[id] = 1;
  }
  return marks;
}

// visit(item) for everything in a wheel; its chunks are in one list each, or free and empty.
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

// visit(line, event) for everything on delay lines, in the order of arrival. In the middle of a cycle what is due has
// come out, and what this cycle has put in is not marked yet.
template <class T, class Visit>
void each_event(const DelayLines<T>& lines, const std::vector<u32>& delays, Cycle now, bool middle, Visit visit) {
  const char* const broken = "a delay line is broken";
  hold(lines.lines.size() == delays.size(), broken);
  for (u32 l = 0; l < lines.lines.size(); l++) {
    const DelayLine<T>& line = lines.lines[l];
    const std::size_t size = line.items.size(), slots = line.marks.size();
    hold(line.delay == delays[l] && slots > line.delay && (slots & (slots - 1)) == 0, broken);
    hold(size > 0 && (size & (size - 1)) == 0 && line.mask == size - 1 && line.end - line.first <= size, broken);
    u32 before = 0;  // how far the line had been filled, cycle by cycle
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
