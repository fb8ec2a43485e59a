#include "simcore/topology/fat_tree.hpp"

#include "simcore/registry.hpp"

namespace flitgym::topology::fat_tree {

// The largest number of levels of switches. The digits of a switch must fit into 64 bits. Terminals and top switches
// are fewer than 2^26 each, so the ranges max(m_l, w_l) of the digits multiply to less than 2^52. Rounding each range
// up to a power of 2 adds less than one bit per level.
constexpr u32 kMostLevels = 10;
constexpr u64 kMostPorts = u64{1} << 26;

std::string shown(const Params& params, const std::string& key) { return to_string(Value{params.reals(key)}); }

TreeNumbers read_numbers(const Params& params) {
  std::vector<u32> m = params.counts("children"), w = params.counts("parents"), p = params.counts("links");
  const auto levels = static_cast<u32>(m.size());
  if (levels < 2 || levels > kMostLevels)
    refuse("fat_tree.children", shown(params, "children"), " gives ", levels, " levels of switches; valid are 2 to ",
           kMostLevels, " levels, leaves first, such as [4, 4, 4]");
  const std::string wanted =
      std::to_string(levels) + " numbers, one per level as in children = " + shown(params, "children");
  if (w.size() != levels)
    refuse("fat_tree.parents", shown(params, "parents"), " must have ", wanted, ", the first of which is 1");
  if (w[0] != 1)
    refuse("fat_tree.parents", shown(params, "parents"), " must begin with 1: a terminal is attached to one switch");
  if (p.size() == 1) p.assign(levels, p[0]), p[0] = 1;
  if (p.size() != levels)
    refuse("fat_tree.links", shown(params, "links"), " must have ", wanted,
           ", the first of which is 1, or one number for all levels above the terminals");
  if (p[0] != 1) refuse("fat_tree.links", shown(params, "links"), " must begin with 1: a terminal has one cable");
  for (u32 l = 1; l < levels; l++)
    if (m[l] < 2)
      refuse("fat_tree.children", shown(params, "children"), " gives a switch of level ", l + 1,
             " one child; from level 2 on a switch needs 2 or more");
  return {m, w, p, params.integer("local_levels")};
}

// Arrays by level; the entries at level 0 and above the top are 0.
void take_numbers(const std::string& name, const TreeNumbers& numbers, FatTree& tree) {
  tree.levels = static_cast<u32>(numbers.children.size());
  for (auto [own, given] : {std::pair{&tree.children, &numbers.children},
                            {&tree.parents, &numbers.parents},
                            {&tree.links, &numbers.links}}) {
    own->assign(1, 0);
    own->insert(own->end(), given->begin(), given->end());
    own->push_back(0);
  }
  for (u32 l = 1; l <= tree.levels; l++)
    if (const u64 down = u64{tree.children[l]} * tree.links[l], up = u64{tree.parents[l + 1]} * tree.links[l + 1];
        down + up > kMaxRadix)
      refuse(name, "a switch of level ", l, " would have ", down, " ports down (children x links) and ", up,
             " up (parents x links), but the core supports at most ", kMaxRadix, " ports in all");
}

// Nodes of level l: w_1 .. w_l m_(l+1) .. m_h.
u32 nodes_of(const std::string& name, const FatTree& tree, u32 l) {
  u64 nodes = 1;
  for (u32 i = 1; i <= tree.levels; i++) {
    nodes *= i <= l ? tree.parents[i] : tree.children[i];
    if (nodes >= kMostPorts)
      refuse(name, "level ", l, " would have ", nodes, l ? " switches" : " terminals",
             " or more, but the core supports fewer than ", kMostPorts, " ports");
  }
  return static_cast<u32>(nodes);
}

void name_switches(const std::string& name, FatTree& tree, u32 routers) {
  claim_memory(u64{routers} * 9, "topology." + name, "the digits of ", routers, " switches");
  tree.field.assign(tree.levels + 2, 0);
  for (u32 l = 2; l <= tree.levels; l++) {
    const auto bits = static_cast<u32>(std::bit_width(std::max(tree.children[l], tree.parents[l]) - 1));
    tree.field[l + 1] = tree.field[l] + bits;
    for (u32 b = 0; b < bits; b++) tree.digit_of_bit[tree.field[l] + b] = static_cast<u8>(l);
  }
  for (u32 l = 1; l <= tree.levels; l++)
    for (u32 r = tree.first[l]; r < tree.first[l + 1]; r++, worked(tree.levels)) {
      u64 place = 0;
      for (u32 rest = r - tree.first[l], i = 1; i <= tree.levels; i++) {
        const u32 values = i <= l ? tree.parents[i] : tree.children[i];
        place |= u64{rest % values} << tree.field[i];
        rest /= values;
      }
      tree.place.push_back(place);
      tree.level.push_back(static_cast<u8>(l));
    }
}

void connect(const FatTree& tree, i64 local, Wiring& w) {
  for (u32 l = 1; l < tree.levels; l++) {
    const PortKind kind = local < 0 || l <= local ? PortKind::kLocal : PortKind::kGlobal;
    const u32 m = tree.children[l + 1], p = tree.parents[l + 1], below = tree.spread[l];
    for (u32 r = tree.first[l]; r < tree.first[l + 1]; r++, worked(2 * tree.ups(l))) {
      const u32 subtree = (r - tree.first[l]) / below, place = (r - tree.first[l]) % below;
      for (u32 parent = 0; parent < p; parent++) {
        const u32 to = tree.first[l + 1] + subtree / m * below * p + parent * below + place;
        for (u32 link = 0; link < tree.links[l + 1]; link++)
          w.connect({r, tree.downs(l) + parent + p * link}, {to, subtree % m + m * link}, {kind});
      }
    }
  }
}

void wire(const Params& params, Wiring& w) {
  const auto tree = wire_tree("fat_tree", read_numbers(params), w);
  for (u32 r = 0; r < tree->first[2]; r++, worked(tree->children[1]))
    for (u32 t = 0; t < tree->children[1]; t++) w.attach_terminal({r, t});
  w.data = tree;
}

const Register<TopologySpec> entry({
    .name = "fat_tree",
    .summary = "extended generalised fat tree XGFT(h; m; w) (Oehring et al., IPPS 1995); k-ary n-tree = children k, "
               "parents 1, k",
    .params =
        {
            integer_list("children", {4, 4, 4}, 1, kMaxRadix, "per switch",
                         "m, leaf level first: terminals per leaf, leaves per switch above, ..."),
            integer_list("parents", {1, 4, 4}, 1, kMaxRadix, "per node",
                         "w, in the same order: parents of a terminal (1), of a leaf, of a switch above, ..."),
            integer_list("links", {1}, 1, kMaxRadix, "per node and parent",
                         "parallel cables to each parent, in the same order; one number = the same on all levels above "
                         "the terminals"),
            integer("local_levels", -1, -1, kMostLevels, "",
                    "number of lower levels of cables between switches that are local; higher levels are global; -1 = "
                    "all local"),
        },
    .wire = wire,
    .small = {{"children", std::vector<double>{2, 2, 3}}, {"parents", std::vector<double>{1, 2, 2}}},
});

}  // namespace flitgym::topology::fat_tree

