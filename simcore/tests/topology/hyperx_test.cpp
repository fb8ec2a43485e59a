// HyperX: every shape checked port by port against the rule, and the numbers of the two systems of the papers.
#include "simcore/topology/hyperx.hpp"
#include "support/links.hpp"

namespace topology_hyperx_test {

using namespace scenes;

struct Shape {
  std::vector<double> widths, links;
  i64 terminals, local;
};

// Rule: router = x + S_0 (y + S_1 (z + ...)). Ports: T terminals, then for each dimension the offsets 1 .. S-1 (mod S)
// with K links each.
void check_shape(const Shape& shape) {
  const auto built = network_of(
      hyperx_section(shape.widths, shape.terminals, {{"links", shape.links}, {"local_dimensions", shape.local}}),
      "dimension_order");
  const Network& net = *built;
  const HyperX& hx = as_hyperx(net);
  const std::string name = net.fingerprint;
  const u32 dimensions = static_cast<u32>(shape.widths.size()), terminals = static_cast<u32>(shape.terminals);
  std::vector<u32> widths, links;
  u32 routers = 1, radix = terminals;
  for (u32 k = 0; k < dimensions; k++) {
    widths.push_back(static_cast<u32>(shape.widths[k]));
    links.push_back(static_cast<u32>(shape.links[shape.links.size() == 1 ? 0 : k]));
    routers *= widths[k];
    radix += (widths[k] - 1) * links[k];
  }
  CHECK_FOR(net.routers == routers && net.terminals == routers * terminals && net.radix == radix, name);
  CHECK_FOR(net.groups == widths.back() && net.topology->diameter == dimensions && net.first_link[0] == terminals,
            name);

  const auto coordinates = [&](u32 router) {
    std::vector<u32> at;
    for (u32 width : widths) at.push_back(router % width), router /= width;
    return at;
  };
  const auto router_at = [&](const std::vector<u32>& at) {
    u32 router = 0;
    for (u32 k = dimensions; k-- > 0;) router = router * widths[k] + at[k];
    return router;
  };
  for (u32 r = 0; r < routers; r++) {
    const auto here = coordinates(r);
    CHECK_FOR(net.router_group[r] == here.back(), name);  // groups are the planes of the last dimension
    for (u32 t = 0; t < terminals; t++) {
      const u32 terminal = r * terminals + t;
      CHECK_FOR(net.channels[net.port(r, t)].peer == net.nic(terminal) && net.terminal_router[terminal] == r &&
                    net.terminal_port[terminal] == t,
                name);
      CHECK_FOR(net.channels[net.port(r, t)].kind == PortKind::kTerminal, name);
    }
    u32 port = terminals, base = terminals;
    for (u32 k = 0; k < dimensions; base += (widths[k] - 1) * links[k], k++)
      for (u32 offset = 1; offset < widths[k]; offset++)
        for (u32 link = 0; link < links[k]; link++, port++) {
          auto there = here;
          there[k] = (here[k] + offset) % widths[k];
          // The same link of the pair.
          const u32 back = base + (widths[k] - offset - 1) * links[k] + link, to = router_at(there);
          CHECK_FOR(net.channels[net.port(r, port)].peer == net.port(to, back),
                    name + " router " + std::to_string(r) + " port " + std::to_string(port));
          CHECK_FOR(net.channels[net.port(to, back)].peer == net.port(r, port), name);
          CHECK_FOR(net.channels[net.port(r, port)].kind ==
                        (shape.local < 0 || k < shape.local ? PortKind::kLocal : PortKind::kGlobal),
                    name);
          CHECK_FOR(hx.dimension_of_port[port] == k && hx.coordinate_behind(r, k, port) == there[k] &&
                        hx.port_to(r, k, there[k], link) == port,
                    name);
        }
    CHECK_FOR(port == radix, name);
  }

  // The questions of routings: coordinates, distances, and a minimal path with one hop per differing coordinate.
  for (u32 r = 0; r < routers; r++)
    for (u32 to = r % 7; to < routers; to += 7) {
      const auto here = coordinates(r), there = coordinates(to);
      u32 differing = 0, first = dimensions;
      for (u32 k = 0; k < dimensions; k++) {
        CHECK_FOR(hx.coordinate(r, k) == here[k] && hx.unaligned(hx.difference(r, to), k) == (here[k] != there[k]),
                  name);
        differing += here[k] != there[k];
        if (here[k] != there[k] && first == dimensions) first = k;
      }
      CHECK_FOR(hx.distance(hx.difference(r, to)) == differing &&
                    (r == to || hx.first_unaligned(hx.difference(r, to)) == first),
                name);
      Packet packet{};
      packet.destination = to * terminals;
      packet.sequence = r + to;
      u32 hops = 0, at = r;
      for (u32 port; (port = net.topology->minimal_port(net, *net.graphs[0], at, packet)) >= terminals; hops++)
        at = net.router_of_port(net.channels[net.port(at, port)].peer);
      CHECK_FOR(at == to && hops == differing, name);
    }
}

// The number of cables between routers for which counted(a, b) is true.
template <class Counted>
u32 cables(const Network& net, Counted counted) {
  u32 n = 0;
  for (u32 p = 0; p < net.router_ports; p++) {
    const Channel& c = net.channels[p];
    if (c.kind == PortKind::kTerminal || c.kind == PortKind::kUnused || c.peer < p) continue;
    n += counted(net.router_of_port(p), net.router_of_port(c.peer));
  }
  return n;
}
u32 bisection(const Network& net, u32 k) {
  const HyperX& hx = as_hyperx(net);
  return cables(net, [&](u32 a, u32 b) {
    return (hx.coordinate(a, k) < hx.widths[k] / 2) != (hx.coordinate(b, k) < hx.widths[k] / 2);
  });
}

TEST(hyperx_of_every_shape) {
  for (const Shape& shape : {Shape{{2}, {1}, 1, -1},
                             {{3}, {1}, 2, -1},
                             {{5}, {3}, 1, 0},
                             {{32}, {1}, 8, -1},
                             {{2, 2}, {1}, 1, 1},
                             {{3, 3}, {2}, 2, -1},
                             {{4, 3, 2}, {1}, 2, 2},
                             {{2, 3, 5}, {3, 1, 2}, 3, 1},
                             {{5, 2, 3}, {1, 4, 2}, 1, 3},
                             {{2, 2, 2, 2, 2, 2}, {1}, 2, 3},
                             {{3, 2, 3, 2}, {1, 2, 1, 3}, 1, 0},
                             {{8, 8, 8}, {1}, 8, -1},
                             {{12, 8}, {1}, 7, 1}})
    check_shape(shape);
}

// The first HyperX at scale (TokyoTech; Domke et al., SC'19): 12x8, T=7. Its 1,536 cables are 864 between routers and
// 672 to terminals, so K=1. With four routers of a line per rack, 720 active optical cables are outside of racks.
TEST(hyperx_of_672_terminals) {
  const auto net = network_of(hyperx_section({12, 8}, 7), "dimension_order");
  const HyperX& hx = as_hyperx(*net);
  CHECK_EQ(net->routers, 96u);
  CHECK_EQ(net->radix, 25u);          // 7 + 11 + 7
  CHECK_EQ(count_links(*net), 864u);  // 8 * 66 + 12 * 28
  CHECK_EQ(count_links(*net) + net->terminals, 1536u);
  for (const u32 k : {0u, 1u})  // racks along either dimension
    CHECK_EQ(cables(*net,
                    [&](u32 a, u32 b) {
                      return hx.coordinate(a, 1 - k) != hx.coordinate(b, 1 - k) ||
                             hx.coordinate(a, k) / 4 != hx.coordinate(b, k) / 4;
                    }),
             720u);
  // A 2x2 block per rack leaves 768.
  CHECK_EQ(cables(*net,
                  [&](u32 a, u32 b) {
                    return hx.coordinate(a, 0) / 2 != hx.coordinate(b, 0) / 2 ||
                           hx.coordinate(a, 1) / 2 != hx.coordinate(b, 1) / 2;
                  }),
           768u);
  CHECK_EQ(bisection(*net, 0), 288u);  // 85.7 % of 672 / 2 = 336
  CHECK_EQ(bisection(*net, 1), 192u);  // 57.1 %
  u64 hops = 0;
  for (u32 a = 0; a < 96; a++)
    for (u32 b = 0; b < 96; b++) hops += hx.distance(hx.difference(a, b));
  CHECK_NEAR(static_cast<double>(hops) / (96 * 96), 11 / 12.0 + 7 / 8.0, 1e-12);
}

}  // namespace topology_hyperx_test
