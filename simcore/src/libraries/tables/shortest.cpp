#include "tables/shortest.hpp"

#include "tables/quality.hpp"

namespace flitgym::tables {

void ShortestWays::towards(const ChannelGraph& g, u32 destination) {
  worked(g.channels);
  place.assign(g.switches, kNone);
  order.assign(1, destination);
  place[destination] = 0;
  first.assign(2, 0);
  step.clear();
  // Level by level. Switches in `order` before `level` are nearer to the destination than all later ones.
  std::size_t level = 1;
  for (std::size_t head = 0; head < order.size();) {
    for (; head < level; head++)
      for (u32 c = g.first[order[head]]; c < g.first[order[head] + 1]; c++)  // every cable has both directions
        if (const u32 s = g.to[c]; place[s] == kNone) {
          place[s] = static_cast<u32>(order.size());
          order.push_back(s);
        }
    for (std::size_t k = level; k < order.size(); k++) {
      for (u32 c = g.first[order[k]]; c < g.first[order[k] + 1]; c++)
        if (place[g.to[c]] < level) step.push_back({c, place[g.to[c]]});
      first.push_back(static_cast<u32>(step.size()));
    }
    level = order.size();
  }
}

// The step of least cost from place k, given the costs of nearer places. Ties go to the lowest port.
static ShortestWays::Step best_step(const ShortestWays& ways, u32 k, const std::vector<double>& cost,
                                    const std::vector<double>& load) {
  ShortestWays::Step best{kNone, 0};
  double least = 0;
  for (u32 i = ways.first[k]; i < ways.first[k + 1]; i++) {
    const ShortestWays::Step& step = ways.step[i];
    const double all = cost[step.place] + load[step.channel];
    if (best.channel != kNone && all >= least) continue;
    best = step;
    least = all;
  }
  return best;
}

void LeastLoaded::choose(const ChannelGraph& g, const ShortestWays& ways, const std::vector<double>& load,
                         ForwardingTable& table, u32 d) {
  std::vector<double>& cost = sums_;
  cost.assign(ways.order.size(), 0);
  taken.resize(ways.order.size());
  worked(ways.step.size());
  for (u32 k = 1; k < ways.order.size(); k++) {
    taken[k] = best_step(ways, k, cost, load);
    cost[k] = cost[taken[k].place] + load[taken[k].channel];
    table.at(ways.order[k], d) = g.port[taken[k].channel];
  }
}

void LeastLoaded::send(const ShortestWays& ways, const std::vector<double>& traffic, std::vector<double>& load) {
  std::vector<double>& passing = sums_;
  passing.clear();
  for (const u32 s : ways.order) passing.push_back(traffic[s]);
  for (std::size_t k = ways.order.size(); k-- > 1;) {
    load[taken[k].channel] += passing[k];
    passing[taken[k].place] += passing[k];
  }
}

std::vector<ParamSpec> balance_params() {
  return {
      choice("update", "source", {"source", "pair"},
             "when weights grow: source = after all sources of a destination (P-SSSP), pair = after every pair "
             "(P^2-SSSP: slower, but more even on irregular networks)"),
      choice(
          "order", "best", {"best", "by_switch", "in_turn"},
          "order of the destinations: by_switch = all terminals of a switch, switches with most terminals first; "
          "in_turn = the first terminal of every switch, then the second of every switch, and so on; best = try both "
          "orders, with and without the demand, and keep the lowest edge forwarding index"),
  };
}

namespace {

// Terminals in the order in which their routes are made. Terminals that receive most come first. Under a uniform
// demand, terminals at the switches with most terminals come first. Ties are ordered switch by switch. With in_turn,
// the first terminal of every switch comes first, then the second of every switch, and so on.
std::vector<u32> destinations_in_order(const ChannelGraph& g, const Demand& demand, bool in_turn) {
  std::vector<double> weight(g.terminals);
  std::vector<u32> turn(g.terminals), order(g.terminal_of);
  for (u32 t = 0; t < g.terminals; t++) {
    if (demand.empty()) weight[t] = g.terminals_at(g.terminal_switch[t]);
    else
      for (u64 k = demand.first[t]; k < demand.first[t + 1]; k++)
        weight[t] += demand.source[k] == t ? 0 : demand.weight[k];
  }
  for (u32 k = 0; k < g.terminals; k++)
    turn[g.terminal_of[k]] = k - g.first_terminal[g.terminal_switch[g.terminal_of[k]]];
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return weight[a] > weight[b]; });
  if (in_turn) std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return turn[a] < turn[b]; });
  return order;
}

class Balance {
 public:
  Balance(const ChannelGraph& g, const Demand& demand, ForwardingTable& table)
      : g_(g), demand_(demand), table_(table), load_(g.channels, 0), demand_load_(g.channels, 0), cost_(g.switches),
        seen_(g.switches) {}

