#include "tables/angara_graph.hpp"

#include <set>

#include "simcore/topology/torus.hpp"

namespace flitgym::tables {

namespace {

constexpr u32 kMostDimensions = 6;  // there are 3^6 lists of directions

// The rule as in the source, a nondeterministic automaton. A state is a vertex of the routing graph, the same at every
// node. One step may lead to several states.
class Rule {
 public:
  explicit Rule(u32 dimensions) : n_(dimensions) {
    for (u32 k = 0; k < n_; k++) lists_ *= 3;
  }
  u32 came(u32 state) const {
    if (state == 0) return 2 * n_;
    if (state <= n_) return state - 1;
    if (state < n_ + lists_) return last_of(state - n_);
    return n_ + (state - n_ - lists_);
  }
  void steps(u32 state, u32 d, std::set<u32>& to) const {
    if (state == 0 && d < n_) to.insert(1 + d);
    if (state <= n_) to.insert(n_ + with(0, d));
    if (state <= n_ || state >= n_ + lists_) return;
    const u32 list = state - n_, last = last_of(list);
    if (d == last || (d > last && digit(list, d % n_) == 0)) to.insert(n_ + with(list, d));
    if (d >= n_) to.insert(n_ + lists_ + d - n_);
  }

 private:
  // The order is given, so a list is a set of directions: one ternary digit per dimension, 1 for + and 2 for -.
  u32 power(u32 k) const { return k == 0 ? 1 : 3 * power(k - 1); }
  u32 digit(u32 list, u32 k) const { return list / power(k) % 3; }
  u32 with(u32 list, u32 d) const { return list + (digit(list, d % n_) == 0 ? (1 + d / n_) * power(d % n_) : 0); }
  u32 last_of(u32 list) const {
    u32 last = 0;
    for (u32 k = 0; k < n_; k++)
      if (digit(list, k)) last = std::max(last, k + (digit(list, k) - 1) * n_);
    return last;
  }
  const u32 n_;
  u32 lists_ = 1;  // including the empty list
};

// Subset construction: a state is the set of the rule's states that the same steps can lead to.
struct Automaton {
  std::vector<u8> came;
  std::vector<u16> next;
};

Automaton determined(const Rule& rule, u32 directions) {
  Automaton a;
  std::map<std::set<u32>, u16> known{{{0}, 0}};
  std::vector<std::set<u32>> sets{{0}};
  for (std::size_t s = 0; s < sets.size(); s++) {
    a.came.push_back(static_cast<u8>(rule.came(*sets[s].begin())));
    for (u32 d = 0; d < directions; d++) {
      std::set<u32> to;
      for (const u32 state : sets[s]) rule.steps(state, d, to);
      worked(sets[s].size() + 1);
      u16 state = AngaraGraph::kNoState;
      if (!to.empty()) {
        const auto [at, fresh] = known.emplace(to, static_cast<u16>(sets.size()));
        state = at->second;
        if (fresh) sets.push_back(std::move(to));
      }
      a.next.push_back(state);
    }
  }
  return a;
}

// Merges states from which the same sequences of steps are possible (Moore 1956), unless their previous directions
// differ.
Automaton reduced(const Automaton& a, u32 directions) {
  const std::size_t states = a.came.size();
  std::vector<u16> part(a.came.begin(), a.came.end());
  std::size_t parts = 0;
  for (;;) {
    std::map<std::vector<u16>, u16> seen;
    std::vector<u16> finer;
    for (std::size_t s = 0; s < states; s++) {
      std::vector<u16> mark{part[s]};
      for (u32 d = 0; d < directions; d++) {
        const u16 to = a.next[s * directions + d];
        mark.push_back(to == AngaraGraph::kNoState ? to : part[to]);
      }
      worked(directions);
      finer.push_back(seen.emplace(std::move(mark), static_cast<u16>(seen.size())).first->second);
    }
    part = std::move(finer);
    if (seen.size() == parts) break;
    parts = seen.size();
  }
  // Merged states are numbered in the order of their first states, so state 0 remains the beginning.
  Automaton small;
  small.came.resize(parts);
  small.next.resize(parts * directions);
  for (std::size_t s = states; s-- > 0;) {
    small.came[part[s]] = a.came[s];
    for (u32 d = 0; d < directions; d++) {
      const u16 to = a.next[s * directions + d];
      small.next[part[s] * directions + d] = to == AngaraGraph::kNoState ? to : part[to];
    }
  }
  return small;
}

void find_directions(const std::string& engine, const ChannelGraph& g, const Torus& t, AngaraGraph& a) {
  const u32 n = a.dimensions;
  a.out.assign(std::size_t{g.switches} * a.directions, kNone);
  a.direction.resize(g.channels);
  for (u32 k = 0; k < n; k++)
    if (t.links[k] != 1)
      throw ConfigError(engine, ": ", t.links[k], " parallel links along dimension ", k, " (",
                        t.key.substr(0, t.key.rfind('.')), ".links); valid is one link");
  for (u32 c = 0; c < g.channels; c++) {
    const u32 k = t.dimension_of_port[g.port[c]];
    const bool ascends = t.widths[k] == 2 ? t.coordinate(g.from[c], k) == 0 : g.port[c] == t.base[k];
    const u32 d = ascends ? k : n + k;
    a.direction[c] = static_cast<u8>(d);
    a.out[std::size_t{g.from[c]} * a.directions + d] = c;
  }
}

// Adds the turns of the order, then those of theorem 2 until no more can be added. The set ahead[c] holds the
// directions of all channels that can be reached from channel c (the UD set of the source).
class Augmentation {
 public:
  Augmentation(const ChannelGraph& g, AngaraGraph& a) : g_(g), a_(a), ahead_(g.channels, 0) {
    a.turns.assign(std::size_t{a.nodes} * (a.directions + 1), 0);
    for (u32 v = 0; v < a.nodes; v++)
      for (u32 d = 0; d < a.directions; d++)
        if (a.channel(v, d) != kNone)
          for (u32 from = 0; from <= a.directions; from++)
            if (from <= d || from == a.directions) turns(v, from) |= 1u << d;
  }
  void run() {
    for (u32 c = 0; c < g_.channels; c++) spread(c);
    for (bool more = true; more;) {
      more = false;
      for (u32 v = 0; v < a_.nodes; v++)
        for (u32 d = 0; d < a_.directions; d++)
          if (const u32 c = a_.channel(v, d); c != kNone) more |= extend(c, d);
    }
  }

