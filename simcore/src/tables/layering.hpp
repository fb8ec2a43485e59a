// Virtual layers that stay free of deadlock while routes come and go: the channel dependency graph of each layer with a
// topological order of its channels, kept up as dependencies are added (Pearce and Kelly, "A dynamic topological sort
// algorithm for directed acyclic graphs", ACM JEA 11, 2006). An addition looks only at what lies between its two
// channels in that order. Of routes nothing is stored but how many have each dependency, so memory is (pairs of
// channels that meet at a switch) per layer.
#pragma once

#include <span>
#include <vector>

#include "tables/channel_graph.hpp"

namespace flitgym::tables {

// A number for each pair of channels that meet at a switch: the first ends where the second begins.
class DependencyIndex {
 public:
  explicit DependencyIndex(const ChannelGraph& g);
  const ChannelGraph& graph() const { return g_; }
  u64 size() const { return first_.back(); }
  u64 at(u32 c, u32 next) const { return first_[c] + (next - g_.first[g_.to[c]]); }
  u64 first(u32 c) const { return first_[c]; }  // of the pairs with c before; they go on by port of to[c]

 private:
  const ChannelGraph& g_;
  std::vector<u64> first_;  // [channels + 1]
};

// One layer. Copies share the index, which must outlive them.
class AcyclicLayer {
 public:
  explicit AcyclicLayer(const DependencyIndex& index);  // claims its memory

  // `times` more routes go from channel c on to channel `next`. False, and nothing has changed, if that closed a
  // circle.
  bool add(u32 c, u32 next, u32 times = 1);
  void remove(u32 c, u32 next, u32 times = 1);
  // The same for all dependencies of a route, given as its channels in order: all or none.
  bool add_route(std::span<const u32> channels, u32 times = 1);
  void remove_route(std::span<const u32> channels, u32 times = 1);

  void clear();                                                             // no routes; the order stays as it is
  u32 count(u32 c, u32 next) const { return count_[index_->at(c, next)]; }  // routes that go from c to next
  u64 dependencies() const { return dependencies_; }                        // different ones
  u64 effort() const { return effort_; }  // channels looked at in all additions so far
  // [channels] of the order: whoever waits stands before what it waits for
  u32 place(u32 c) const { return place_[c]; }

 private:
  bool make_room(u32 c, u32 next);  // reorders so that c stands before next; false: next leads to c
  void next_epoch();
  bool forward(u32 c, u32 bound);
  bool backward(u32 c, u32 bound);
  enum : u8 { kAhead = 1, kBehind = 2 };

  const DependencyIndex* index_;
  std::vector<u32> count_;    // [index.size()]
  std::vector<u32> refused_;  // [index.size()] the epoch in which this dependency would have closed a circle
  std::vector<u32> place_;    // [channels]
  u64 dependencies_ = 0, effort_ = 0;
  u32 epoch_ = 1;  // goes on when a dependency is gone: what was refused before may be possible now
  // Scratch of one addition.
  std::vector<u32> ahead_, behind_, places_, added_;
  std::vector<u8> marked_;  // [channels]
};

}  // namespace flitgym::tables
