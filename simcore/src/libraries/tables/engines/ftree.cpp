// Fat-tree routing (OpenSM, doc/current-routing.txt; Zahavi, Johnson, Kerbyson and Lang, "Optimized InfiniBand fat-tree
// routing for shift all-to-all communication patterns", CCPE 22(2), 2010). Destinations are handled one at a time, leaf
// by leaf, in the order of an index under which neighbours in the tree share digits. Each destination takes the least
// used path down from the top, and all other switches lead to this path. If the tree is complete and each switch has as
// many up channels as terminals below it, a shift of the terminals in this order has no contention.
//
// The index of a switch is (rank, x_1 .. x_leaf), assigned breadth first from the first leaf. A neighbour inherits all
// digits of its parent except the digit that the channel between their levels may change. That digit gets the lowest
// free value. Ties between switches, and between channels to switches, are broken by index. A leaf with fewer terminals
// than the others is treated as if it had the same number.
//
// Routes go up and then down between neighbouring levels, so the tables are free of deadlock (tables/up_down.hpp).
// Channels within a level are not used. If channels are missing, routes take another path that goes up and then down.
#include "simcore/tables/engine.hpp"
#include "tables/up_down.hpp"

namespace flitgym::tables::engines::ftree {

// The channels from a switch to one neighbour.
struct Group {
  u32 neighbour, first, count;  // first, count: range in FatTreeTables::channels_
  u32 used = 0;
};

class FatTreeTables {
 public:
  FatTreeTables(const ChannelGraph& g, std::vector<u32> rank, u32 leaf_rank, ForwardingTable& table)
      : g_(g), rank_(std::move(rank)), leaf_rank_(leaf_rank), table_(table), ups_(g.switches), downs_(g.switches),
        changed_(g.switches, 0), count_(g.channels, 0) {
    for (u32 s = 0; s < g.switches; s++) group_channels(s);
    index_switches();
  }

  void route_all() {
    std::vector<u32> leaves;
    for (u32 s = 0; s < g_.switches; s++)
      if (rank_[s] == leaf_rank_) leaves.push_back(s);
    std::sort(leaves.begin(), leaves.end(), [&](u32 a, u32 b) { return index_[a] < index_[b]; });
    const auto empty = [&](u32 s) { return g_.terminals_at(s) == 0; };
    leaves.erase(leaves.begin(), std::find_if_not(leaves.begin(), leaves.end(), empty));
    while (empty(leaves.back())) leaves.pop_back();
    u32 most = 0;
    for (const u32 leaf : leaves) most = std::max(most, g_.terminals_at(leaf));
    for (const u32 leaf : leaves)
      for (u32 k = 0; k < most; k++)
        route(leaf, k < g_.terminals_at(leaf) ? g_.terminal_of[g_.first_terminal[leaf] + k] : kNone);
  }

