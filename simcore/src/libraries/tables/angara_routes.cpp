#include "tables/angara_routes.hpp"

namespace flitgym::tables {

AngaraPaths::AngaraPaths(const ChannelGraph& g, const AngaraGraph& rules) : g_(g), rules_(rules) {
  const u64 vertices = u64{rules.nodes} * rules.states;
  g.claim(vertices * 4, "a search in a routing graph of ", vertices, " vertices");
  number_.assign(vertices, kNone);
}

u32 AngaraPaths::vertex(u32 at_node, u32 state) {
  u32& number = number_[std::size_t{at_node} * rules_.states + state];
  if (number == kNone) {
    number = static_cast<u32>(node.size());
    node.push_back(at_node);
    state_.push_back(state);
    level_.push_back(kNone);
  }
  return number;
}

// Breadth-first search until every node is found or no vertex is left. With `bound`, the search skips steps that reach
// a node later than its bound. Returns true if every node was found within its bound.
bool AngaraPaths::search(u32 source, const std::vector<u32>* bound) {
  for (std::size_t v = 0; v < node.size(); v++) number_[std::size_t{node[v]} * rules_.states + state_[v]] = kNone;
  for (auto* list : {&node, &state_, &level_}) list->clear();
  arcs.clear();
  hops.assign(rules_.nodes, kNone);
  hops[source] = 0;
  level_[vertex(source, 0)] = 0;
  u32 found = 1, last = kNone;  // level of the last node found
  for (u32 v = 0; v < node.size() && level_[v] != last; v++) {
    const u32 here = node[v], state = state_[v], level = level_[v] + 1;
    worked(rules_.directions);
    for (u32 left = rules_.turns_at(here, rules_.came[state]); left; left &= left - 1) {
      const u32 d = static_cast<u32>(__builtin_ctz(left));
      const u16 next = rules_.next[std::size_t{state} * rules_.directions + d];
      if (next == AngaraGraph::kNoState) continue;
      const u32 channel = rules_.channel(here, d), to = g_.to[channel];
      if (bound && (*bound)[to] < level) continue;
      const u32 number = vertex(to, next);
      if (level_[number] == kNone) level_[number] = level;
      if (level_[number] != level) continue;
      arcs.push_back({v, number, channel});
      if (hops[to] != kNone) continue;
      hops[to] = level;
      if (++found == rules_.nodes) last = level;
    }
  }
  if (!bound) return true;
  for (u32 s = 0; s < rules_.nodes; s++)
    if (hops[s] != (*bound)[s]) return false;
  return true;
}

void AngaraPaths::from(u32 source) {
  // Usually the rules allow a route as short as the shortest path of the network to every node. Then only such routes
  // are searched.
  const std::vector<u32> bound = hops_to(g_, source);
  if (!search(source, &bound)) search(source, nullptr);
  std::vector<u8> useful(node.size());
  for (std::size_t v = 0; v < node.size(); v++) useful[v] = level_[v] == hops[node[v]];
  trim(useful);
}

void AngaraPaths::only(const std::vector<u32>& targets) {
  std::vector<u8> useful(node.size(), 0);
  for (const u32 target : targets)
    for (u32 k = first_end[target]; k < first_end[target + 1]; k++) useful[ends[k]] = 1;
  trim(useful);
}

// `useful` marks the ends of wanted routes. Arcs that do not lead to any of them are removed. Vertices keep their
// numbers because number_ refers to them.
void AngaraPaths::trim(std::vector<u8>& useful) {
  first_end.assign(rules_.nodes + 1, 0);
  for (std::size_t v = 0; v < node.size(); v++) first_end[node[v] + 1] += useful[v];
  for (u32 s = 0; s < rules_.nodes; s++) first_end[s + 1] += first_end[s];
  ends.resize(first_end.back());
  std::vector<u32> fill(first_end.begin(), first_end.end() - 1);
  for (std::size_t v = 0; v < node.size(); v++)
    if (useful[v]) ends[fill[node[v]]++] = static_cast<u32>(v);
  for (std::size_t a = arcs.size(); a-- > 0;) useful[arcs[a].from] |= useful[arcs[a].to];
  std::erase_if(arcs, [&](const Arc& a) { return !useful[a.to]; });
  worked(node.size() + arcs.size());
}

std::vector<double> AngaraPaths::counts() const {
  std::vector<double> at(node.size(), 0), all(rules_.nodes, 0);
  at[0] = 1;
  for (const Arc& a : arcs) at[a.to] += at[a.from];
  for (const u32 end : ends) all[node[end]] += at[end];
  return all;
}

std::vector<u32> AngaraPaths::turns() const {
  std::vector<u32> at(node.size(), kNone), least(rules_.nodes, kNone);
  at[0] = 0;
  for (const Arc& a : arcs) {
    const bool turn = a.from != 0 && rules_.came[state_[a.from]] != rules_.came[state_[a.to]];
    at[a.to] = std::min(at[a.to], at[a.from] + turn);
  }
  for (const u32 end : ends) least[node[end]] = std::min(least[node[end]], at[end]);
  return least;
}

AngaraRoutes::AngaraRoutes(const std::string& engine, const ChannelGraph& g, const AngaraGraph& rules,
                           const Demand& demand)
    : engine_(engine), nodes_(g.switches) {
  const u64 pairs = u64{nodes_} * nodes_;
  g.claim(pairs * sizeof(u64), "the routes of ", pairs, " pairs of nodes");
  first_.assign(pairs + 1, 0);
  AngaraPaths paths(g, rules);
  u64 missing = 0;
  std::string example;
  for (u32 s = 0; s < nodes_; s++) {
    if (g.terminals_at(s) == 0) continue;
    paths.from(s);
    for (u32 to = 0; to < nodes_; to++) {
      if (g.terminals_at(to) == 0) continue;
      if (paths.hops[to] != kNone) first_[pair(s, to) + 1] = paths.hops[to];
      else if (missing++ == 0) example = g.switch_name(s) + " to switch " + g.switch_name(to);
    }
  }
  if (missing)
    throw ConfigError(engine, ": no route from switch ", example,
                      " keeps to the order of directions and the direction bits, even with a first and a last step",
                      missing == 1 ? "" : " (nor for " + std::to_string(missing - 1) + " other pairs)",
                      "; take an engine with virtual layers (dfsssp, lash, nue) for such a network");
  for (u64 p = 0; p < pairs; p++) first_[p + 1] += first_[p];
  g.claim(first_.back() * sizeof(u16), "routes of ", first_.back(), " steps");
  port_.resize(first_.back());
  if (!demand.empty()) weigh(g, demand);
}

void AngaraRoutes::weigh(const ChannelGraph& g, const Demand& demand) {
  const u64 pairs = u64{nodes_} * nodes_;
  g.claim(pairs * sizeof(float), "the demand of ", pairs, " pairs of nodes");
  std::vector<double> all(pairs, 0), by_switch;
  double sum = 0;
  for (u32 t = 0; t < g.terminals; t++) {
    demand_towards(g, demand, t, by_switch);
    worked(nodes_);
    for (u32 s = 0; s < nodes_; s++)
      if (s != g.terminal_switch[t]) {
        all[pair(s, g.terminal_switch[t])] += by_switch[s];
        sum += by_switch[s];
      }
  }
  const double scale = sum > 0 ? static_cast<double>(pairs - nodes_) / sum : 0;
  for (const double x : all) weight_.push_back(static_cast<float>(x * scale));
}

ForwardingTable AngaraRoutes::table(const ChannelGraph& g) && {
  ForwardingTable table;
  table.switches = g.switches;
  table.terminals = g.terminals;
  table.engine = engine_;
  table.fingerprint = g.fingerprint;
  table.bubble = std::any_of(g.ring.begin(), g.ring.end(), [](u16 ring) { return ring != kNoRing; });
  // With one terminal per switch, in the order of switches, routes between switches are routes to terminals.
  bool alike = g.terminals == nodes_;
  for (u32 t = 0; alike && t < g.terminals; t++) alike = g.terminal_switch[t] == t;
  if (alike) {
    table.route_first = std::move(first_);
    table.route_port = std::move(port_);
    return table;
  }
  u64 steps = 0;
  for (u32 s = 0; s < nodes_; s++)
    for (u32 to = 0; to < nodes_; to++) steps += u64{length(s, to)} * g.terminals_at(to);
  const u64 entries = u64{g.switches} * g.terminals;
  g.claim(entries * sizeof(u64) + steps * sizeof(u16), "a table of ", entries, " source routes");
  table.route_first.reserve(entries + 1);
  table.route_port.reserve(steps);
  table.route_first.push_back(0);
  for (u32 s = 0; s < nodes_; s++)
    for (u32 t = 0; t < g.terminals; t++) {
      const std::size_t at = pair(s, g.terminal_switch[t]);
      table.route_port.insert(table.route_port.end(), port_.begin() + static_cast<std::ptrdiff_t>(first_[at]),
                              port_.begin() + static_cast<std::ptrdiff_t>(first_[at + 1]));
      table.route_first.push_back(table.route_port.size());
      worked(1);
    }
  return table;
}

}  // namespace flitgym::tables
