// Nue (Domke, Hoefler, Matsuoka, HPDC 2016). Routes are searched inside the channel dependency graph, so that no step
// closes a cycle, with any number of virtual layers. The destinations are distributed over the layers. In each layer
// the routes along one spanning tree are always possible. Switches that the search cannot reach without closing a cycle
// use the tree, so the engine never fails.
//
// Three points differ from the paper. A dependency counts from the moment that a route takes it, not when the search
// visits it. A failed search removes the dependencies that it added. If the search is stuck, the engine first changes
// the next hop of a neighbour. If that fails, the switches that were not reached, and the switches on their paths along
// the tree, use the tree. The search runs again for the others.
#include <functional>
#include <queue>

#include "simcore/registry.hpp"
#include "simcore/tables/engine.hpp"
#include "simcore/tables/walk.hpp"
#include "tables/layering.hpp"
#include "tables/quality.hpp"

namespace flitgym::tables::engines::nue {

// Betweenness (Brandes 2001) on the shortest routes from all switches to the given switches. Returns the switch with
// this rank, counted from the most central switch. It becomes the root of the tree.
u32 central_switch(const ChannelGraph& g, const std::vector<u32>& to, u32 rank) {
  std::vector<double> score(g.switches, 0), routes(g.switches), share(g.switches);
  std::vector<u32> order;
  for (const u32 t : to) {
    const std::vector<u32> hops = hops_to(g, t);
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

// The routes of one layer. The count of a dependency (c, d) is the number of destinations whose routes take c and then
// d, plus one if the tree takes it.
class Layer {
 public:
  Layer(const ChannelGraph& g, const DependencyIndex& index)
      : next(g.switches), g_(g), index_(index), dependencies_(index), distance_(g.switches), best_(g.switches),
        fixed_(g.switches), tried_(g.channels, 0) {
    g.claim(index.size(), "the refused dependencies");
  }
  // Removes all routes except those along a tree to these switches.
  void begin(const std::vector<u32>& switches, u32 rank) {
    dependencies_.clear();
    refused_.assign(index_.size(), 0);
    grow_tree(central_switch(g_, switches, rank));
    for (const u32 t : switches) {
      towards(t);
      worked(g_.switches);
      for (u32 s = 0; s < g_.switches; s++) {
        const u32 c = tree_[s], following = c == kNone ? kNone : tree_[g_.to[c]];
        // Turns within a tree close no cycle.
        if (following != kNone && !dependencies_.count(c, following)) dependencies_.add(c, following);
      }
    }
  }
  // Computes next[s] towards switch t by the cost of channels, for every switch connected to t.
  void route(u32 t, const std::vector<double>& cost) {
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
      release();
      if (round == kRounds) std::fill(fixed_.begin(), fixed_.end(), 1);
    }
  }
  std::vector<u32> next;  // [switches] channel; kNone at the destination and where no path exists

 private:
  using Candidate = std::pair<double, u32>;  // cost to the destination, first channel

  void grow_tree(u32 root) {
    up_.assign(g_.switches, kNone);
    component_.assign(g_.switches, kNone);
    std::vector<u32> order;                   // from the root down
    for (u32 k = 0; k <= g_.switches; k++) {  // covers each component of the network
      const u32 start = k == 0 ? root : k - 1;
      if (component_[start] != kNone) continue;
      component_[start] = k;
      std::size_t head = order.size();
      order.push_back(start);
      for (; head < order.size(); head++)
        for (u32 c = g_.first[order[head]]; c < g_.first[order[head] + 1]; c++)
          if (component_[g_.to[c]] == kNone) {
            component_[g_.to[c]] = k;
            up_[g_.to[c]] = g_.reverse[c];
            order.push_back(g_.to[c]);
          }
    }
  }
  // Next hops along the tree towards switch t.
  void towards(u32 t) {
    tree_ = up_;
    for (u32 s = 0; s < g_.switches; s++)  // switches without terminals may be disconnected
      if (component_[s] != component_[t]) tree_[s] = kNone;
    for (u32 s = t, from = kNone; s != kNone;) {
      const u32 c = up_[s];
      tree_[s] = from;
      from = c == kNone ? kNone : g_.reverse[c];
      s = c == kNone ? kNone : g_.to[c];
    }
  }
  void search(const std::vector<double>& cost) {
    std::fill(next.begin(), next.end(), kNone);
    std::fill(distance_.begin(), distance_.end(), -1.0);
    std::fill(best_.begin(), best_.end(), std::numeric_limits<double>::infinity());
    searches_++;
    worked(g_.channels);
    settle(t_, kNone, 0, cost);
    std::vector<u32> chain;
    for (u32 s = 0; s < g_.switches; s++) {  // switches that use the tree, the nearest to the destination first
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
        if (!reached(w) && tree_[w] != kNone && change_neighbour(w, cost)) {
          changed = true;
          drain(cost);
        }
    }
  }
  // Dijkstra's algorithm from the destination. It skips a channel whose dependency would close a cycle.
  void drain(const std::vector<double>& cost) {
    while (!queue_.empty()) {
      const auto [distance, c] = queue_.top();
      queue_.pop();
      const u32 w = g_.from[c];
      if (reached(w) || tried_[c] == searches_) continue;
      if (take(c)) {
        settle(w, c, distance, cost);
      } else {
        tried_[c] = searches_;
        queue_next_channel(w, cost);
      }
    }
  }
  // Sets the next hop of switch s and queues the channels that lead to s.
  void settle(u32 s, u32 by, double distance, const std::vector<double>& cost) {
    next[s] = by;
    distance_[s] = distance;
    for (u32 k = g_.first[s]; k < g_.first[s + 1]; k++) {
      const u32 w = g_.to[k], c = g_.reverse[k];
      if (reached(w) || distance + cost[c] >= best_[w]) continue;
      best_[w] = distance + cost[c];
      queue_.push({best_[w], c});
    }
  }
  void queue_next_channel(u32 w, const std::vector<double>& cost) {
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
  // All channels of w were refused. Changes the next hop of a neighbour so that w can use it.
  bool change_neighbour(u32 w, const std::vector<double>& cost) {
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
  // Changes the next hop of switch v to `by` and adds `entering`, which leads to v. Returns false if that would close a
  // cycle.
  bool redirect(u32 v, u32 by, u32 entering) {
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
  void release() {
    for (u32 s = 0; s < g_.switches; s++)
      if (s != t_ && reached(s)) leave(next[s]);
  }
  bool reached(u32 s) const { return distance_[s] >= 0; }
  // Takes channel c, then the next hop of the switch at its end.
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
  void each_child(u32 v, Visit&& visit) {  // channels of other switches that lead to v
    for (u32 k = g_.first[v]; k < g_.first[v + 1]; k++)
      if (reached(g_.to[k]) && next[g_.to[k]] == g_.reverse[k]) visit(g_.reverse[k]);
  }

  const ChannelGraph& g_;
  const DependencyIndex& index_;
  AcyclicLayer dependencies_;
  std::vector<u8> refused_;     // [dependencies] refused in the whole layer, even if a later removal would permit them
  u32 t_ = 0;                   // switch of the destination
  std::vector<u32> up_, tree_;  // [switches] channel to the parent in the tree; next hop in it to the destination
  std::vector<u32> component_;  // [switches] connected component
  // distance_: [switches] cost to the destination; below 0: not reached. best_: [switches] least cost in the queue.
  std::vector<double> distance_, best_;
  std::vector<u8> fixed_;   // [switches] uses the tree
  std::vector<u32> tried_;  // [channels] last search in which it was refused
  u32 searches_ = 0;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

// Divides the switches of the destinations into shares of equal numbers of terminals. Neighbours stay together, so that
// the routes of a layer have much in common.
std::vector<std::vector<u32>> shares(const ChannelGraph& g, u32 layers) {
  std::vector<std::vector<u32>> all(layers);
  std::vector<u32> order;
  std::vector<u8> in(g.switches, 0);
  for (u32 start = 0; start < g.switches; start++) {
    if (in[start]) continue;
    const std::vector<u32> hops = hops_to(g, start);
    u32 far = start;  // the first share starts at the edge of the network
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

// Returns the destinations of a layer switch by switch, or with in_turn round-robin over the switches.
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

// Factor that makes the mean demand over all pairs 1.
double demand_scale(const ChannelGraph& g, const Demand& demand) {
  double total = 0;
  for (const double weight : demand.weight) total += weight;
  return total > 0 ? static_cast<double>(g.terminals) * g.terminals / total : 1;
}

struct Attempt {
  ForwardingTable table;
  std::pair<double, double> unevenness = {};  // of the channel loads
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

// Computes every next hop of the table.
void fill(const ChannelGraph& g, const Demand& demand, const std::vector<std::vector<u32>>& all, Layer& layer,
          bool in_turn, u32 rank, Attempt& made) {
  // A hop costs more than any load. The search therefore takes the least loaded of the shortest routes that close no
  // cycle.
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
      tree.each([&](u32 v, u32 c) {
        cost[c] += flow[v] * scale;
        load[c] += flow[v];
        flow[g.to[c]] += flow[v];
      });
    }
  }
  made.unevenness = unevenness(load);
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  const u32 layers = std::max(1u, params.count("layers"));
  const auto all = shares(g, layers);
  const DependencyIndex index(g);
  Layer layer(g, index);
  // Tries both orders of destinations for each of several trees. Their roots are spread evenly over the ranking of the
  // switches by centrality, from the most central switch on.
  const u32 tries = params.count("tries"), trees = (tries + 1) / 2;
  Attempt best = empty_attempt(g, layers);
  fill(g, demand, all, layer, false, 0, best);
  if (tries == 1) return std::move(best.table);
  Attempt other = empty_attempt(g, layers);
  for (u32 k = 1; k < tries; k++) {
    fill(g, demand, all, layer, k % 2, static_cast<u32>(u64{k / 2} * g.switches / trees), other);
    if (other.unevenness < best.unevenness) std::swap(best, other);
  }
  return std::move(best.table);
}

const Register<EngineSpec> entry({
    .name = "nue",
    .summary = "shortest routes that keep the channel dependencies acyclic, in any number of layers",
    .params = {layers_param(), integer("tries", 8, 1, 10000, "",
                                       "number of tables made; the one with the lowest edge forwarding index is kept")},
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::nue
