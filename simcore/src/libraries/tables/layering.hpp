// Virtual layers that stay free of deadlock while routes are added and removed. Each layer holds a channel dependency
// graph and a topological order of its channels. The order is updated incrementally (Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", ACM JEA 11, 2006). Adding a dependency visits only channels
// between its two channels in that order. A layer stores no routes, only the number of routes per dependency. Its
// memory is proportional to the pairs of channels that meet at a switch.
#pragma once

#include <span>

#include "simcore/tables/channel_graph.hpp"

namespace flitgym::tables {

// Numbers the pairs of channels (c, next) in which c ends at the switch where `next` begins.
class DependencyIndex {
 public:
  explicit DependencyIndex(const ChannelGraph& g);
  const ChannelGraph& graph() const { return g_; }
  u64 size() const { return first_.back(); }
  u64 at(u32 c, u32 next) const { return first_[c] + (next - g_.first[g_.to[c]]); }
  u64 first(u32 c) const { return first_[c]; }  // first pair (c, *); pairs of c continue by port of to[c]

 private:
  const ChannelGraph& g_;
  std::vector<u64> first_;  // [channels + 1]
};

// One virtual layer. Copies share the index, which must outlive them.
class AcyclicLayer {
 public:
  explicit AcyclicLayer(const DependencyIndex& index);  // claims its memory

  // Adds a route that continues from channel c to channel `next`. Returns false and changes nothing if that would close
  // a cycle.
  bool add(u32 c, u32 next);
  void remove(u32 c, u32 next);
  // Adds all dependencies of a route, given as its channels in order, or none.
  bool add_route(std::span<const u32> channels);

  void clear();                                                             // removes all routes and keeps the order
  u32 count(u32 c, u32 next) const { return count_[index_->at(c, next)]; }  // routes that continue from c to next
  u64 effort() const { return effort_; }                                    // channels visited in all additions so far

 private:
  bool make_room(u32 c, u32 next);  // reorders so that c precedes next; false: next leads to c
  void next_epoch();
  bool forward(u32 c, u32 bound);
  bool backward(u32 c, u32 bound);
  enum : u8 { kAhead = 1, kBehind = 2 };

  const DependencyIndex* index_;
  std::vector<u32> count_;    // [index.size()]
  std::vector<u32> refused_;  // [index.size()] epoch in which the dependency was refused because it would close a cycle
  std::vector<u32> place_;    // [channels] position in the order; a channel precedes the channels on which it depends
  u64 effort_ = 0;
  u32 epoch_ = 1;  // incremented when a dependency is removed, because refused ones may then be possible
  // Scratch memory of one addition.
  std::vector<u32> ahead_, behind_, places_, added_;
  std::vector<u8> marked_;  // [channels]
};

}  // namespace flitgym::tables
