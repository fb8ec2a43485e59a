#include "tables/up_down.hpp"

#include <ranges>

#include "simcore/graph.hpp"
#include "simcore/tables/spread.hpp"
#include "simcore/text.hpp"
#include "simcore/topology/fat_tree.hpp"
#include "tables/quality.hpp"

namespace flitgym::tables {

namespace {

// The roots that the user gave; empty if there are none. Throws ConfigError, which names `engine`, if a switch does not
// exist.
std::vector<u32> given_roots(const std::string& engine, const Params& params, const ChannelGraph& g) {
  std::vector<u32> roots = params.counts("roots");
  for (const u32 root : roots)
    if (root >= g.switches)
      throw ConfigError("engine ", engine, ", roots: there is no switch ", root, "; they are 0 to ", g.switches - 1);
  const std::string& names = params.text("root_names");
  if (!names.empty() && !roots.empty())
    throw ConfigError("engine ", engine, ", root_names: roots are given as well; set only one of the two");
  if (names.empty()) return roots;
  std::vector<std::string> valid;
  for (u32 s = 0; s < g.switches; s++) valid.push_back(g.switch_name(s));
  for (const auto part : std::views::split(names, ',')) {
    const std::string name(text::trimmed(std::string_view(part.begin(), part.end())));
    const auto found = std::find(valid.begin(), valid.end(), name);
    if (found == valid.end())
      throw ConfigError("engine ", engine, ", root_names: there is no switch '", name, "'", did_you_mean(name, valid),
                        "; expected names of switches, separated by commas");
    roots.push_back(static_cast<u32>(found - valid.begin()));
  }
  return roots;
}

class UpDown {
 public:
  UpDown(const ChannelGraph& g, const std::vector<u32>& rank) : g_(g), order_(g.switches), place_(g.switches) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(), [&](u32 a, u32 b) { return rank[a] < rank[b]; });
    for (u32 k = 0; k < g.switches; k++) place_[order_[k]] = k;
  }
  // Finds the candidates towards switch `to`. Returns the first switch with terminals that has no legal path; kNone:
  // all have one.
  u32 towards(u32 to, Candidates& candidates) {
    worked(3 * u64{g_.channels});
    down_ = hops_from(g_.switches, {to}, [&](u32 s, const auto& visit) {
      for (u32 c = g_.first[s]; c < g_.first[s + 1]; c++)
        if (up(c)) visit(g_.to[c]);
    });
    way_ = down_;
    for (const u32 s : order_) {
      if (way_[s] != kNone) continue;
      for (u32 c = g_.first[s]; c < g_.first[s + 1]; c++)
        if (up(c) && way_[g_.to[c]] != kNone) way_[s] = std::min(way_[s], way_[g_.to[c]] + 1);
    }
    u32 unreached = kNone;
    candidates.begin();
    for (u32 s = 0; s < g_.switches; s++) {
      if (way_[s] == kNone && g_.terminals_at(s)) unreached = std::min(unreached, s);
      const bool goes_up = down_[s] == kNone;
      for (u32 c = g_.first[s]; s != to && way_[s] != kNone && c < g_.first[s + 1]; c++) {
        const u32 rest = goes_up ? way_[g_.to[c]] : down_[g_.to[c]];
        if (up(c) == goes_up && rest != kNone && rest + 1 == way_[s]) candidates.channel.push_back(c);
      }
      candidates.next_switch();
    }
    return unreached;
  }

 private:
  bool up(u32 c) const { return place_[g_.to[c]] < place_[g_.from[c]]; }

  const ChannelGraph& g_;
  std::vector<u32> order_, place_;  // switches from the top down; position of each switch
  std::vector<u32> down_, way_;     // [switches] hops of the path down; hops of the path taken (kNone: none)
};

}  // namespace

std::vector<ParamSpec> root_params() {
  return {
      integer_list("roots", {}, 0, 1 << 24, "",
                   "numbers of the switches at the top level; empty = use root_names or let the engine find them"),
      choice("root_names", "", {}, "names of the switches at the top level, separated by commas"),
  };
}

