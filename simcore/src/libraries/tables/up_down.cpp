#include "tables/up_down.hpp"

#include <algorithm>
#include <numeric>

#include "tables/levels.hpp"
#include "tables/quality.hpp"

namespace flitgym::tables {

UpDown::UpDown(const ChannelGraph& g, std::vector<u32> rank) : g_(g), order_(g.switches), place_(g.switches) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(), [&](u32 a, u32 b) { return rank[a] < rank[b]; });
  for (u32 k = 0; k < g.switches; k++) place_[order_[k]] = k;
}

bool UpDown::towards(u32 to, Candidates& candidates) {
  worked(3 * u64{g_.channels});
  down_.assign(g_.switches, kNone);
  down_[to] = 0;
  queue_.assign(1, to);
  for (std::size_t head = 0; head < queue_.size(); head++)
    for (u32 c = g_.first[queue_[head]]; c < g_.first[queue_[head] + 1]; c++)
      if (const u32 s = g_.to[c]; up(c) && down_[s] == kNone) {
        down_[s] = down_[queue_[head]] + 1;
        queue_.push_back(s);
      }
  way_ = down_;
  for (const u32 s : order_) {
    if (way_[s] != kNone) continue;
    for (u32 c = g_.first[s]; c < g_.first[s + 1]; c++)
      if (up(c) && way_[g_.to[c]] != kNone) way_[s] = std::min(way_[s], way_[g_.to[c]] + 1);
  }
  unreached_ = kNone;
  candidates.begin();
  for (u32 s = 0; s < g_.switches; s++) {
    if (way_[s] == kNone && g_.terminals_at(s)) unreached_ = std::min(unreached_, s);
    const bool goes_up = down_[s] == kNone;
    for (u32 c = g_.first[s]; s != to && way_[s] != kNone && c < g_.first[s + 1]; c++) {
      const u32 rest = goes_up ? way_[g_.to[c]] : down_[g_.to[c]];
      if (up(c) == goes_up && rest != kNone && rest + 1 == way_[s]) candidates.channel.push_back(c);
    }
    candidates.next_switch();
  }
  return unreached_ == kNone;
}

bool up_down_table(const ChannelGraph& g, const std::vector<u32>& rank, ForwardingTable& table, u32& from, u32& to) {
  UpDown routes(g, rank);
  std::vector<u32> used(g.channels, 0);
  Candidates candidates;
  for (const u32 s : destination_switches(g)) {
    if (!routes.towards(s, candidates)) {
      from = routes.unreached(), to = s;
      return false;
    }
    spread(g, s, candidates, used, table);
  }
  return true;
}

std::vector<u32> likely_roots(const ChannelGraph& g, const std::vector<u8>& candidate) {
  std::vector<u32> hops;
  std::vector<u64> far(g.switches, 0);  // sum of hops to all terminals; kNone hops for a terminal that is not connected
  for (u32 to = 0; to < g.switches; to++) {
    if (g.terminals_at(to) == 0) continue;
    hops_to(g, to, hops);
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
  hops_to(g, centre, hops);
  for (u32 s = 0; s < g.switches; s++)
    if (candidate[s] && hops[s] != kNone && (farthest == kNone || hops[s] > hops[farthest])) farthest = s;
  std::vector<u32> roots{centre};
  if (farthest != centre) roots.push_back(farthest);
  if (first != centre && first != farthest) roots.push_back(first);
  return roots;
}

u32 best_up_down_table(const ChannelGraph& g, const std::vector<std::vector<u32>>& ranks, ForwardingTable& table) {
  double least = -1, shortest = 0;
  u32 best = kNone;
  for (u32 k = 0; k < ranks.size(); k++) {
    ForwardingTable next = empty_table(g, table.engine);
    u32 from = 0, to = 0;
    if (!up_down_table(g, ranks[k], next, from, to)) continue;
    const std::vector<double> load = loads(g, next, {}).channel;
    const double fullest = load.empty() ? 0 : *std::max_element(load.begin(), load.end());
    const double all = std::accumulate(load.begin(), load.end(), 0.0);
    if (least >= 0 && (fullest > least || (fullest == least && all >= shortest))) continue;
    least = fullest, shortest = all, best = k;
    table = std::move(next);
  }
  return best;
}

}  // namespace flitgym::tables
