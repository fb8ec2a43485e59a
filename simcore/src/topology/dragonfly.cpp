#include "simcore/topology/dragonfly.hpp"

#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "topology/arrangement.hpp"

namespace flitgym {

// visit(port) for the first hop by each link with the fewest hops to router `to` of another group. A path by a link
// between the two routers has one hop, by a link at one of them two hops, and by any other link three.
template <class Visit>
void each_shortest(const Dragonfly& df, const Network& net, u32 router, u32 to, Visit&& visit) {
  const u32 here = df.group(router), there = df.group(to);
  const u8 *const out = df.exits_to(router, there), *const in = df.exits_to(to, here);
  const u32 ins = df.has_link(to, here) ? df.exit_count(to, here) : 0;
  bool direct = false;
  for (u32 k = 0; k < ins; k++)
    if (const u32 port = net.channels[net.port(to, in[k])].peer; net.router_of_port(port) == router) {
      visit(net.local_port(port));
      direct = true;
    }
  if (direct) return;
  const u32 outs = ins == 0 || df.has_link(router, there) ? df.exit_count(router, there) : 0;
  for (u32 k = 0; k < outs; k++) visit(out[k]);
  for (u32 k = 0; k < ins; k++) visit(df.local_port(router, net.next_router(net.port(to, in[k]))));
}

// One of these ports.
u32 shortest(const Dragonfly& df, const Network& net, u32 router, u32 to, u32 turn) {
  if (!df.has_link(to, df.group(router))) return df.exit(router, df.group(to), turn);
  u32 ports = 0, port = 0;
  each_shortest(df, net, router, to, [&](u32) { ports++; });
  each_shortest(df, net, router, to, [&, k = turn % ports](u32 found) mutable {
    if (k-- == 0) port = found;
  });
  return port;
}

// The source router uses the ports in turns. At later routers the number is independent of the first one; with the same
// number, a part of the links would carry no traffic.
u32 Dragonfly::parallel_turn(const Network& net, u32 router, const Packet& packet) const {
  if (router == net.terminal_router[packet.source]) return packet.source + packet.sequence;
  return static_cast<u32>(mix64(mix64(u64{packet.source} << 32 | packet.sequence) + router));
}

u32 Dragonfly::parallel_hop(const Network& net, u32 router, u32 to, u32 group_to, u32 turn) const {
  if (group_to == group(router)) return local_port(router, to);
  return by_destination && group_to == group(to) ? shortest(*this, net, router, to, turn)
                                                 : exit(router, group_to, turn);
}

}  // namespace flitgym

