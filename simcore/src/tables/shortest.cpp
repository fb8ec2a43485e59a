#include "tables/shortest.hpp"

#include <algorithm>

#include "simcore/limits.hpp"

namespace flitgym::tables {

void ShortestWays::towards(const ChannelGraph& g, u32 destination) {
  worked(g.channels);
  place.assign(g.switches, kNone);
  order.assign(1, destination);
  place[destination] = 0;
  first.assign(2, 0);
  step.clear();
  // Level by level: whoever stands in `order` before `level` is nearer to the destination than those from there on.
  std::size_t level = 1;
  for (std::size_t head = 0; head < order.size();) {
    for (; head < level; head++)
      for (u32 c = g.first[order[head]]; c < g.first[order[head] + 1]; c++)  // every cable goes both ways
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

std::vector<ParamSpec> balance_params() {
  return {
      choice("update", "source", {"source", "pair"},
             "when weights grow: after all sources of a destination (P-SSSP), or after every pair (P^2-SSSP: slower; "
             "more even where there is no symmetry)"),
      choice("order", "best", {"best", "by_switch", "in_turn"},
             "of destinations: all of a switch, those of most terminals first; or of every switch the first, then the "
             "second, ...; best = whichever gives the least edge forwarding index, under a demand with and without it"),
  };
}

namespace {

enum class Update : u8 { kSource, kPair };

// The terminals in the order in which their routes are made: those that receive most first, where all are alike those
// at the switches of most terminals; of equal ones switch by switch, or of every switch the first, then of every switch
// the second, and so on.
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
      : g_(g), demand_(demand), table_(table), load_(g.channels, 0), felt_(g.channels, 0), cost_(g.switches),
        passing_(g.switches), taken_(g.switches), seen_(g.switches) {}

  // `alike`: as if there were no demand.
  void make(Update update, const std::vector<u32>& destinations, bool alike) {
    std::fill(load_.begin(), load_.end(), 0);
    std::fill(felt_.begin(), felt_.end(), 0);
    u32 at = kNone;
    for (const u32 t : destinations) {
      const u32 s = g_.terminal_switch[t];
      if (s != at) ways_.towards(g_, s);
      at = s;
      demand_towards(g_, alike ? Demand{} : demand_, t, weight_);
      worked(ways_.step.size() + g_.switches);
      if (update == Update::kSource) all_sources(t);
      else pair_by_pair(t);
      if (alike && !demand_.empty()) feel(t);
    }
    if (!alike || demand_.empty()) felt_ = load_;
  }
  // How uneven the loads under the demand are: the greatest first, then the sum of their squares.
  std::pair<double, double> unevenness() const {
    double most = 0, squares = 0;
    for (const double load : felt_) most = std::max(most, load), squares += load * load;
    return {most, squares};
  }

 private:
  // One tree for all sources. Hops come first: a level's costs are final before the next one's begin, so no queue is
  // needed.
  void all_sources(u32 t) {
    const u32 reached = static_cast<u32>(ways_.order.size());
    cost_[0] = 0;
    for (u32 k = 1; k < reached; k++) {
      taken_[k] = best_step(k);
      cost_[k] = cost_[taken_[k].place] + load_[taken_[k].channel];
      passing_[k] = weight_[ways_.order[k]];
      table_.at(ways_.order[k], t) = g_.port[taken_[k].channel];
    }
    send(load_);
  }
  // What goes on from each place passes all channels from there on.
  void send(std::vector<double>& load) {
    for (u32 k = static_cast<u32>(ways_.order.size()); k-- > 1;) {
      load[taken_[k].channel] += passing_[k];
      passing_[taken_[k].place] += passing_[k];
    }
  }
  void feel(u32 t) {
    demand_towards(g_, demand_, t, weight_);
    for (u32 k = 1; k < ways_.order.size(); k++) passing_[k] = weight_[ways_.order[k]];
    send(felt_);
  }
  void pair_by_pair(u32 t);
  void add_pair(u32 source, double weight);
  // The step of least cost, of equal ones that of the lowest port.
  ShortestWays::Step best_step(u32 k) const {
    ShortestWays::Step best{kNone, 0};
    double least = 0;
    for (u32 i = ways_.first[k]; i < ways_.first[k + 1]; i++) {
      const ShortestWays::Step& step = ways_.step[i];
      const double cost = cost_[step.place] + load_[step.channel];
      if (best.channel == kNone || cost < least) best = step, least = cost;
    }
    return best;
  }

  const ChannelGraph& g_;
  const Demand& demand_;
  ForwardingTable& table_;
  ShortestWays ways_;
  std::vector<double> load_;               // [channels] of the routes made so far, which the next ones avoid
  std::vector<double> felt_;               // [channels] under the demand
  std::vector<double> weight_;             // [switches] what each sends to the destination
  std::vector<double> cost_, passing_;     // [places] loads on the way; what goes on from there
  std::vector<ShortestWays::Step> taken_;  // [places]
  std::vector<u32> open_;                  // places that one pair looks at
  std::vector<u32> seen_;                  // [places] the source for which it was looked at last
};

// The nearest sources first. A switch that has its port for this destination keeps it, so a route is free only up to
// the first of those.
void Balance::pair_by_pair(u32 t) {
  const u32 reached = static_cast<u32>(ways_.order.size());
  taken_.assign(g_.switches, {kNone, 0});
  std::fill(seen_.begin(), seen_.end(), kNone);
  for (u32 k = 1; k < reached; k++)
    if (g_.terminals_at(ways_.order[k])) add_pair(k, weight_[ways_.order[k]]);
  // Where nobody passes: as good as the others.
  for (u32 k = 1; k < reached; k++) {
    if (taken_[k].channel == kNone) taken_[k] = best_step(k);
    cost_[k] = cost_[taken_[k].place] + load_[taken_[k].channel];
    table_.at(ways_.order[k], t) = g_.port[taken_[k].channel];
  }
}

void Balance::add_pair(u32 source, double weight) {
  // What can be on the way to a switch that has its port, and these switches' costs, which change with every pair.
  open_.assign(1, source);
  std::size_t looked = 0;
  for (std::size_t head = 0; head < open_.size(); head++) {
    const u32 k = open_[head];
    if (k == 0) {
      cost_[k] = 0;
    } else if (taken_[k].channel != kNone) {
      cost_[k] = 0;
      for (u32 at = k; at; at = taken_[at].place, looked++) cost_[k] += load_[taken_[at].channel];
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
    if (k == 0 || taken_[k].channel != kNone) continue;
    const ShortestWays::Step step = best_step(k);
    cost_[k] = cost_[step.place] + load_[step.channel];
  }
  for (u32 k = source; k; k = taken_[k].place) {
    if (taken_[k].channel == kNone) taken_[k] = best_step(k);
    load_[taken_[k].channel] += weight;
  }
}

}  // namespace

void balance_shortest(const Params& params, const ChannelGraph& g, const Demand& demand, ForwardingTable& table) {
  const Update update = params.text("update") == "pair" ? Update::kPair : Update::kSource;
  const std::string& order = params.text("order");
  // Destination by destination nobody knows what is to come: now and then the routes for no demand are better for this
  // one.
  std::vector<std::pair<std::vector<u32>, bool>> tries;
  for (const bool alike : {false, true}) {
    if (alike && (demand.empty() || order != "best")) continue;
    for (const bool in_turn : {false, true}) {
      if (order != "best" && in_turn != (order == "in_turn")) continue;
      std::pair<std::vector<u32>, bool> next{destinations_in_order(g, alike ? Demand{} : demand, in_turn), alike};
      if (std::find(tries.begin(), tries.end(), next) == tries.end()) tries.push_back(std::move(next));
    }
  }
  Balance balance(g, demand, table);
  std::size_t best = 0;
  std::pair<double, double> least;
  for (std::size_t k = 0; k < tries.size(); k++) {
    balance.make(update, tries[k].first, tries[k].second);
    if (k == 0 || balance.unevenness() < least) best = k, least = balance.unevenness();
  }
  if (best + 1 < tries.size()) balance.make(update, tries[best].first, tries[best].second);
}

}  // namespace flitgym::tables
