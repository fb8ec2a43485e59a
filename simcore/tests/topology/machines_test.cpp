// Networks of real machines. The fat trees with rails and planes have the component counts that NVIDIA and DeepSeek
// publish.
#include "simcore/registry.hpp"
#include "simcore/topology/fat_tree.hpp"
#include "support/crafted.hpp"
#include "support/links.hpp"

namespace topology_machines_test {

using namespace scenes;

// Only the wiring, without the state and the distances, so that large networks are cheap.
Wiring wired(const Section& topology) {
  const TopologySpec& spec = registry<TopologySpec>().find(topology.name)->second;
  Wiring w;
  spec.wire(Params("topology." + spec.name, spec.params, topology.values, 0), w);
  return w;
}

// Cables between each pair of routers, lower number first.
std::map<std::pair<u32, u32>, u32> cables(const Wiring& w) {
  std::map<std::pair<u32, u32>, u32> between;
  for (u32 r = 0; r < w.routers; r++)
    for (u32 p = w.first[r]; p < w.first[r + 1]; p++) {
      if (w.kind[p] != PortKind::kLocal && w.kind[p] != PortKind::kGlobal) continue;
      const auto to = static_cast<u32>(std::ranges::upper_bound(w.first, w.peer[p]) - w.first.begin()) - 1;
      if (r < to) between[{r, to}]++;
    }
  return between;
}

u32 router_of(const Wiring& w, u32 terminal) {
  return static_cast<u32>(std::ranges::upper_bound(w.first, w.terminal_port[terminal]) - w.first.begin()) - 1;
}

Section rails(i64 nodes, i64 rails, i64 pods, i64 spines, const Values& more = {}) {
  return {"rail_optimised",
          merge({{"nodes_per_pod", nodes}, {"rails", rails}, {"pods", pods}, {"spines", spines}}, more)};
}
Section planes(i64 accelerators, i64 planes, i64 hosts, i64 leaves, i64 spines, const Values& more = {}) {
  return {"multi_plane_fat_tree", merge({{"accelerators", accelerators},
                                         {"planes", planes},
                                         {"hosts_per_leaf", hosts},
                                         {"leaves", leaves},
                                         {"spines", spines}},
                                        more)};
}

u32 parameter(const Section& shape, const char* key, i64 fallback) {
  const auto found = shape.values.find(key);
  return static_cast<u32>(found == shape.values.end() ? fallback : std::get<i64>(found->second));
}

std::vector<Section> rail_shapes() {
  return {rails(2, 4, 3, 2),
          rails(3, 2, 2, 3, {{"spine_links", 2}}),
          rails(1, 8, 1, 4),
          rails(2, 2, 6, 2, {{"leaves_per_spine", 4}, {"cores", 3}}),
          rails(2, 3, 4, 2, {{"leaves_per_spine", 4}, {"cores", 2}, {"leaf_order", "rail"}}),
          rails(2, 4, 2, 2, {{"leaves_per_spine", 4}, {"cores", 2}, {"core_links", 3}})};
}
std::vector<Section> plane_shapes() {
  return {planes(2, 2, 3, 2, 2), planes(4, 3, 2, 3, 1, {{"spine_links", 2}, {"host_links", 2}}), planes(8, 8, 5, 1, 0),
          planes(1, 2, 2, 2, 2, {{"pods", 3}, {"cores", 2}})};
}

// Interface j of each node of a pod is on leaf j of that pod. Leaves that share a spine share all their spines.
TEST(rails_lead_to_the_leaves_of_their_pod) {
  for (const Section& shape : rail_shapes()) {
    const Wiring w = wired(shape);
    const auto number = [&](const char* key, i64 fallback) { return parameter(shape, key, fallback); };
    const u32 nodes = number("nodes_per_pod", 0), per_node = number("rails", 0), pods = number("pods", 0);
    const u32 leaves = per_node * pods, spines = number("spines", 0), links = number("spine_links", 1);
    CHECK_EQ(w.terminal_port.size(), std::size_t{leaves} * nodes);
    std::map<u32, std::set<std::pair<u32, u32>>> seen;  // leaf: (pod, rail)
    for (u32 t = 0; t < w.terminal_port.size(); t++) {
      const u32 leaf = router_of(w, t), pod = t / per_node / nodes;
      CHECK(leaf < leaves);
      CHECK_EQ(w.router_group[leaf], pod);
      seen[leaf].insert({pod, t % per_node});
    }
    CHECK_EQ(w.groups, pods);
    CHECK_EQ(seen.size(), std::size_t{leaves});
    for (const auto& [leaf, uses] : seen) CHECK_EQ(uses.size(), std::size_t{1});

    std::map<u32, std::set<u32>> above;  // leaf: spines
    for (const auto& [pair, count] : cables(w))
      if (pair.first < leaves) {
        CHECK_EQ(count, links);
        above[pair.first].insert(pair.second);
      }
    std::map<std::set<u32>, std::set<u32>> blocks;  // spines: leaves
    for (const auto& [leaf, own] : above) {
      CHECK_EQ(own.size(), std::size_t{spines});
      blocks[own].insert(leaf);
    }
    const u32 asked = number("leaves_per_spine", 0), size = asked ? asked : leaves;
    CHECK_EQ(blocks.size(), std::size_t{leaves / size});
    const bool by_rail = shape.values.contains("leaf_order");
    for (const auto& [own, members] : blocks) {
      CHECK_EQ(members.size(), std::size_t{size});
      // A block of no more leaves than a rail (or a pod) has leaves of that rail (or that pod) alone.
      std::set<u32> common;
      for (const u32 leaf : members) common.insert(by_rail ? seen[leaf].begin()->second : seen[leaf].begin()->first);
      if (size <= (by_rail ? pods : per_node)) CHECK_EQ(common.size(), std::size_t{1});
    }
  }
}

// NVIDIA, DGX SuperPOD reference architecture (B200), table of larger components: scalable units of 32 nodes with 8
// GPUs; switches of 64 ports. Three levels begin at 16 units. The shapes above the leaves follow from the counts.
TEST(rail_optimised_trees_have_the_published_components) {
  struct Row {
    i64 units, leaves, spines, cores, cables;  // cables: on each level
    Values above;
  };
  const auto three = [](i64 spines, i64 block, i64 spine_links, i64 cores, i64 core_links) {
    return Values{{"spines", spines}, {"leaves_per_spine", block}, {"spine_links", spine_links},
                  {"cores", cores},   {"core_links", core_links},  {"leaf_order", "rail"}};
  };
  const std::vector<Row> rows = {{2, 16, 8, 0, 512, {{"spines", 8}, {"spine_links", 4}}},
                                 {4, 32, 16, 0, 1024, {{"spines", 16}, {"spine_links", 2}}},
                                 {8, 64, 32, 0, 2048, {{"spines", 32}}},
                                 {16, 128, 128, 64, 4096, three(16, 16, 2, 4, 8)},
                                 {32, 256, 256, 128, 8192, three(32, 32, 1, 4, 8)},
                                 {64, 512, 512, 256, 16384, three(32, 32, 1, 8, 4)}};
  for (const Row& row : rows) {
    const Wiring w =
        wired({"rail_optimised", merge({{"nodes_per_pod", 32}, {"rails", 8}, {"pods", row.units}}, row.above)});
    const std::string name = std::to_string(row.units) + " units";
    CHECK_FOR(w.terminal_port.size() == static_cast<std::size_t>(row.units * 256), name);
    CHECK_FOR(w.routers == static_cast<u32>(row.leaves + row.spines + row.cores), name);
    i64 lower = 0, upper = 0;
    for (const auto& [pair, count] : cables(w)) (pair.first < row.leaves ? lower : upper) += count;
    CHECK_FOR(lower == row.cables && upper == (row.cores ? row.cables : 0), name);
    for (u32 r = 0; r < w.routers; r++) CHECK_FOR(w.first[r + 1] - w.first[r] == 64, name);
  }
}

TEST(distances_of_rails_and_planes_agree_with_a_search) {
  for (const Section& shape : rail_shapes()) check_closed_forms(*network_of(shape, "up_down"));
  for (const Section& shape : plane_shapes()) check_closed_forms(*network_of(shape, "up_down"));
}

// Without the hosts, the planes are separate components of equal size. Each host has its cables in every plane, and all
// hosts of a leaf have the same leaves.
TEST(planes_meet_only_in_the_hosts) {
  for (const Section& shape : plane_shapes()) {
    const Wiring w = wired(shape);
    const auto number = [&](const char* key, i64 fallback) { return parameter(shape, key, fallback); };
    const u32 accelerators = number("accelerators", 0), count = number("planes", 0);
    const u32 hosts = number("hosts_per_leaf", 0) * number("leaves", 0) * number("pods", 1);
    CHECK_EQ(w.terminal_port.size(), std::size_t{hosts} * accelerators);
    for (u32 t = 0; t < w.terminal_port.size(); t++) CHECK_EQ(router_of(w, t), t / accelerators);
    std::vector<u32> plane(w.routers);
    for (u32 r = 0; r < w.routers; r++) plane[r] = r;
    const auto find = [&](u32 r) {
      while (plane[r] != r) r = plane[r];
      return r;
    };
    const auto between = cables(w);
    for (const auto& [pair, n] : between)
      if (pair.first >= hosts) plane[find(pair.first)] = find(pair.second);
    std::map<u32, u32> sizes;
    for (u32 r = hosts; r < w.routers; r++) sizes[find(r)]++;
    CHECK_EQ(sizes.size(), std::size_t{count});
    for (const auto& [root, size] : sizes) CHECK_EQ(size, (w.routers - hosts) / count);
    std::map<u32, std::map<u32, u32>> reached;  // host: plane: cables
    std::map<std::set<u32>, u32> below;         // leaves: hosts
    std::map<u32, std::set<u32>> leaves;
    for (const auto& [pair, n] : between)
      if (pair.first < hosts) reached[pair.first][find(pair.second)] += n, leaves[pair.first].insert(pair.second);
    for (u32 host = 0; host < hosts; host++) {
      CHECK_EQ(reached[host].size(), std::size_t{count});
      for (const auto& [root, n] : reached[host]) CHECK_EQ(n, number("host_links", 1));
      below[leaves[host]]++;
    }
    CHECK_EQ(below.size(), std::size_t{hosts / number("hosts_per_leaf", 0)});
    // Switch k of a level belongs to plane k mod P.
    const u32 pods = number("pods", 1), spines = number("spines", 0);
    u32 first = hosts;
    for (const u32 size :
         {count * number("leaves", 0) * pods, count * spines * pods, count * spines * number("cores", 0)}) {
      for (u32 k = 0; k < size; k++) CHECK_EQ(find(first + k), find(first + k % count));
      first += size;
    }
    CHECK_EQ(first, w.routers);
  }
}

// Zhao et al., ISCA 2025: with switches of 64 ports, eight planes of two levels join 16,384 accelerators with 768
// switches.
TEST(multi_plane_trees_have_the_published_components) {
  const Wiring w = wired(planes(8, 8, 32, 64, 32));
  CHECK_EQ(w.terminal_port.size(), std::size_t{16384});
  CHECK_EQ(w.routers, 2048u + 768u);
  u64 between = 0;
  for (const auto& [pair, n] : cables(w)) between += pair.first >= 2048 ? n : 0;
  CHECK_EQ(between, u64{16384});
  for (u32 r = 2048; r < w.routers; r++) CHECK_EQ(w.first[r + 1] - w.first[r], 64u);
}

}  // namespace topology_machines_test