namespace flitgym::topology::dragonfly {

// The place of each link q on the global ports of a group: router * h + port.
std::vector<u32> places_of(const Dragonfly& df, const std::string& arrangement, u64 seed, u32 group) {
  const u32 a = df.a, h = df.h, g = df.g;
  std::vector<u32> place(std::size_t{a} * h);
  std::iota(place.begin(), place.end(), 0u);
  if (arrangement == "random")
    for (u32 k = a * h; k > 1; k--) std::swap(place[k - 1], place[below(draw(seed, group, k), k)]);
  // The links of a group take its routers in turns. The parallel links to another group are consecutive, so they are on
  // different routers while a group has at least as many routers.
  if (arrangement == "even")
    for (u32 k = 0; k < df.links; k++)
      for (u32 d = 0; d + 1 < g; d++) {
        const u32 turn = d * df.links + k;
        place[k * (g - 1) + d] = turn % a * h + turn / a;
      }
  return place;
}

// With `rails` above 1, each node has one terminal on each of `rails` consecutive routers.
void attach_terminals(const Dragonfly& df, u32 rails, Wiring& w) {
  for (u32 first = 0; first < w.routers; first += rails, worked(rails * df.p))
    for (u32 node = 0; node < df.p; node++)
      for (u32 rail = 0; rail < rails; rail++) w.attach_terminal({first + rail, node});
}

void wire(const Params& params, Wiring& w) {
  auto df = std::make_shared<Dragonfly>();
  const u32 p = df->p = params.count("terminals_per_router"), a = df->a = params.count("routers_per_group");
  const u32 h = df->h = params.count("global_ports"), g = df->g = params.count("groups");
  df->diameter = 3;
  df->closed = df->estimates = true;
  const u32 links = df->links = links_of_pair("dragonfly", params, a * h, "routers_per_group * global_ports");
  const Arrangement arrangement{g, params.text("arrangement")};

  const u32 rails = params.count("rails");
  if (a % rails)
    throw ConfigError("topology.dragonfly.rails: ", rails, " does not divide routers_per_group = ", a,
                      "; the NICs of a node lead to that many consecutive routers of a group");

  const u32 radix = p + a - 1 + h;
  w.resize(a * g, radix);
  df->by_destination = df->links > 1 && params.text("minimal_paths") == "shortest";
  claim_memory(u64{w.routers} * g * (df->links + (links > 1 ? 2 : 0)) + u64{w.routers} * (4 * h + 4),
               "topology.dragonfly", "the first hops from ", w.routers, " routers to ", g, " groups");
  for (u32 r = 0; r < a * g; r++) {
    df->group_of.push_back(static_cast<u16>(r / a));
    df->place_of.push_back(static_cast<u16>(r % a));
  }
  w.groups = g;
  for (u32 r = 0; r < w.routers; r++) {
    worked(radix);
    w.router_group[r] = r / a;
    for (u32 to = r + 1; to < (r / a + 1) * a; to++)
      w.connect({r, df->local_port(r, to)}, {to, df->local_port(to, r)}, {PortKind::kLocal});
  }

  attach_terminals(*df, rails, w);

  std::vector<std::vector<u32>> place(g);
  for (u32 group = 0; group < g; group++, worked(2 * a * h))
    place[group] = places_of(*df, arrangement.name, params.seed("arrangement_seed"), group);
  const auto global_port = [&](u32 group, u32 q) {
    return Wiring::End{group * a + place[group][q] / h, p + a - 1 + place[group][q] % h};
  };
  for (u32 group = 0; group < g; group++)
    for (u32 k = 0; k < links; k++)
      for (u32 d = 0; d + 1 < g; d++) {
        worked(2);
        const u32 other = arrangement.other(group, d);
        if (group < other)
          w.connect(global_port(group, k * (g - 1) + d), global_port(other, k * (g - 1) + arrangement.back(group, d)),
                    {PortKind::kGlobal});
      }

  df->exit_port.assign(std::size_t{w.routers} * g * df->links, 0);
  if (links > 1) df->exits.assign(std::size_t{w.routers} * g, 1);
  std::vector<Wiring::End> ports(links), own;
  for (u32 group = 0; group < g; group++)
    for (u32 d = 0; d + 1 < g; d++) {
      const u32 other = arrangement.other(group, d);
      for (u32 k = 0; k < links; k++) ports[k] = global_port(group, k * (g - 1) + d);
      for (u32 r = group * a; r < (group + 1) * a; r++) {
        worked(2 * links);
        own.clear();
        for (const Wiring::End port : ports)
          if (port.router == r) own.push_back(port);
        const std::size_t pair = std::size_t{r} * g + other;
        const auto& exits = own.empty() ? ports : own;
        for (u32 k = 0; k < exits.size(); k++)
          df->exit_port[pair * links + k] =
              static_cast<u8>(own.empty() ? df->local_port(r, exits[k].router) : exits[k].port);
        if (links > 1) df->exits[pair] = static_cast<u16>(exits.size());
      }
    }
  w.data = df;
}

const Register<TopologySpec> entry({
    .name = "dragonfly",
    .summary = "groups of fully connected routers; global links fully connect the groups (Kim et al., ISCA 2008)",
    .params =
        {
            integer("terminals_per_router", 4, 1, 64, "", "p"),
            integer("routers_per_group", 8, 1, 64, "", "a"),
            integer("global_ports", 4, 1, 64, "per router", "h"),
            integer("groups", 33, 2, 4097, "", "g <= a h + 1"),
            choice("arrangement", "absolute", {"absolute", "relative", "palmtree", "random", "even"},
                   "assignment of global ports to groups; absolute = consecutive; even = as absolute, but the links of "
                   "a group take its routers in turns"),
            integer("links_per_group_pair", 0, 0, 4096, "", "0 = as many as the ports allow"),
            choice("minimal_paths", "shortest", {"shortest", "balanced"},
                   "minimal paths where a pair of groups has several links: shortest = by the links with the fewest "
                   "hops between both routers, in turns; balanced = by a link of the own router, or else by any of the "
                   "links in turns, whatever the hops behind it"),
            seed_of("the positions of global links", "arrangement_seed", "arrangement=random"),
            integer("rails", 1, 1, 64, "per node",
                    "NICs of a node; its consecutive terminals are on as many consecutive routers; a divisor of "
                    "routers_per_group"),
        },
    .wire = wire,
    .small = {{"terminals_per_router", 1}, {"routers_per_group", 3}, {"global_ports", 1}, {"groups", 4}},
});

}  // namespace flitgym::topology::dragonfly
