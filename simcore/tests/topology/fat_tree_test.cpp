// Fat tree: switches are joined according to their labels, counts agree with formulas, and closed forms with
// breadth-first search.
#include "simcore/topology/fat_tree.hpp"

#include "simcore/error.hpp"
#include "simcore/graph.hpp"
#include "support/fat_tree.hpp"
#include "support/links.hpp"
#include "test.hpp"

namespace topology_fat_tree_test {

using namespace scenes;

std::shared_ptr<const Network> network(const Section& topology) {
  return build(config(topology, input_queued(), {"up_down", {}}, {"uniform", {}}));
}

// The label of a switch: its level, then x_1 .. x_h.
using Label = std::vector<u32>;
std::vector<Label> labels(const Xgft& tree) {
  std::vector<Label> all;
  for (u32 l = 1; l <= tree.h(); l++) {
    Label at(tree.h() + 1, 0);
    at[0] = l;
    for (bool more = true; more;) {
      all.push_back(at);
      more = false;
      for (u32 i = 1; i <= tree.h() && !more; i++) {
        more = ++at[i] < (i <= l ? tree.w(i) : tree.m(i));
        if (!more) at[i] = 0;
      }
    }
  }
  return all;
}

std::vector<Xgft> shapes() {
  return {k_ary_tree(2, 2),
          k_ary_tree(2, 4),
          k_ary_tree(4, 3),
          {{1, 2}, {1, 1}, {1, 1}},
          {{4, 6}, {1, 2}, {1, 3}},
          {{3, 2, 4}, {1, 3, 2}, {1, 1, 2}, 1},
          {{2, 3, 2, 2}, {1, 1, 4, 3}, {1, 2, 1, 1}, 2},
          {{1, 5, 3}, {1, 2, 3}, {1, 1, 1}, 0},
          {{2, 2, 3, 2, 2}, {1, 2, 1, 3, 2}, {1, 1, 2, 1, 1}},
          rail_672()};
}

void check_wiring(const Xgft& tree) {
  const auto built = network(tree.section());
  const Network& net = *built;
  const std::string name = tree.name();
  const auto all = labels(tree);
  const u32 h = tree.h();
  u32 terminals = 1, switches = 0;
  for (u32 l = 1; l <= h; l++) {
    terminals *= tree.m(l);
    u32 here = 1;
    for (u32 i = 1; i <= h; i++) here *= i <= l ? tree.w(i) : tree.m(i);
    CHECK_FOR(as_fat_tree(net).first[l] == switches, name);
    switches += here;
  }
  CHECK_FOR(net.terminals == terminals && net.routers == switches && all.size() == switches, name);
  for (u32 t = 0; t < terminals; t++)
    CHECK_FOR(net.terminal_router[t] == t / tree.m(1) && net.terminal_port[t] == t % tree.m(1), name);

  // The cables between each pair of switches, and their ports.
  std::vector<u32> joined(std::size_t{switches} * switches, 0);
  for (u32 r = 0; r < switches; r++) {
    const u32 l = all[r][0], down = tree.m(l) * tree.p(l), up = tree.w(l + 1) * tree.p(l + 1);
    u32 used = 0;
    for (u32 k = 0; k < net.radix; k++) {
      const Channel& channel = net.channels[net.port(r, k)];
      if (channel.peer == kNone) continue;
      used++;
      CHECK_FOR(k < down + up, name);
      if (l == 1 && k < down) {
        CHECK_FOR(net.is_nic(channel.peer), name);
        continue;
      }
      const u32 to = net.router_of_port(channel.peer), level = k < down ? l : l + 1;
      CHECK_FOR(net.channels[channel.peer].peer == net.port(r, k), name);
      CHECK_FOR(all[to][0] == (k < down ? l - 1 : l + 1), name);
      CHECK_FOR(all[to][level] == (k < down ? k % tree.m(l) : (k - down) % tree.w(l + 1)), name);
      CHECK_FOR(channel.kind == (tree.local < 0 || level - 1 <= tree.local ? PortKind::kLocal : PortKind::kGlobal),
                name);
      joined[std::size_t{r} * switches + to]++;
    }
    CHECK_FOR(used == down + up, name);
    CHECK_FOR(l == h || net.router_group[r] == all[r][h], name);
  }
  CHECK_FOR(net.groups == tree.m(h), name);
  for (u32 a = 0; a < switches; a++)
    for (u32 b = 0; b < switches; b++) {
      u32 expected = 0;
      if (all[a][0] + 1 == all[b][0] || all[b][0] + 1 == all[a][0]) {
        const u32 upper = std::max(all[a][0], all[b][0]);
        expected = tree.p(upper);
        for (u32 i = 1; i <= h; i++)
          if (i != upper && all[a][i] != all[b][i]) expected = 0;
      }
      CHECK_FOR(joined[std::size_t{a} * switches + b] == expected,
                name + ": routers " + std::to_string(a) + " and " + std::to_string(b));
    }
}

TEST(fat_trees_are_joined_by_their_labels) {
  for (const Xgft& tree : shapes()) check_wiring(tree);
}

// Between switches of any two levels and for every port, without a table.
TEST(fat_tree_distances_agree_with_a_search) {
  for (const Xgft& tree : shapes()) {
    const auto net = network(tree.section());
    const Topology& topology = *net->topology;
    const Graph& graph = *net->graphs[0];
    CHECK(topology.closed && graph.hops.empty());
    const auto next = neighbors_of(*net);
    u32 longest = 0, longest_of_leaves = 0;
    for (u32 from = 0; from < net->routers; from++) {
      const auto hops = hops_from(next, from);
      for (u32 to = 0; to < net->routers; to++) {
        CHECK_FOR(topology.hops_between(*net, from, to) == hops[to], tree.name() + ": " + std::to_string(from) +
                                                                         " to " + std::to_string(to) + " in " +
                                                                         std::to_string(hops[to]));
        longest = std::max(longest, hops[to]);
        if (from < as_fat_tree(*net).first[2] && to < as_fat_tree(*net).first[2])
          longest_of_leaves = std::max(longest_of_leaves, hops[to]);
        each_link(*net, graph, to, [&](u32 k) {
          CHECK_EQ(topology.is_minimal(*net, graph, to, k, from), hops[net->next_router(net->port(to, k))] < hops[to]);
        });
      }
    }
    CHECK_EQ(topology.diameter, longest);
    CHECK_EQ(topology.diameter, longest_of_leaves);
  }
}

// From any switch, also a switch that no minimal path of the packet passes.
TEST(fat_tree_minimal_ports_shorten_the_path) {
  for (const Xgft& tree : shapes()) {
    const auto net = network(tree.section());
    for (u32 from = 0; from < net->routers; from++)
      for (u32 t = from % 3; t < net->terminals; t += 3) {
        Packet packet{};
        packet.destination = t;
        u32 at = from, hops = 0;
        for (u32 port;
             net->is_link(port = net->port(at, net->topology->minimal_port(*net, *net->graphs[0], at, packet))); hops++)
          at = net->next_router(port);
        CHECK_FOR(at == net->terminal_router[t] && hops == net->topology->hops_between(*net, from, at), tree.name());
      }
  }
}

// A rail of TSUBAME2: 48 leaves with 14 terminals and 18 links up, and directors of 8 (of 18) and 9 switches.
TEST(fat_tree_of_672_terminals) {
  const auto net = network(rail_672().section());
  CHECK_EQ(net->terminals, 672u);
  CHECK_EQ(net->routers, 48u + 48 + 54);
  CHECK_EQ(net->radix, 36u);
  u32 up = 0, inside = 0;
  for (u32 p = 0; p < net->router_ports; p++) {
    if (!net->is_link(p)) continue;
    up += net->router_of_port(p) < 48;
    inside += net->router_of_port(p) >= 96;
  }
  CHECK_EQ(up, 48u * 18);
  CHECK_EQ(inside, 6u * 8 * 18);
}

TEST(impossible_fat_trees_are_refused) {
  const auto refused = [](std::vector<double> children, std::vector<double> parents, std::vector<double> links,
                          const std::vector<std::string>& parts) {
    testing::thrown<ConfigError>(
        __FILE__, __LINE__, "network", [&] { network(Xgft{children, parents, links}.section()); }, parts);
  };
  refused({8}, {1}, {1}, {"topology.fat_tree.children", "[8]", "1 levels", "2 to 10"});
  refused({4, 4, 4}, {1, 4}, {1}, {"topology.fat_tree.parents", "[1, 4]", "3 numbers", "[4, 4, 4]"});
  refused({500, 2}, {1, 13}, {1}, {"topology.fat_tree", "level 1", "500", "13", "512"});
}

}  // namespace topology_fat_tree_test
