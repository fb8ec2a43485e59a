#include "simcore/tables/channel_graph.hpp"

#include "simcore/graph.hpp"
#include "simcore/grouped.hpp"
#include "simcore/topology/torus.hpp"

namespace flitgym::tables {

ChannelGraph channel_graph(const Network& net, const Graph& present) {
  ChannelGraph g;
  g.switches = net.routers;
  g.terminals = net.terminals;
  g.ports = net.radix;
  g.topology = net.topology;
  g.topology_name = net.topology_name;
  g.fingerprint = net.fingerprint;
  g.switch_names = net.router_names;
  g.terminal_names = net.terminal_names;
  g.damaged = !net.failed_links.empty() || !present.down.empty();
  claim_memory(u64{net.routers} * net.radix * 23, "topology." + net.topology_name, "the channels of ", net.routers,
               " switches");
  g.first.assign(1, 0);
  g.channel_at.assign(std::size_t{net.routers} * net.radix, kNone);
  for (u32 s = 0; s < net.routers; s++) {
    worked(net.radix);
    for (u32 k = 0; k < net.radix; k++) {
      const u32 p = net.port(s, k);
      if (!net.is_link(p) || net.channels[p].peer == kNone || !present.usable(p)) continue;
      g.channel_at[std::size_t{s} * net.radix + k] = static_cast<u32>(g.from.size());
      g.from.push_back(s);
      g.to.push_back(net.next_router(p));
      g.port.push_back(static_cast<u16>(k));
      g.kind.push_back(static_cast<u8>(net.channels[p].kind));
    }
    g.first.push_back(static_cast<u32>(g.from.size()));
  }
  g.channels = static_cast<u32>(g.from.size());
  for (u32 c = 0; c < g.channels; c++)
    g.reverse.push_back(g.channel(g.to[c], net.local_port(net.channels[net.port(g.from[c], g.port[c])].peer)));
  g.ring.assign(g.channels, kNoRing);
  // Marks the rings of more than three routers. On a shorter ring, a minimal route never takes two hops in the same
  // direction, unless a link is missing elsewhere.
  if (const auto* t = dynamic_cast<const Torus*>(net.topology.get()))
    for (u32 c = 0; c < g.channels; c++)
      if (const u8 k = t->dimension_of_port[g.port[c]];
          k != Torus::kNoDimension && t->ring[k] && t->widths[k] > (g.damaged ? 2u : 3u))
        g.ring[c] = g.port[c];

  for (u32 t = 0; t < g.terminals; t++) {
    g.terminal_switch.push_back(net.terminal_router[t]);
    g.terminal_port.push_back(static_cast<u16>(net.terminal_port[t]));
  }
  g.terminal_of = grouped(g.switches, g.terminals, g.first_terminal, [&](u32 t) { return g.terminal_switch[t]; });
  return g;
}

std::vector<u32> hops_to(const ChannelGraph& g, const std::vector<u32>& to) {
  worked(g.channels);
  return hops_from(g.switches, to, [&](u32 s, const auto& visit) {  // every cable has both directions
    for (u32 c = g.first[s]; c < g.first[s + 1]; c++) visit(g.to[c]);
  });
}

ChannelGraph channel_graph(const Config& config) {
  bool links_change = false;
  const Network net = wired(config, &links_change);
  if (links_change)
    throw ConfigError(
        "failures.events: a table from a file, or one that is measured or written, is for links that do not change; "
        "leave the events out, or simulate with routing.engine, which computes a table for each state of the links");
  return channel_graph(net);
}

}  // namespace flitgym::tables
