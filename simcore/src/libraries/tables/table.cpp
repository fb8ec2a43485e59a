#include "simcore/tables/table.hpp"

#include "simcore/grouped.hpp"
#include "simcore/rng.hpp"
#include "simcore/tables/walk.hpp"

namespace flitgym::tables {

static std::string destination_name(const ChannelGraph& g, const ForwardingTable& table, u32 d) {
  std::string name = "terminal " + g.terminal_name(d >> table.lmc);
  if (table.lmc) name += " (address " + std::to_string(d & ((1u << table.lmc) - 1)) + ")";
  return name;
}

static std::string where(const ForwardingTable& table) { return "table '" + table.engine + "': "; }

static void check_sizes(const ChannelGraph& g, const ForwardingTable& table) {
  const std::string own = std::to_string(table.switches) + " switches and " + std::to_string(table.terminals) +
                          " terminals",
                    there = std::to_string(g.switches) + " and " + std::to_string(g.terminals);
  if (table.switches != g.switches || table.terminals != g.terminals)
    throw ConfigError(where(table), "it belongs to another network: it has ", own, ", the topology has ", there);
  if (!table.fingerprint.empty() && table.fingerprint != g.fingerprint)
    throw ConfigError(where(table), "it was made for another network:\n  ", table.fingerprint, "\n  instead of\n  ",
                      g.fingerprint);
  const u64 entries = u64{table.switches} * table.destinations();
  const u64 rows = table.layer_by == LayerBy::kOne           ? 0
                   : table.layer_by == LayerBy::kDestination ? 1
                   : table.layer_by == LayerBy::kSwitch      ? table.switches
                                                             : table.terminals;
  const bool fits = table.source_routed()
                        ? table.route_first.size() == entries + 1 && table.route_first.front() == 0 &&
                              std::ranges::is_sorted(table.route_first) &&
                              table.route_first.back() == table.route_port.size() && table.port.empty()
                        : table.port.size() == entries;
  const std::size_t turns = std::size_t{g.switches} * g.ports * g.ports * table.layers;
  if (!fits || table.layer.size() != rows * table.destinations() ||
      (table.lanes && (table.lane_ports != g.ports || table.lane.size() != turns)))
    throw ConfigError(where(table), "the sizes of its arrays do not match ", own, " with ", 1u << table.lmc,
                      " addresses each and ", g.ports, " ports per switch");
  if (table.layers < 1 || table.classes() > 64)
    throw ConfigError(where(table), table.classes(), " layers; valid are 1 to 64");
  const auto exist = [&](const char* what, const std::vector<u8>& values, u32 count) {
    for (const u8 x : values)
      if (x >= count) throw ConfigError(where(table), what, " ", x, " does not exist; valid are 0 to ", count - 1);
  };
  exist("layer", table.layer, table.layers);
  if (table.lanes) exist("lane", table.lane, table.lanes);
}

static void check_routes(const ChannelGraph& g, const ForwardingTable& table) {
  for (u32 s = 0; s < g.switches; s++) {
    if (g.terminals_at(s) == 0) continue;
    for (u32 d = 0; d < table.destinations(); d++) {
      const std::size_t at = std::size_t{s} * table.destinations() + d;
      const auto fail = [&](const auto&... what) {
        throw ConfigError(where(table), "the route from switch ", g.switch_name(s), " to ",
                          destination_name(g, table, d), what...);
      };
      if (table.route_length(s, d) > g.switches) fail(" is longer than the number of switches");
      u32 here = s;
      worked(1 + table.route_length(s, d));
      for (u64 k = table.route_first[at]; k < table.route_first[at + 1]; k++) {
        const u32 c = g.channel(here, table.route_port[k]);
        if (c == kNone)
          fail(" takes port ", table.route_port[k], " of switch ", g.switch_name(here),
               ", which leads to no other switch");
        here = g.to[c];
      }
      if (here != g.terminal_switch[d >> table.lmc]) fail(" ends at switch ", g.switch_name(here));
    }
  }
}

ForwardingTable empty_table(const ChannelGraph& g, const std::string& engine, u32 lmc) {
  ForwardingTable table;
  table.switches = g.switches;
  table.terminals = g.terminals;
  table.lmc = lmc;
  table.engine = engine;
  table.fingerprint = g.fingerprint;
  const u64 entries = u64{g.switches} * table.destinations();
  g.claim(entries * sizeof(u16), "a forwarding table of ", g.switches, " switches x ", table.destinations(),
          " destinations");
  table.port.assign(entries, kNoPort);
  for (u32 d = 0; d < table.destinations(); d++) table.at(g.terminal_switch[d >> lmc], d) = g.terminal_port[d >> lmc];
  return table;
}

void Tree::follow(const ForwardingTable& table, u32 d) {
  constexpr u32 kVisiting = kNone - 1;
  const u32 terminal = d >> table.lmc, last = g_.terminal_switch[terminal];
  std::fill(depth.begin(), depth.end(), kNone);
  std::fill(next.begin(), next.end(), kNone);
  order.clear();
  worked(g_.switches);
  depth[last] = 0;
  if (table.at(last, d) != g_.terminal_port[terminal])
    throw ConfigError(where(table), "switch ", g_.switch_name(last), " sends ", destination_name(g_, table, d),
                      ", which is attached to its port ", g_.terminal_port[terminal], ", to ",
                      table.at(last, d) == kNoPort ? "no port" : "port " + std::to_string(table.at(last, d)));
  u32 deepest = 0;
  std::vector<u32>& path = order;  // reuses the memory of `order` until the sort below
  for (u32 from = 0; from < g_.switches; from++) {
    if (g_.terminals_at(from) == 0 || depth[from] != kNone) continue;
    u32 s = from;
    path.clear();
    while (depth[s] == kNone) {
      const u16 port = table.at(s, d);
      if (port == kNoPort)
        throw ConfigError(where(table), "switch ", g_.switch_name(s), " has no port for ",
                          destination_name(g_, table, d),
                          s == from ? "" : ", although the route from switch " + g_.switch_name(from) + " passes it");
      const u32 c = g_.channel(s, port);
      if (c == kNone)
        throw ConfigError(where(table), "switch ", g_.switch_name(s), " sends ", destination_name(g_, table, d),
                          " to port ", port, ", which leads to no other switch");
      depth[s] = kVisiting;
      next[s] = c;
      path.push_back(s);
      s = g_.to[c];
    }
    if (depth[s] == kVisiting) {
      std::string loop;
      for (auto at = std::find(path.begin(), path.end(), s); at != path.end(); ++at)
        loop += g_.switch_name(*at) + " -> ";
      throw ConfigError(where(table), "packets for ", destination_name(g_, table, d), " circulate in a loop: ", loop,
                        g_.switch_name(s));
    }
    u32 hops = depth[s];
    for (std::size_t k = path.size(); k-- > 0;) depth[path[k]] = ++hops;
    deepest = std::max(deepest, hops);
  }
  std::vector<u32> start;  // of each distance; the switches off all routes come last
  order = grouped(deepest + 2, g_.switches, start,
                  [&](std::size_t s) { return depth[s] == kNone ? deepest + 1 : deepest - depth[s]; });
  order.resize(start[deepest + 1]);
}

void check_table(const ChannelGraph& g, const ForwardingTable& table) {
  check_sizes(g, table);
  if (table.source_routed()) return check_routes(g, table);
  Tree tree(g);
  for (u32 d = 0; d < table.destinations(); d++) tree.follow(table, d);
}

u64 digest(const ForwardingTable& table) {
  u64 value = u64{table.switches} << 32 | table.terminals;
  const auto word = [&](u64 x) { value = mix64(value ^ x) + 0x9e3779b97f4a7c15ull; };
  const auto all = [&](const auto& array) {
    word(array.size());
    worked(array.size());
    for (const auto x : array) word(x);
  };
  for (const u64 x :
       {u64{table.lmc}, u64{table.layers}, static_cast<u64>(table.layer_by), u64{table.lanes}, u64{table.bubble}})
    word(x);
  all(table.port);
  all(table.layer);
  all(table.lane);
  all(table.route_first);
  all(table.route_port);
  return value;
}

Lengths route_lengths(const ChannelGraph& g, const ForwardingTable& table) {
  Lengths lengths;
  Tree tree(g);
  for (u32 to = 0; to < g.switches; to++) {
    if (g.terminals_at(to) == 0) continue;
    const std::vector<u32> hops = hops_to(g, to);
    for (u32 k = g.first_terminal[to]; k < g.first_terminal[to + 1]; k++)
      for (u32 a = 0; a < 1u << table.lmc; a++) {
        const u32 d = g.terminal_of[k] << table.lmc | a;
        if (!table.source_routed()) tree.follow(table, d);
        for (u32 s = 0; s < g.switches; s++) {
          if (g.terminals_at(s) == 0) continue;
          const u32 length = table.source_routed() ? table.route_length(s, d) : tree.depth[s];
          lengths.longest = std::max(lengths.longest, length);
          lengths.minimal &= length == hops[s];
        }
      }
  }
  return lengths;
}

}  // namespace flitgym::tables