namespace flitgym {

std::shared_ptr<FatTree> wire_tree(const std::string& name, const TreeNumbers& numbers, Wiring& w) {
  using namespace topology::fat_tree;
  using topology::refuse;
  auto tree = std::make_shared<FatTree>();
  take_numbers(name, numbers, *tree);
  const u32 levels = tree->levels;
  if (numbers.local_levels >= i64{levels})
    refuse(name + ".local_levels", numbers.local_levels, " is more than the ", levels - 1,
           " levels of cables between routers; -1 = all");
  nodes_of(name, *tree, 0);
  tree->first.assign(2, 0);
  tree->spread.assign(1, 1);
  u64 ports = 0;
  for (u32 l = 1; l <= levels; l++) {
    const u32 switches = nodes_of(name, *tree, l);
    ports += u64{switches} * (tree->downs(l) + tree->ups(l));
    if (ports >= kMostPorts)
      refuse(name, "the switches up to level ", l, " would have ", ports, " ports, but the core supports fewer than ",
             kMostPorts);
    tree->first.push_back(tree->first[l] + switches);
    tree->spread.push_back(tree->spread[l - 1] * tree->parents[l]);
  }
  // The largest distance between two leaves. No two switches are further apart, because a path stays between levels 1
  // and h.
  tree->diameter = 2 * (levels - 1);
  tree->closed = true;
  name_switches(name, *tree, tree->first[levels + 1]);

  std::vector<u32> radix;
  for (u32 l = 1; l <= levels; l++)
    radix.insert(radix.end(), tree->first[l + 1] - tree->first[l], tree->downs(l) + tree->ups(l));
  w.resize(radix);
  connect(*tree, numbers.local_levels, w);
  group_switches(*tree, tree->children[levels], w);
  return tree;
}

void group_switches(const FatTree& tree, u32 groups, Wiring& w) {
  w.groups = groups;
  for (u32 l = 1; l <= tree.levels; l++) {
    const u32 switches = tree.first[l + 1] - tree.first[l];
    for (u32 k = 0; k < switches; k++) w.router_group[tree.first[l] + k] = static_cast<u32>(u64{k} * groups / switches);
  }
}

}  // namespace flitgym
