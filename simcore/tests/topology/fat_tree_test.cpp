// Fat tree: switches are joined according to their labels, counts agree with formulas, and closed forms with
// breadth-first search.
#include "simcore/topology/fat_tree.hpp"

#include "support/fat_tree.hpp"
#include "support/links.hpp"

namespace topology_fat_tree_test {

using namespace scenes;

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
  const auto built = network_of(tree.section(), "up_down");
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
  for (const Xgft& tree : shapes()) check_closed_forms(*network_of(tree.section(), "up_down"));
}

}  // namespace topology_fat_tree_test