std::vector<u32> heights(const ChannelGraph& g) {
  std::vector<u32> with_terminals;
  for (u32 s = 0; s < g.switches; s++)
    if (g.terminals_at(s)) with_terminals.push_back(s);
  return hops_to(g, with_terminals);
}

u32 farthest(const std::vector<u32>& hops) {
  u32 most = 0;
  for (const u32 h : hops)
    if (h != kNone) most = std::max(most, h);
  return most;
}

std::optional<Levels> find_levels(const std::string& engine, const Params& params, const ChannelGraph& g) {
  if (const auto roots = given_roots(engine, params, g); !roots.empty()) return Levels{true, hops_to(g, roots)};
  Levels levels;
  if (const auto* tree = dynamic_cast<const FatTree*>(g.topology.get())) {
    for (u32 s = 0; s < g.switches; s++) levels.rank.push_back(tree->levels - tree->level[s]);
    return levels;
  }
  levels.rank = heights(g);
  const u32 top = farthest(levels.rank);
  if (top == 0) return {};
  for (u32 c = 0; c < g.channels; c++) {
    const u32 a = levels.rank[g.from[c]], b = levels.rank[g.to[c]];
    if (a != kNone && a + 1 != b && b + 1 != a) return {};
  }
  for (u32& rank : levels.rank) rank = rank == kNone ? kNone : top - rank;
  return levels;
}

bool up_down_table(const ChannelGraph& g, const std::vector<u32>& rank, ForwardingTable& table, u32& from, u32& to) {
  UpDown routes(g, rank);
  std::vector<u32> used(g.channels, 0);
  Candidates candidates;
  for (const u32 s : destination_switches(g)) {
    from = routes.towards(s, candidates), to = s;
    if (from != kNone) return false;
    spread(g, s, candidates, used, table);
  }
  return true;
}

std::vector<u32> likely_roots(const ChannelGraph& g, const std::vector<u8>& candidate) {
  std::vector<u64> far(g.switches, 0);  // sum of hops to all terminals; kNone hops for a terminal that is not connected
  for (u32 to = 0; to < g.switches; to++) {
    if (g.terminals_at(to) == 0) continue;
    const std::vector<u32> hops = hops_to(g, to);
    for (u32 s = 0; s < g.switches; s++) far[s] += u64{hops[s]} * g.terminals_at(to);
  }
  const auto channels = [&](u32 s) { return g.first[s + 1] - g.first[s]; };
  u32 first = kNone, centre = kNone, farthest = kNone;
  for (u32 s = 0; s < g.switches; s++) {
    if (!candidate[s]) continue;
    if (first == kNone) first = s;
    if (centre == kNone || far[s] < far[centre] || (far[s] == far[centre] && channels(s) > channels(centre)))
      centre = s;
  }
  const std::vector<u32> hops = hops_to(g, centre);
  for (u32 s = 0; s < g.switches; s++)
    if (candidate[s] && hops[s] != kNone && (farthest == kNone || hops[s] > hops[farthest])) farthest = s;
  std::vector<u32> roots{centre};
  if (farthest != centre) roots.push_back(farthest);
  if (first != centre && first != farthest) roots.push_back(first);
  return roots;
}

u32 best_up_down_table(const ChannelGraph& g, const std::vector<std::vector<u32>>& ranks, ForwardingTable& table) {
  std::pair<double, double> least;  // highest load, sum of all loads
  u32 best = kNone;
  for (u32 k = 0; k < ranks.size(); k++) {
    ForwardingTable next = empty_table(g, table.engine);
    u32 from = 0, to = 0;
    if (!up_down_table(g, ranks[k], next, from, to)) continue;
    const std::vector<double> load = loads(g, next, {}).channel;
    const std::pair found{greatest(load), std::accumulate(load.begin(), load.end(), 0.0)};
    if (best != kNone && found >= least) continue;
    least = found, best = k;
    table = std::move(next);
  }
  return best;
}

}  // namespace flitgym::tables