  // `uniform` balances as if the demand were uniform.
  void make(bool by_pair, const std::vector<u32>& destinations, bool uniform) {
    std::fill(load_.begin(), load_.end(), 0);
    std::fill(demand_load_.begin(), demand_load_.end(), 0);
    u32 at = kNone;
    for (const u32 t : destinations) {
      const u32 s = g_.terminal_switch[t];
      if (s != at) ways_.towards(g_, s);
      at = s;
      demand_towards(g_, uniform ? Demand{} : demand_, t, weight_);
      worked(ways_.step.size() + g_.switches);
      if (by_pair) {
        pair_by_pair(t);
      } else {
        routes_.choose(g_, ways_, load_, table_, t);
        routes_.send(ways_, weight_, load_);
      }
      if (!uniform || demand_.empty()) continue;
      demand_towards(g_, demand_, t, weight_);
      routes_.send(ways_, weight_, demand_load_);
    }
    if (!uniform || demand_.empty()) demand_load_ = load_;
  }
  std::pair<double, double> unevenness() const { return tables::unevenness(demand_load_); }  // under the demand

 private:
  // The nearest sources come first. Once a switch has a port for this destination, it keeps the port. So a route can be
  // chosen only up to the first such switch.
  void pair_by_pair(u32 t) {
    const u32 reached = static_cast<u32>(ways_.order.size());
    routes_.taken.assign(g_.switches, {kNone, 0});
    std::fill(seen_.begin(), seen_.end(), kNone);
    for (u32 k = 1; k < reached; k++)
      if (g_.terminals_at(ways_.order[k])) add_pair(k, weight_[ways_.order[k]]);
    // Switches that are not on a route get the cheapest step, too.
    for (u32 k = 1; k < reached; k++) {
      if (routes_.taken[k].channel == kNone) routes_.taken[k] = best_step(k);
      cost_[k] = cost_[routes_.taken[k].place] + load_[routes_.taken[k].channel];
      table_.at(ways_.order[k], t) = g_.port[routes_.taken[k].channel];
    }
  }
  void add_pair(u32 source, double weight) {
    // Collects the places that can be on the route, up to the first places that already have a port. Their costs change
    // with every pair, so the costs are computed again.
    open_.assign(1, source);
    std::size_t looked = 0;
    for (std::size_t head = 0; head < open_.size(); head++) {
      const u32 k = open_[head];
      if (k == 0) {
        cost_[k] = 0;
      } else if (routes_.taken[k].channel != kNone) {
        cost_[k] = 0;
        for (u32 at = k; at; at = routes_.taken[at].place, looked++) cost_[k] += load_[routes_.taken[at].channel];
      } else {
        for (u32 i = ways_.first[k]; i < ways_.first[k + 1]; i++)
          if (const u32 next = ways_.step[i].place; seen_[next] != source) {
            seen_[next] = source;
            open_.push_back(next);
          }
        looked += ways_.first[k + 1] - ways_.first[k];
      }
    }
    worked(looked);
    std::sort(open_.begin(), open_.end());
    for (const u32 k : open_) {
      if (k == 0 || routes_.taken[k].channel != kNone) continue;
      const ShortestWays::Step step = best_step(k);
      cost_[k] = cost_[step.place] + load_[step.channel];
    }
    for (u32 k = source; k; k = routes_.taken[k].place) {
      if (routes_.taken[k].channel == kNone) routes_.taken[k] = best_step(k);
      load_[routes_.taken[k].channel] += weight;
    }
  }
  ShortestWays::Step best_step(u32 k) const { return tables::best_step(ways_, k, cost_, load_); }

  const ChannelGraph& g_;
  const Demand& demand_;
  ForwardingTable& table_;
  ShortestWays ways_;
  std::vector<double> load_;         // [channels] of the routes made so far; the next routes avoid it
  std::vector<double> demand_load_;  // [channels] load under the demand
  std::vector<double> weight_;       // [switches] traffic of each switch to the destination
  std::vector<double> cost_;         // [places] sum of loads along the route
  LeastLoaded routes_;               // to one destination
  std::vector<u32> open_;            // places that one pair visits
  std::vector<u32> seen_;            // [places] source of the last visit
};

}  // namespace

void balance_shortest(const Params& params, const ChannelGraph& g, const Demand& demand, ForwardingTable& table) {
  const bool by_pair = params.text("update") == "pair";
  const std::string& order = params.text("order");
  // The balancing does not know the later destinations. So for some demands, routes that are balanced for a uniform
  // demand are better. Both are tried.
  std::vector<std::pair<std::vector<u32>, bool>> tries;
  for (const bool uniform : {false, true}) {
    if (uniform && (demand.empty() || order != "best")) continue;
    for (const bool in_turn : {false, true}) {
      if (order != "best" && in_turn != (order == "in_turn")) continue;
      std::pair<std::vector<u32>, bool> next{destinations_in_order(g, uniform ? Demand{} : demand, in_turn), uniform};
      if (std::find(tries.begin(), tries.end(), next) == tries.end()) tries.push_back(std::move(next));
    }
  }
  Balance balance(g, demand, table);
  std::size_t best = 0;
  std::pair<double, double> least;
  for (std::size_t k = 0; k < tries.size(); k++) {
    balance.make(by_pair, tries[k].first, tries[k].second);
    if (k > 0 && balance.unevenness() >= least) continue;
    best = k;
    least = balance.unevenness();
  }
  if (best + 1 < tries.size()) balance.make(by_pair, tries[best].first, tries[best].second);
}

}  // namespace flitgym::tables