 private:
  void group_channels(u32 s) {
    for (u32 c = g_.first[s]; c < g_.first[s + 1]; c++) {
      const u32 to = g_.to[c];
      if (rank_[to] == rank_[s] || rank_[s] == kNone) continue;
      std::vector<Group>& groups = rank_[to] < rank_[s] ? ups_[s] : downs_[s];
      auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.neighbour == to; });
      if (at == groups.end()) at = groups.insert(at, {to, c, 0});
      at->count++;
    }
    // The channels of a group are adjacent, ordered by port.
    for (auto* groups : {&ups_[s], &downs_[s]})
      for (Group& group : *groups) {
        group.first = static_cast<u32>(channels_.size());
        for (u32 c = g_.first[s]; c < g_.first[s + 1]; c++)
          if (g_.to[c] == group.neighbour) channels_.push_back(c);
      }
  }

  using Index = std::vector<u16>;
  void index_switches() {
    std::vector<Index> index(g_.switches);
    std::map<Index, u32> taken;
    std::vector<u32> queue;
    const auto give = [&](u32 s, Index own) {
      taken[own] = s;
      index[s] = std::move(own);
      queue.push_back(s);
    };
    u32 start = 0;
    while (g_.terminals_at(start) == 0) start++;
    Index zero(leaf_rank_ + 1u, 0);
    zero[0] = static_cast<u16>(leaf_rank_);
    give(start, zero);
    for (std::size_t head = 0; head < queue.size(); head++) {
      const u32 s = queue[head];
      const auto neighbours = [&](const std::vector<Group>& groups, bool down) {
        for (const Group& group : groups) {
          if (!index[group.neighbour].empty()) continue;
          Index own = index[s];
          const u32 changes = own[0] + (down ? 1u : 0u);
          own[0] = static_cast<u16>(own[0] + (down ? 1 : -1));
          for (own[changes] = 0; taken.count(own); own[changes]++) worked();
          give(group.neighbour, own);
        }
      };
      if (rank_[s] < leaf_rank_) neighbours(downs_[s], true);
      neighbours(ups_[s], false);
    }
    // Order of the indices. Switches that were not reached come last, by number.
    std::vector<u32> order(g_.switches);
    for (u32 s = 0; s < g_.switches; s++) order[s] = s;
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
      return index[a].empty() || index[b].empty() ? !index[a].empty() && index[b].empty() : index[a] < index[b];
    });
    index_.resize(g_.switches);
    for (u32 k = 0; k < g_.switches; k++) index_[order[k]] = k;
    for (u32 s = 0; s < g_.switches; s++) sort(ups_[s]), sort(downs_[s]);
  }

  // Insertion sort, because each group is used once per turn and the groups are nearly in order.
  void sort(std::vector<Group>& groups) {
    worked(groups.size());
    const auto before = [&](const Group& a, const Group& b) {
      return a.used != b.used ? a.used < b.used : index_[a.neighbour] < index_[b.neighbour];
    };
    for (std::size_t k = 1; k < groups.size(); k++)
      for (std::size_t at = k; at > 0 && before(groups[at], groups[at - 1]); at--)
        std::swap(groups[at], groups[at - 1]);
  }
  u32 least_used(const Group& group) const {
    u32 best = channels_[group.first];
    for (u32 k = 1; k < group.count; k++)
      if (const u32 c = channels_[group.first + k]; count_[c] < count_[best]) best = c;
    return best;
  }

  // Computes the routes to a terminal of the leaf. For a missing terminal (kNone), the path counts as used, but the
  // table gets no entries.
  void route(u32 leaf, u32 terminal) {
    terminal_ = terminal;
    hops_.assign(g_.switches, kNone);
    worked(g_.switches);
    hops_[leaf] = 0;
    go_up(leaf, kNone, true);
  }
  // Returns whether the path of the neighbour becomes shorter if it goes through s.
  bool nearer(u32 s, u32 neighbour) const { return hops_[s] + 1 < hops_[neighbour]; }
  void lead(u32 s, u32 c) {
    const u32 neighbour = g_.to[c];
    hops_[neighbour] = hops_[s] + 1;
    if (terminal_ != kNone) table_.at(neighbour, terminal_) = g_.port[g_.reverse[c]];
  }

  // Switch s already has its path to the destination. Sets the next hop of the switches below s to s, except for
  // `below`, the next hop of s. Returns true if the route of any terminal passes s.
  bool go_down(u32 s, u32 below) {
    bool any = g_.terminals_at(s) > 0;
    if (changed_[s]) sort(downs_[s]);
    changed_[s] = 0;
    for (Group& group : downs_[s]) {
      worked(1 + group.count);
      if (group.neighbour == below || !nearer(s, group.neighbour)) continue;
      const u32 c = least_used(group);
      lead(s, c);
      if (!go_down(group.neighbour, kNone)) continue;
      count_[c]++, group.used++;
      changed_[s] = 1;
      any = true;
    }
    return any;
  }
  // Sets the next hop of the switches above s to s. Only the main path from the top counts as use of its channels.
  void go_up(u32 s, u32 below, bool main) {
    go_down(s, below);
    if (ups_[s].empty()) return;
    sort(ups_[s]);
    for (std::size_t k = 0; k < ups_[s].size(); k++) {
      Group& group = ups_[s][k];
      const bool counts = main && k == 0;
      if (!counts && !nearer(s, group.neighbour)) continue;
      const u32 c = least_used(group);
      if (counts) count_[c]++, group.used++;
      if (nearer(s, group.neighbour)) lead(s, c);
      go_up(group.neighbour, s, counts);
    }
  }

  const ChannelGraph& g_;
  const std::vector<u32> rank_;
  const u32 leaf_rank_;
  ForwardingTable& table_;
  std::vector<std::vector<Group>> ups_, downs_;  // [switches]
  std::vector<u32> channels_;                    // [all groups] channels, adjacent per group
  std::vector<u32> index_;                       // [switches] position in the order of indices
  std::vector<u8> changed_;                      // [switches] the groups of down channels were used since the last sort
  // [channels] Routes on the reverse direction of the cable: for an up channel the routes that come down, and vice
  // versa.
  std::vector<u32> count_;
  u32 terminal_ = kNone;
  std::vector<u32> hops_;  // [switches] to the leaf of the present terminal
};

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand&) {
  const std::optional<Levels> levels = find_levels("ftree", params, g);
  if (!levels)
    throw ConfigError("engine ftree: topology '", g.topology_name,
                      "' has no levels: some channel joins switches whose distances to the nearest terminal do not "
                      "differ by one; set roots to the switches of the top level, or take engine up_down");
  u32 leaf = kNone, other = kNone;
  for (u32 s = 0; s < g.switches; s++) {
    if (g.terminals_at(s) == 0) continue;
    if (leaf == kNone) leaf = s;
    else if (levels->rank[s] != levels->rank[leaf]) other = s;
  }
  if (other != kNone)
    throw ConfigError("engine ftree: terminals are attached at different levels: to switch ", g.switch_name(leaf), ", ",
                      levels->rank[leaf], " below the top, and to switch ", g.switch_name(other), ", ",
                      levels->rank[other], " below it; take engine up_down");
  ForwardingTable table = empty_table(g, "ftree");
  FatTreeTables(g, levels->rank, levels->rank[leaf], table).route_all();
  for (u32 s = 0; s < g.switches; s++)
    for (u32 t = 0; g.terminals_at(s) && t < g.terminals; t++)
      if (table.at(s, t) == kNoPort)
        throw ConfigError("engine ftree: no path goes up and then down from switch ", g.switch_name(s), " to terminal ",
                          g.terminal_name(t), "; take engine up_down");
  return table;
}

const Register<EngineSpec> entry({
    .name = "ftree",
    .summary = "fat trees: up, then down; shifts of the terminals have no contention",
    .params = root_params(),
    .make = make,
});

}  // namespace flitgym::tables::engines::ftree
