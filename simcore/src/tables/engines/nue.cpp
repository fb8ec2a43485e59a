// Nue (Domke, Hoefler, Matsuoka, HPDC 2016): routes are searched inside the channel dependency graph, so that no step
// ever closes a circle, with as many virtual layers as there are. The destinations are shared out to the layers. In
// each layer the routes along one spanning tree are always free: whatever the search cannot reach without closing a
// circle goes along the tree. So it never fails.
//
// Ours differs in this: a dependency counts from the moment a route takes it, not
// when the search looks at it; what a failed search had taken is given back; and where the search is stuck, first a
// neighbour's next hop is changed, then the tree is taken by those switches alone that need it, the others being
// searched anew around them.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "simcore/limits.hpp"
#include "simcore/registry.hpp"
#include "tables/engine.hpp"
#include "tables/layering.hpp"
#include "tables/walk.hpp"

namespace flitgym::tables::engines::nue {

namespace {

// Brandes' betweenness (2001) of shortest routes from everywhere to the given switches; the switch of that rank in it
// is the tree's root.
u32 central_switch(const ChannelGraph& g, const std::vector<u32>& to, u32 rank) {
  std::vector<double> score(g.switches, 0), routes(g.switches), share(g.switches);
  std::vector<u32> hops, order;
  for (const u32 t : to) {
    hops_to(g, t, hops);
    order.clear();
    std::fill(routes.begin(), routes.end(), 0.0);
    std::fill(share.begin(), share.end(), 0.0);
    for (u32 s = 0; s < g.switches; s++)
      if (hops[s] != kNone) order.push_back(s);
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return hops[a] < hops[b]; });
    routes[t] = 1;
    worked(2 * g.channels);
    const auto nearer = [&](u32 s, auto&& visit) {
      for (u32 c = g.first[s]; c < g.first[s + 1]; c++)
        if (hops[g.to[c]] + 1 == hops[s]) visit(g.to[c]);
    };
    for (const u32 s : order) nearer(s, [&](u32 v) { routes[s] += routes[v]; });
    for (std::size_t k = order.size(); k-- > 0;) {
      const u32 s = order[k];
      share[s] += g.terminals_at(s);
      score[s] += share[s];
      nearer(s, [&](u32 v) { share[v] += share[s] * routes[v] / routes[s]; });
    }
  }
  order.resize(g.switches);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return score[a] > score[b]; });
  return order[rank % g.switches];
}

// The routes of one layer. Of every destination's routes each dependency is counted once for each switch that leads
// into it.
class Layer {
 public:
  Layer(const ChannelGraph& g, const DependencyIndex& index);
  // Without any routes but those along a tree to these switches.
  void begin(const std::vector<u32>& switches, u32 rank);
  // next[s] of every switch that is connected to switch t, by the cost of channels.
  void route(u32 t, const std::vector<double>& cost);

 private:
  using Candidate = std::pair<double, u32>;  // cost to the destination, channel to begin with

  void grow_tree(u32 root);
  void towards(u32 t);
  void search(const std::vector<double>& cost);
  void drain(const std::vector<double>& cost);
  void settle(u32 s, u32 by, double distance, const std::vector<double>& cost);
  void other_way(u32 w, const std::vector<double>& cost);
  bool make_way(u32 w, const std::vector<double>& cost);
  bool redirect(u32 v, u32 by, u32 entering);
  void give_back();
  bool reached(u32 s) const { return distance_[s] >= 0; }
  // On by channel c, and then as its end goes on.
  bool take(u32 c) { return g_.to[c] == t_ || join(c, next[g_.to[c]]); }
  bool join(u32 c, u32 following) {
    const u64 at = index_.at(c, following);
    if (refused_[at]) return false;
    if (dependencies_.add(c, following)) return true;
    refused_[at] = 1;
    return false;
  }
  void leave(u32 c) {
    if (g_.to[c] != t_) dependencies_.remove(c, next[g_.to[c]]);
  }
  template <class Visit>
  void each_child(u32 v, Visit&& visit) {  // channels by which others come to v
    for (u32 k = g_.first[v]; k < g_.first[v + 1]; k++)
      if (reached(g_.to[k]) && next[g_.to[k]] == g_.reverse[k]) visit(g_.reverse[k]);
  }

  const ChannelGraph& g_;
  const DependencyIndex& index_;
  AcyclicLayer dependencies_;
  std::vector<u8> refused_;  // [dependencies] for good: what was given back since is not asked again
  u32 t_ = 0;                // the destination's switch

