// A table whose next hops change one at a time. It keeps the channel loads and the dependencies of every virtual layer
// up to date, and each layer stays acyclic. All routes to a destination that pass switch s follow its next hop, so one
// change moves a whole subtree of routes.
#pragma once

#include "simcore/tables/engine.hpp"
#include "tables/dependencies.hpp"
#include "tables/layering.hpp"

namespace flitgym::tables {

class Rerouting {
 public:
  // The table must have no source routes and no lanes. If the dependencies of the table already have a cycle, changes
  // are not checked for cycles.
  Rerouting(const ChannelGraph& g, ForwardingTable start, const Demand& demand);

  const ForwardingTable& table() const { return table_; }
  bool acyclic() const { return !layers_.empty(); }
  double load(u32 c) const { return load_[c]; }  // of channel c, in units of the demand
  const std::vector<double>& loads() const { return load_; }
  // Traffic to destination d that passes or starts at switch s.
  double flow(u32 s, u32 d) const { return flow_[at(s, d)]; }
  double own(u32 s, u32 d) const;  // the part of flow(s, d) that starts at s
  // kNone: s is the last switch, or no route to d passes it.
  u32 next(u32 s, u32 d) const { return g_.channel(s, table_.at(s, d)); }
  template <class Visit>
  void each_child(u32 s, u32 d, Visit&& visit) const {  // switches that send traffic for d to s
    for (u32 k = g_.first[s]; k < g_.first[s + 1]; k++)
      if (next(g_.to[k], d) == g_.reverse[k] && passes(g_.to[k], d)) visit(g_.to[k]);
  }
  bool passes(u32 s, u32 d) const { return mask_[at(s, d)] != 0; }  // a route to d passes s

  // Switch s sends traffic for d by channel c instead of its present next hop.
  struct Change {
    u32 s = 0, d = 0, c = 0;
    std::vector<u32> lost, gained;  // channels that routes leave, and channels that they take instead, in order
    u32 meet = 0;                   // the switch at which the two paths join again
  };
  bool plan(u32 s, u32 d, u32 c, Change& change) const;  // false: c is the present next hop, or leads back to s
  // Returns false and changes nothing if a layer would get a cycle.
  bool apply(const Change& change);

 private:
  struct Step {
    u32 c, next, layers;  // channel, next channel, and the set of layers with this dependency
  };
  std::size_t at(u32 s, u32 d) const { return std::size_t{s} * table_.destinations() + d; }
  u32 own_layers(u32 s, u32 d) const { return static_cast<u32>(layers_from(g_, table_, s, d)); }
  bool renew(const std::vector<Step>& gone, const std::vector<Step>& come);
  void list(const Change& change, std::vector<Step>& gone, std::vector<Step>& come);

  const ChannelGraph& g_;
  ForwardingTable table_;
  const Demand& demand_;
  DependencyIndex index_;
  std::vector<AcyclicLayer> layers_;
  std::vector<double> load_, flow_;  // [channels]; [switches, destinations]
  std::vector<u32> mask_;            // [switches, destinations] set of layers of the routes that pass
  std::vector<Step> gone_, come_;
  std::vector<std::pair<std::size_t, u32>> masks_;  // entries of mask_ that a change sets
};

}  // namespace flitgym::tables
