// Single-source shortest-path tables of the Angara interconnect (angara_graph.hpp), in two stages. The first stage adds
// the routes of all pairs with a single route to the loads of their channels. The second stage handles the other pairs
// in groups with equal numbers of turns and steps, the smallest numbers first. From each node it searches the cheapest
// routes to the targets of a group (level by level, without a heap). It takes those routes that do not share a channel,
// adds them to the loads, and searches again for the remaining targets. Every route is a shortest one.
#include "tables/angara_routes.hpp"

namespace flitgym::tables::engines::angara_sssp {

class Balance {
 public:
  Balance(const ChannelGraph& g, const AngaraGraph& rules, AngaraRoutes& routes)
      : g_(g), routes_(routes), paths_(g, rules), load_(g.channels, 0), used_(g.channels, 0) {}

  // Takes the routes of pairs with a single route, and groups the other pairs by turns and steps.
  void take_single() {
    for (u32 source = 0; source < g_.switches; source++) {
      if (g_.terminals_at(source) == 0) continue;
      paths_.from(source);
      find_cheapest([&](u32) { return 0.0; });
      const std::vector<double> counts = paths_.counts();
      const std::vector<u32> turns = paths_.turns();
      worked(paths_.arcs.size() * 3 + g_.switches);
      for (u32 to = 0; to < g_.switches; to++) {
        if (to == source || g_.terminals_at(to) == 0) continue;
        if (counts[to] > 1) groups_[{turns[to], paths_.hops[to]}].push_back({source, to});
        else take(source, paths_.ends[paths_.first_end[to]]);
      }
    }
  }
  void balance() {
    for (const auto& [key, pairs] : groups_)
      for (std::size_t k = 0; k < pairs.size();) {
        const u32 source = pairs[k].source;
        targets_.clear();
        for (; k < pairs.size() && pairs[k].source == source; k++) targets_.push_back(pairs[k].target);
        paths_.from(source);
        paths_.only(targets_);
        while (!targets_.empty()) take_disjoint(source);
      }
  }

 private:
  struct Pair {
    u32 source, target;
  };
  // Relaxes the arcs level by level. cost(channel) returns the cost of a step.
  template <class Cost>
  void find_cheapest(Cost&& cost) {
    best_.assign(paths_.node.size(), std::numeric_limits<double>::infinity());
    arc_.assign(paths_.node.size(), kNone);
    best_[0] = 0;
    for (u32 a = 0; a < paths_.arcs.size(); a++) {
      const AngaraPaths::Arc& step = paths_.arcs[a];
      const double all = best_[step.from] + cost(step.channel);
      if (all >= best_[step.to]) continue;
      best_[step.to] = all;
      arc_[step.to] = a;
    }
  }
  void take(u32 source, u32 end) {
    const double weight = routes_.weight(source, paths_.node[end]);
    routes_.set(g_, paths_, arc_, source, end, [&](u32 c) { load_[c] += weight; });
  }
  // Takes the targets whose cheapest routes share no channel with routes taken earlier in this round.
  void take_disjoint(u32 source) {
    find_cheapest([&](u32 c) { return load_[c]; });
    round_++;
    left_.clear();
    worked(paths_.arcs.size() + targets_.size());
    for (const u32 target : targets_) {
      u32 end = paths_.ends[paths_.first_end[target]];
      for (u32 k = paths_.first_end[target] + 1; k < paths_.first_end[target + 1]; k++)
        if (best_[paths_.ends[k]] < best_[end]) end = paths_.ends[k];
      bool shares = false;
      for (u32 v = end; arc_[v] != kNone && !shares; v = paths_.arcs[arc_[v]].from)
        shares = used_[paths_.arcs[arc_[v]].channel] == round_;
      if (shares) {
        left_.push_back(target);
        continue;
      }
      for (u32 v = end; arc_[v] != kNone; v = paths_.arcs[arc_[v]].from) used_[paths_.arcs[arc_[v]].channel] = round_;
      take(source, end);
    }
    targets_.swap(left_);
  }

  const ChannelGraph& g_;
  AngaraRoutes& routes_;
  AngaraPaths paths_;
  std::vector<double> best_;  // [vertices] cost of the cheapest route
  std::vector<u32> arc_;      // [vertices] its last arc
  std::vector<double> load_;  // [channels] load of the routes so far
  std::vector<u32> used_;     // [channels] last round that used the channel
  u32 round_ = 0;
  std::map<std::pair<u32, u32>, std::vector<Pair>> groups_;
  std::vector<u32> targets_, left_;
};

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand& demand) {
  const AngaraGraph rules = angara_graph("angara_sssp", g);
  AngaraRoutes routes("angara_sssp", g, rules, demand);
  Balance work(g, rules, routes);
  work.take_single();
  work.balance();
  return std::move(routes).table(g);
}

const Register<EngineSpec> entry({
    .name = "angara_sssp",
    .summary = "Angara: shortest source routes, each the least loaded so far",
    .topologies = {"torus", "mesh"},
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::angara_sssp