 public:
  std::vector<u32> next;  // [switches] channel, kNone at the destination's and where there is no way

 private:
  // [switches] channel to the tree's parent; from the root down; towards the destination
  std::vector<u32> up_, order_, tree_;
  std::vector<u32> part_;                // [switches] alike where there is a way from one to the other
  std::vector<double> distance_, best_;  // [switches] below 0: not reached; the least cost that stands in the queue
  std::vector<u8> fixed_;                // [switches] goes along the tree
  std::vector<u32> tried_;               // [channels] search in which it was refused
  u32 searches_ = 0;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

Layer::Layer(const ChannelGraph& g, const DependencyIndex& index)
    : g_(g), index_(index), dependencies_(index), next(g.switches), distance_(g.switches), best_(g.switches),
      fixed_(g.switches), tried_(g.channels, 0) {
  claim_memory(index.size(), "topology." + g.topology_name, "the dependencies that were refused");
}

void Layer::begin(const std::vector<u32>& switches, u32 rank) {
  dependencies_.clear();
  refused_.assign(index_.size(), 0);
  grow_tree(central_switch(g_, switches, rank));
  for (const u32 t : switches) {
    towards(t);
    worked(g_.switches);
    for (u32 s = 0; s < g_.switches; s++) {
      const u32 c = tree_[s], following = c == kNone ? kNone : tree_[g_.to[c]];
      // turns in a tree close no circle
      if (following != kNone && !dependencies_.count(c, following)) dependencies_.add(c, following);
    }
  }
}

void Layer::grow_tree(u32 root) {
  std::vector<u8> in(g_.switches, 0);
  up_.assign(g_.switches, kNone);
  part_.assign(g_.switches, kNone);
  order_.clear();
  for (u32 k = 0; k <= g_.switches; k++) {  // every part of the network, if some are not connected
    const u32 start = k == 0 ? root : k - 1;
    if (in[start]) continue;
    in[start] = 1;
    part_[start] = k;
    std::size_t head = order_.size();
    order_.push_back(start);
    for (; head < order_.size(); head++)
      for (u32 c = g_.first[order_[head]]; c < g_.first[order_[head] + 1]; c++)
        if (!in[g_.to[c]]) {
          in[g_.to[c]] = 1;
          part_[g_.to[c]] = k;
          up_[g_.to[c]] = g_.reverse[c];
          order_.push_back(g_.to[c]);
        }
  }
}

// Next hops along the tree towards switch t.
void Layer::towards(u32 t) {
  tree_ = up_;
  for (u32 s = 0; s < g_.switches; s++)  // switches without terminals that are cut off
    if (part_[s] != part_[t]) tree_[s] = kNone;
  for (u32 s = t, from = kNone; s != kNone;) {
    const u32 c = up_[s];
    tree_[s] = from;
    from = c == kNone ? kNone : g_.reverse[c];
    s = c == kNone ? kNone : g_.to[c];
  }
}

void Layer::route(u32 t, const std::vector<double>& cost) {
  constexpr u32 kRounds = 16;
  t_ = t;
  towards(t);
  std::fill(fixed_.begin(), fixed_.end(), 0);
  for (u32 round = 0;; round++) {
    search(cost);
    bool stuck = false;
    for (u32 w = 0; w < g_.switches; w++) {
      if (reached(w) || tree_[w] == kNone) continue;
      stuck = true;
      for (u32 s = w; s != t && !fixed_[s]; s = g_.to[tree_[s]]) fixed_[s] = 1;
    }
    if (!stuck) return;
    give_back();
    if (round == kRounds) std::fill(fixed_.begin(), fixed_.end(), 1);
  }
}

void Layer::give_back() {
  for (u32 s = 0; s < g_.switches; s++)
    if (s != t_ && reached(s)) leave(next[s]);
}

void Layer::search(const std::vector<double>& cost) {
  std::fill(next.begin(), next.end(), kNone);
  std::fill(distance_.begin(), distance_.end(), -1.0);
  std::fill(best_.begin(), best_.end(), std::numeric_limits<double>::infinity());
  searches_++;
  worked(g_.channels);
  settle(t_, kNone, 0, cost);
  std::vector<u32> chain;
  for (u32 s = 0; s < g_.switches; s++) {  // who goes along the tree, the nearest to the destination first
    for (u32 v = s; fixed_[v] && tree_[v] != kNone && !reached(v); v = g_.to[tree_[v]]) chain.push_back(v);
    for (; !chain.empty(); chain.pop_back()) {
      const u32 v = chain.back(), c = tree_[v];
      take(c);
      settle(v, c, distance_[g_.to[c]] + cost[c], cost);
    }
  }
  drain(cost);
  for (bool changed = true; changed;) {
    changed = false;
    for (u32 w = 0; w < g_.switches; w++)
      if (!reached(w) && tree_[w] != kNone && make_way(w, cost)) {
        changed = true;
        drain(cost);
      }
  }
}

// Dijkstra's algorithm from the destination on; a channel whose dependency would close a circle is passed over.
void Layer::drain(const std::vector<double>& cost) {
  while (!queue_.empty()) {
    const auto [distance, c] = queue_.top();
    queue_.pop();
    const u32 w = g_.from[c];
    if (reached(w) || tried_[c] == searches_) continue;
    if (take(c)) {
      settle(w, c, distance, cost);
    } else {
      tried_[c] = searches_;
      other_way(w, cost);
    }
  }
}

// Switch s goes on by a channel from now on; who leads to s is to be looked at.
void Layer::settle(u32 s, u32 by, double distance, const std::vector<double>& cost) {
  next[s] = by;
  distance_[s] = distance;
  for (u32 k = g_.first[s]; k < g_.first[s + 1]; k++) {
    const u32 w = g_.to[k], c = g_.reverse[k];
    if (reached(w) || distance + cost[c] >= best_[w]) continue;
    best_[w] = distance + cost[c];
    queue_.push({best_[w], c});
  }
}

// The next best channel that switch w could begin with.
void Layer::other_way(u32 w, const std::vector<double>& cost) {
  u32 best = kNone;
  best_[w] = std::numeric_limits<double>::infinity();
  for (u32 c = g_.first[w]; c < g_.first[w + 1]; c++) {
    const u32 v = g_.to[c];
    if (!reached(v) || tried_[c] == searches_ || distance_[v] + cost[c] >= best_[w]) continue;
    best_[w] = distance_[v] + cost[c];
    best = c;
  }
  if (best != kNone) queue_.push({best_[w], best});
}

// No channel of w is free: let a neighbour go on by another one.
bool Layer::make_way(u32 w, const std::vector<double>& cost) {
  for (u32 c = g_.first[w]; c < g_.first[w + 1]; c++) {
    const u32 v = g_.to[c];
    if (v == t_ || !reached(v) || fixed_[v]) continue;
    for (u32 by = g_.first[v]; by < g_.first[v + 1]; by++) {
      if (by == next[v] || g_.to[by] == w || !reached(g_.to[by])) continue;
      u32 s = g_.to[by];
      while (s != t_ && s != v) s = g_.to[next[s]];
      if (s == v || !redirect(v, by, c)) continue;
      distance_[v] = distance_[g_.to[by]] + cost[by];
      settle(w, c, distance_[v] + cost[c], cost);
      return true;
    }
  }
  return false;
}

// Switch v goes on by `by`, and `entering` leads to it as well. False: that would close a circle.
bool Layer::redirect(u32 v, u32 by, u32 entering) {
  const u32 old = next[v];
  std::vector<u32> into, taken;
  each_child(v, [&](u32 c) { into.push_back(c); });
  for (const u32 c : into) dependencies_.remove(c, old);
  leave(old);
  into.push_back(entering);
  bool free = take(by);
  if (free) {
    for (const u32 c : into) {
      free = join(c, by);
      if (!free) break;
      taken.push_back(c);
    }
    if (free) {
      next[v] = by;
      return true;
    }
    leave(by);
  }
  for (const u32 c : taken) dependencies_.remove(c, by);
  into.pop_back();
  take(old);
  for (const u32 c : into) dependencies_.add(c, old);
  return false;
}

// Shares of the destinations' switches, alike in terminals: neighbours together, so that routes in a layer have much in
// common.
std::vector<std::vector<u32>> shares(const ChannelGraph& g, u32 layers) {
  std::vector<std::vector<u32>> all(layers);
  std::vector<u32> hops, order;
  std::vector<u8> in(g.switches, 0);
  for (u32 start = 0; start < g.switches; start++) {
    if (in[start]) continue;
    hops_to(g, start, hops);
    u32 far = start;  // from the edge of the network on
    for (u32 s = 0; s < g.switches; s++)
      if (hops[s] != kNone && hops[s] > hops[far]) far = s;
    std::size_t head = order.size();
    order.push_back(far);
    in[far] = 1;
    for (; head < order.size(); head++)
      for (u32 c = g.first[order[head]]; c < g.first[order[head] + 1]; c++)
        if (!in[g.to[c]]) {
          in[g.to[c]] = 1;
          order.push_back(g.to[c]);
        }
  }
  u64 before = 0;
  for (const u32 s : order) {
    if (g.terminals_at(s)) all[before * layers / g.terminals].push_back(s);
    before += g.terminals_at(s);
  }
  return all;
}

// The destinations of a layer: all of one switch after the other, or one of each switch in turn.
std::vector<u32> order_of(const ChannelGraph& g, const std::vector<u32>& switches, bool in_turn) {
  std::vector<u32> order;
  u32 most = 0;
  for (const u32 s : switches) most = std::max(most, g.terminals_at(s));
  for (u32 round = 0; round < (in_turn ? most : 1); round++)
    for (const u32 s : switches)
      for (u32 i = g.first_terminal[s]; i < g.first_terminal[s + 1]; i++)
        if (!in_turn || i - g.first_terminal[s] == round) order.push_back(g.terminal_of[i]);
  return order;
}

// What makes a demand's entries 1 in the mean over all pairs.
double demand_scale(const ChannelGraph& g, const Demand& demand) {
  double total = 0;
  for (const double weight : demand.weight) total += weight;
  return total > 0 ? static_cast<double>(g.terminals) * g.terminals / total : 1;
}

struct Attempt {
  ForwardingTable table;
  double highest = 0, squares = 0;  // of the channels' loads
  bool operator<(const Attempt& other) const {
    return std::pair(highest, squares) < std::pair(other.highest, other.squares);
  }
};

Attempt empty_attempt(const ChannelGraph& g, u32 layers) {
  Attempt made{empty_table(g, "nue")};
  made.table.layers = layers;
  if (layers > 1) {
    made.table.layer_by = LayerBy::kDestination;
    made.table.layer.assign(g.terminals, 0);
  }
  return made;
}

// Fills the table: every next hop anew.
void fill(const ChannelGraph& g, const Demand& demand, const std::vector<std::vector<u32>>& all, Layer& layer,
          bool in_turn, u32 rank, Attempt& made) {
  // More than any load, so that the shortest free route is taken, and of those the least loaded.
  const double hop = 4.0 * g.terminals * g.terminals, scale = demand_scale(g, demand);
  ForwardingTable& table = made.table;
  std::vector<double> load(g.channels, 0), cost(g.channels, hop), flow;
  Tree tree(g);
  for (u32 k = 0; k < table.layers; k++) {
    if (all[k].empty()) continue;
    layer.begin(all[k], rank);
    for (const u32 t : order_of(g, all[k], in_turn)) {
      const u32 s = g.terminal_switch[t];
      layer.route(s, cost);
      for (u32 v = 0; v < g.switches; v++)
        if (v != s && layer.next[v] != kNone) table.at(v, t) = g.port[layer.next[v]];
      if (table.layers > 1) table.layer[t] = static_cast<u8>(k);
      demand_towards(g, demand, t, flow);
      tree.follow(table, t);
      for (const u32 v : tree.order) {
        const u32 c = tree.next[v];
        if (c == kNone) continue;
        cost[c] += flow[v] * scale;
        load[c] += flow[v];
        flow[g.to[c]] += flow[v];
      }
    }
  }
  made.highest = made.squares = 0;
  for (const double x : load) {
    made.highest = std::max(made.highest, x);
    made.squares += x * x;
  }
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  const u32 layers = std::max(1u, params.count("layers"));
  const auto all = shares(g, layers);
  const DependencyIndex index(g);
  Layer layer(g, index);
  // Both orders for each of some trees, from that of the most central root to that of the least.
  const u32 tries = params.count("tries"), trees = (tries + 1) / 2;
  Attempt best = empty_attempt(g, layers);
  fill(g, demand, all, layer, false, 0, best);
  if (tries == 1) return std::move(best.table);
  Attempt other = empty_attempt(g, layers);
  for (u32 k = 1; k < tries; k++) {
    fill(g, demand, all, layer, k % 2, static_cast<u32>(u64{k / 2} * g.switches / trees), other);
    if (other < best) std::swap(best, other);
  }
  return std::move(best.table);
}

const Register<EngineSpec> entry([] {
  EngineSpec spec{
      .name = "nue",
      .summary = "shortest free routes inside the channel dependency graph, with any number of layers",
      .params = {layers_param(),
                 integer("tries", 8, 1, 10000, "",
                         "tables made, of which the one with the least edge forwarding index is taken")},
      .make = make,
  };
  spec.balances = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::tables::engines::nue
