#include "tables/reroute.hpp"

#include "simcore/tables/walk.hpp"

namespace flitgym::tables {

Rerouting::Rerouting(const ChannelGraph& g, ForwardingTable start, const Demand& demand)
    : g_(g), table_(std::move(start)), demand_(demand), index_(g), load_(g.channels, 0) {
  const u32 destinations = table_.destinations();
  const std::size_t pairs = std::size_t{g.switches} * destinations;
  g.claim(pairs * 12, "the traffic through ", g.switches, " switches to ", destinations, " destinations");
  flow_.assign(pairs, 0);
  mask_.assign(pairs, 0);
  if (find_cycle(g, table_).empty())
    for (u32 k = 0; k < table_.layers; k++) layers_.emplace_back(index_);
  Tree tree(g);
  std::vector<double> flow;
  for (u32 d = 0; d < destinations; d++) {
    tree.follow(table_, d);
    demand_towards(g, demand_, d >> table_.lmc, flow);
    for (const u32 s : tree.order) {
      const u32 c = tree.next[s];
      flow_[at(s, d)] = flow[s];
      if (c == kNone) continue;
      mask_[at(s, d)] |= own_layers(s, d);
      load_[c] += flow[s];
      flow[g.to[c]] += flow[s];
      mask_[at(g.to[c], d)] |= mask_[at(s, d)];
      if (layers_.empty() || tree.next[g.to[c]] == kNone) continue;
      for (u32 left = mask_[at(s, d)]; left; left &= left - 1)
        layers_[static_cast<u32>(__builtin_ctz(left))].add(c, tree.next[g.to[c]]);
    }
  }
}

double Rerouting::own(u32 s, u32 d) const {
  double rest = flow(s, d);
  each_child(s, d, [&](u32 child) { rest -= flow(child, d); });
  return rest;
}

bool Rerouting::plan(u32 s, u32 d, u32 c, Change& change) const {
  const u32 last = g_.terminal_switch[d >> table_.lmc];
  const u32 old = next(s, d);
  if (s == last || old == c || old == kNone || !passes(s, d)) return false;
  change.s = s;
  change.d = d;
  change.c = c;
  change.lost.assign(1, old);
  change.gained.assign(1, c);
  for (u32 v = g_.to[old]; v != last; v = g_.to[change.lost.back()]) change.lost.push_back(next(v, d));
  for (u32 v = g_.to[c]; v != last; v = g_.to[change.gained.back()]) {
    const u32 on = v == s ? kNone : next(v, d);
    // The new path may follow table entries that no route uses, and these may form a loop.
    if (on == kNone || change.gained.size() > g_.switches) return false;
    change.gained.push_back(on);
  }
  // The two paths share their channels after the switch where they join.
  while (change.lost.size() > 1 && change.gained.size() > 1 && change.lost.back() == change.gained.back()) {
    change.lost.pop_back();
    change.gained.pop_back();
  }
  change.meet = g_.to[change.lost.back()];
  return true;
}

// Lists the dependencies that `change` removes (`gone`) and adds (`come`). Puts the changed sets of layers into masks_.
void Rerouting::list(const Change& change, std::vector<Step>& gone, std::vector<Step>& come) {
  gone.clear();
  come.clear();
  masks_.clear();
  const u32 s = change.s, d = change.d, moved = mask_[at(s, d)], last = g_.terminal_switch[d >> table_.lmc];
  const u32 beyond = change.meet == last ? kNone : next(change.meet, d);
  each_child(s, d, [&](u32 child) {
    const u32 c = next(child, d), layers = mask_[at(child, d)];
    gone.push_back({c, change.lost[0], layers});
    come.push_back({c, change.c, layers});
  });
  const auto following = [&](const std::vector<u32>& way, std::size_t k) {
    return k + 1 < way.size() ? way[k + 1] : beyond;
  };
  // Along the old path each switch keeps the routes of other switches and of its own terminals.
  u32 left = moved;  // layers in which no route uses the previous switch after the change
  for (std::size_t k = 0; left && k < change.lost.size(); k++) {
    const u32 v = g_.from[change.lost[k]];
    if (k > 0) {
      u32 kept = own_layers(v, d);
      each_child(v, d, [&](u32 child) {
        if (child == s) return;
        const std::size_t i = at(child, d);
        const bool changed = !masks_.empty() && masks_.back().first == i;
        kept |= changed ? masks_.back().second : mask_[i];
      });
      left = mask_[at(v, d)] & ~kept;
      if (left) masks_.push_back({at(v, d), kept});
    }
    if (const u32 on = following(change.lost, k); left && on != kNone) gone.push_back({change.lost[k], on, left});
  }
  u32 added = moved;
  for (std::size_t k = 0; added && k < change.gained.size(); k++) {
    const u32 v = g_.from[change.gained[k]];
    if (k > 0) {
      added &= ~mask_[at(v, d)];
      if (added) masks_.push_back({at(v, d), mask_[at(v, d)] | added});
    }
    if (const u32 on = following(change.gained, k); added && on != kNone) come.push_back({change.gained[k], on, added});
  }
}

// Applies all changes or none.
bool Rerouting::renew(const std::vector<Step>& gone, const std::vector<Step>& come) {
  const auto each = [&](const std::vector<Step>& steps, auto&& visit) {
    for (const Step& step : steps)
      for (u32 left = step.layers; left; left &= left - 1)
        if (!visit(layers_[static_cast<u32>(__builtin_ctz(left))], step)) return false;
    return true;
  };
  const auto remove = [](AcyclicLayer& layer, const Step& step) { return layer.remove(step.c, step.next), true; };
  each(gone, remove);
  u32 added = 0;
  const bool free = each(come, [&](AcyclicLayer& layer, const Step& step) {
    const bool fits = layer.add(step.c, step.next);
    added += fits;
    return fits;
  });
  if (free) return true;
  each(come, [&](AcyclicLayer& layer, const Step& step) {
    if (added == 0) return false;
    added--;
    return remove(layer, step);
  });
  each(gone, [](AcyclicLayer& layer, const Step& step) { return layer.add(step.c, step.next); });
  return false;
}

bool Rerouting::apply(const Change& change) {
  list(change, gone_, come_);
  if (acyclic() && !renew(gone_, come_)) return false;
  for (const auto& [i, mask] : masks_) mask_[i] = mask;
  const double moved = flow(change.s, change.d);
  for (std::size_t k = 0; k < change.lost.size(); k++) {
    load_[change.lost[k]] -= moved;
    if (k) flow_[at(g_.from[change.lost[k]], change.d)] -= moved;
  }
  for (std::size_t k = 0; k < change.gained.size(); k++) {
    load_[change.gained[k]] += moved;
    if (k) flow_[at(g_.from[change.gained[k]], change.d)] += moved;
  }
  table_.at(change.s, change.d) = g_.port[change.c];
  return true;
}

}  // namespace flitgym::tables
