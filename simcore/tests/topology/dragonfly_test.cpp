// Dragonfly: every arrangement and several shapes, checked link by link, and the papers' arrangement against pairs by
// hand.
#include <array>

#include "simcore/topology/dragonfly.hpp"
#include "support/crafted.hpp"
#include "support/links.hpp"

namespace topology_dragonfly_test {

using namespace scenes;

// One end of a link between groups, as (router in the group, global port).
struct End {
  u32 router, port;
  bool operator==(const End&) const = default;
};
std::vector<End> links(const Network& net, u32 group, u32 other) {
  const Dragonfly& df = as_dragonfly(net);
  std::vector<End> found;
  for (u32 r = group * df.a; r < (group + 1) * df.a; r++)
    for (u32 j = 0; j < df.h; j++) {
      const u32 peer = net.channels[net.port(r, df.p + df.a - 1 + j)].peer;
      if (peer != kNone && df.group(net.router_of_port(peer)) == other) found.push_back({r - group * df.a, j});
    }
  return found;
}

void check_link(const Network& net, u32 group, u32 other, End here, End there) {
  const std::string name = std::to_string(group) + " -> " + std::to_string(other);
  CHECK_FOR(links(net, group, other) == std::vector<End>{here}, name);
  CHECK_FOR(links(net, other, group) == std::vector<End>{there}, name + " from the other end");
}

void check_shape(const Section& section) {
  const auto built = network_of(section);
  const Network& net = *built;
  const Dragonfly& df = as_dragonfly(net);
  const std::string name = net.fingerprint;
  CHECK_FOR(net.routers == df.a * df.g && net.terminals == df.a * df.g * df.p && net.radix == df.p + df.a - 1 + df.h,
            name);

  // Local links connect routers of a group, each pair once.
  for (u32 p = 0; p < net.router_ports; p++)
    if (net.is_link(p)) {
      const u32 router = net.router_of_port(p), far = net.next_router(p);
      CHECK_FOR(far != router && (df.group(far) == df.group(router)) == (net.channels[p].kind == PortKind::kLocal),
                name);
    }
  for (u32 r = 0; r < net.routers; r++)
    for (u32 to = df.group(r) * df.a; to < (df.group(r) + 1) * df.a; to++)
      if (to != r) CHECK_FOR(net.router_of_port(net.channels[net.port(r, df.local_port(r, to))].peer) == to, name);

  // Every pair of groups has the configured number of links.
  const u32 most = df.a * df.h / (df.g - 1);
  const auto asked = section.values.find("links_per_group_pair");
  const u32 wanted = asked == section.values.end() || std::get<i64>(asked->second) == 0
                         ? most
                         : static_cast<u32>(std::get<i64>(asked->second));
  for (u32 group = 0; group < df.g; group++)
    for (u32 other = 0; other < df.g; other++)
      if (group != other)
        CHECK_FOR(links(net, group, other).size() == wanted,
                  name + std::to_string(group) + " -> " + std::to_string(other));
}

TEST(dragonfly_of_every_shape) {
  for (const std::string arrangement : {"absolute", "relative", "palmtree", "random", "even"}) {
    const Values with = {{"arrangement", arrangement}};
    for (const auto& [p, a, h, g] : {std::array<i64, 4>{2, 4, 2, 9},
                                     {1, 2, 1, 3},
                                     {1, 1, 3, 4},
                                     {2, 4, 2, 5},
                                     {1, 4, 2, 2},
                                     {1, 4, 2, 7},
                                     {2, 6, 3, 10},
                                     {1, 3, 4, 8}})
      check_shape(dragonfly_section(p, a, h, g, with));
    check_shape(dragonfly_section(1, 4, 3, 4, {{"arrangement", arrangement}, {"links_per_group_pair", 3}}));
    check_shape(dragonfly_section(1, 4, 3, 4, {{"arrangement", arrangement}, {"links_per_group_pair", 1}}));
  }
}

// Rule: the link of group G to group D is q = D if D < G, else D - 1. It is on router q div h, global port q mod h.
TEST(absolute_arrangement_by_hand) {
  const auto net = network_of(network_1056());
  check_link(*net, 0, 1, {0, 0}, {0, 0});
  check_link(*net, 0, 32, {7, 3}, {0, 0});
  check_link(*net, 5, 3, {0, 3}, {1, 0});    // q = 3; back q = 4
  check_link(*net, 16, 17, {4, 0}, {4, 0});  // q = 16; back q = 16
  check_link(*net, 31, 32, {7, 3}, {7, 3});  // q = 31; back q = 31
  check_link(*net, 10, 20, {4, 3}, {2, 2});  // q = 19; back q = 10
  const auto large = network_of(dragonfly_section(5, 10, 5, 51));
  check_link(*large, 50, 7, {1, 2}, {9, 4});  // q = 7; back q = 49
  CHECK_EQ(large->terminals, 2550u);
  CHECK_EQ(large->routers, 510u);
  CHECK_EQ(large->radix, 19u);
}

// relative: link q leads to group (G + q + 1) mod g. palmtree: to group (G - q - 1) mod g.
TEST(relative_and_palmtree_by_hand) {
  const auto relative = network_of(dragonfly_section(1, 4, 2, 9, {{"arrangement", "relative"}}));
  check_link(*relative, 3, 4, {0, 0}, {3, 1});  // q = 0; back (4 + 7 + 1) mod 9 = 3
  check_link(*relative, 3, 1, {3, 0}, {0, 1});  // q = 6; back q = 1
  const auto palmtree = network_of(dragonfly_section(1, 4, 2, 9, {{"arrangement", "palmtree"}}));
  check_link(*palmtree, 0, 8, {0, 0}, {3, 1});
  check_link(*palmtree, 5, 2, {1, 0}, {2, 1});  // q = 2; back (2 - 5 - 1) mod 9 = 5
}

// A hop is minimal if it leads closer, or if it is on the minimal path by one of the parallel links. The bulk marking
// agrees with this definition.
TEST(dragonfly_marks_hops_off_the_minimal_paths) {
  for (const Section& topology :
       {small_network(), dragonfly_section(2, 3, 2, 4, {{"arrangement", "palmtree"}}), dragonfly_section(1, 3, 1, 4)}) {
    Lone x(build(config(topology, input_queued(), {"random", {}}, {"uniform", {}})));
    const Dragonfly& df = as_dragonfly(x.net);
    u32 minimal = 0, others = 0;
    for (u32 source = 0; source < x.net.terminals; source += 3)
      for (u32 router = 0; router < x.net.routers; router++)
        for (u32 destination = 0; destination < x.net.terminals; destination++)
          for (u32 sequence = 0; sequence < df.links; sequence++) {
            x.send(source, destination, sequence);
            const u32 to = x.net.terminal_router[destination];
            for (u32 port = 0; port < x.net.radix; port++) {
              const bool ejects = router == to && port == x.net.terminal_port[destination];
              if (!ejects && !x.net.is_link(x.net.port(router, port))) continue;
              bool nearer = ejects;
              if (!nearer && router != to)
                nearer = 1 + df.hops_between(x.net, x.net.next_router(x.net.port(router, port)), to) <=
                         df.hops_between(x.net, router, to);
              for (u32 link = 0; router != to && link < df.links; link++)
                nearer |= df.towards(x.net, router, to, link) == port;
              x.packet().nonminimal = 0;
              x.request(0, {router, 0, 0});
              x.batch.out_port[0] = static_cast<u16>(port);
              mark_nonminimal(x.net, x.state, x.batch);
              CHECK_EQ(x.packet().nonminimal, !nearer);
              (nearer ? minimal : others)++;
            }
          }
    CHECK(minimal > 500 && others > 500);
  }
}

}  // namespace topology_dragonfly_test