 private:
  u32& turns(u32 node, u32 from) { return a_.turns[std::size_t{node} * (a_.directions + 1) + from]; }
  // Adds the directions that channel c can reach to the sets of the channels that lead to c.
  void spread(u32 c) {
    pending_.assign(1, c);
    while (!pending_.empty()) {
      const u32 at = pending_.back(), bits = ahead_[at] | 1u << a_.direction[at], v = g_.from[at];
      pending_.pop_back();
      worked(a_.directions);
      for (u32 other = g_.first[v]; other < g_.first[v + 1]; other++) {
        const u32 before = g_.reverse[other];
        if (!(turns(v, a_.direction[before]) >> a_.direction[at] & 1) || (ahead_[before] | bits) == ahead_[before])
          continue;
        ahead_[before] |= bits;
        pending_.push_back(before);
      }
    }
  }
  // Adds turns after channel c of direction d. In such a turn, channel c is a first step or the next channel a last
  // step.
  bool extend(u32 c, u32 d) {
    const u32 v = g_.to[c];
    bool added = false;
    for (u32 e = 0; e < d; e++) {
      const u32 next = a_.channel(v, e);
      if (next == kNone || turns(v, d) >> e & 1 || (d >= a_.dimensions && e < a_.dimensions) || ahead_[next] >> d & 1)
        continue;
      turns(v, d) |= 1u << e;
      a_.added++;
      spread(next);
      added = true;
    }
    return added;
  }

  const ChannelGraph& g_;
  AngaraGraph& a_;
  std::vector<u32> ahead_, pending_;
};

}  // namespace

AngaraGraph angara_graph(const std::string& engine, const ChannelGraph& g, bool augment) {
  const auto* t = dynamic_cast<const Torus*>(g.topology.get());
  if (!t)
    throw ConfigError(engine, ": topology '", g.topology_name, "' has no directions; valid topologies: torus, mesh");
  if (t->dimensions > kMostDimensions)
    throw ConfigError(engine, ": ", t->dimensions, " dimensions (", t->key, "); valid are at most ", kMostDimensions);
  AngaraGraph a;
  a.dimensions = t->dimensions;
  a.directions = 2 * a.dimensions;
  a.nodes = g.switches;
  const Rule rule(a.dimensions);
  Automaton automaton = reduced(determined(rule, a.directions), a.directions);
  a.came = std::move(automaton.came);
  a.next = std::move(automaton.next);
  a.states = static_cast<u32>(a.came.size());
  claim_memory((u64{g.switches} * (2 * a.directions + 1) + g.channels * 2) * 4, t->key, "the routing graph of ",
               g.switches, " nodes");
  find_directions(engine, g, *t, a);
  Augmentation augmentation(g, a);
  if (augment) augmentation.run();
  return a;
}

}  // namespace flitgym::tables
