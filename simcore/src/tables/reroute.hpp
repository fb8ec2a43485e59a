// A table whose next hops are changed one at a time, with all that follows kept up: what passes each channel, and the
// dependencies of every virtual layer, which stay free of circles. Whoever passes switch s on the way to a destination
// follows where s sends it, so a change moves a whole subtree of routes.
#pragma once

#include <memory>
#include <vector>

#include "tables/engine.hpp"
#include "tables/layering.hpp"

namespace flitgym::tables {

class Rerouting {
 public:
  // Of a table without source routes and lanes. If its dependencies close a circle already, nothing holds them back.
  Rerouting(const ChannelGraph& g, ForwardingTable start, const Demand& demand);

  const ForwardingTable& table() const { return table_; }
  bool acyclic() const { return !layers_.empty(); }
  double load(u32 c) const { return load_[c]; }  // of channel c, in units of the demand
  const std::vector<double>& loads() const { return load_; }
  // what goes through switch s to destination d, s's own included
  double flow(u32 s, u32 d) const { return flow_[at(s, d)]; }
  double own(u32 s, u32 d) const;  // of it what begins at s
  // kNone: s is the last switch, or nobody goes there
  u32 next(u32 s, u32 d) const { return g_.channel(s, table_.at(s, d)); }
  template <class Visit>
  void each_child(u32 s, u32 d, Visit&& visit) const {  // switches that send what is for d to s
    for (u32 k = g_.first[s]; k < g_.first[s + 1]; k++)
      if (next(g_.to[k], d) == g_.reverse[k] && passes(g_.to[k], d)) visit(g_.to[k]);
  }
  bool passes(u32 s, u32 d) const { return mask_[at(s, d)] != 0; }  // a route to d comes through s

  // Switch s sending what is for d by channel c instead.
  struct Change {
    u32 s = 0, d = 0, c = 0;
    std::vector<u32> lost, gained;  // channels that routes leave, and those they take instead, in order
    u32 meet = 0;                   // the switch where both ways join again
  };
  bool plan(u32 s, u32 d, u32 c, Change& change) const;  // false: c is what it takes now, or leads back to s
  // false, and nothing has changed: some layer would close a circle
  bool apply(const Change& change);

 private:
  struct Step {
    u32 c, next, layers;  // set of layers
  };
  std::size_t at(u32 s, u32 d) const { return std::size_t{s} * table_.destinations() + d; }
  u32 own_layers(u32 s, u32 d) const;
  bool renew(const std::vector<Step>& gone, const std::vector<Step>& come);
  void list(const Change& change, std::vector<Step>& gone, std::vector<Step>& come);

  const ChannelGraph& g_;
  ForwardingTable table_;
  const Demand& demand_;
  DependencyIndex index_;
  std::vector<AcyclicLayer> layers_;
  std::vector<double> load_, flow_;  // [channels]; [switches, destinations]
  std::vector<u32> mask_;            // [switches, destinations] layers of the routes that come through
  std::vector<Step> gone_, come_;
  std::vector<std::pair<std::size_t, u32>> masks_;  // those that a change makes
};

}  // namespace flitgym::tables
