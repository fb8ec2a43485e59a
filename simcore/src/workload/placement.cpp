// A placement policy puts the nodes in an order. Jobs take nodes from its beginning, one job after the other.
#include "simcore/traffic/draws.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

constexpr u64 kStream = u64{0x706c6163} << 32;  // stream of random draws, separate from those of packets

// Nodes, ordered by the position of their router or group in `order`.
static std::vector<u32> by_place(const std::vector<u32>& order, const std::vector<u32>& of_node) {
  std::vector<u32> place(order.size());
  for (u32 k = 0; k < order.size(); k++) place[order[k]] = k;
  std::vector<u32> nodes(of_node.size());
  std::iota(nodes.begin(), nodes.end(), 0u);
  std::stable_sort(nodes.begin(), nodes.end(), [&](u32 a, u32 b) { return place[of_node[a]] < place[of_node[b]]; });
  return nodes;
}

static std::vector<u32> shuffled(u32 n, u64 seed) {
  std::vector<u32> order(n);
  traffic::draw_order(seed, kStream, n, order.data());
  return order;
}

// The router of each node. If its NICs are at several routers, that of the first NIC stands for all.
static std::vector<u32> router_of_node(const Network& net, const Nodes& nodes) {
  std::vector<u32> router(nodes.count);
  for (u32 n = 0; n < nodes.count; n++) router[n] = net.terminal_router[nodes.first_terminal(n)];
  return router;
}

static std::vector<u32> group_of_node(const Network& net, const Nodes& nodes) {
  std::vector<u32> group = router_of_node(net, nodes);
  for (u32& g : group) g = net.router_group[g];
  return group;
}

// `place` is the group or the router of each node. Every job begins at a place that no other job uses, as long as there
// is one. Remaining nodes in partly used places are filled last, starting with the job that found no unused place.
// `used` [nodes]: nodes of other jobs; empty: none.
static std::vector<u32> clustered(const std::vector<u32>& place, u32 places, const std::vector<u32>& job_nodes,
                                  std::vector<char> used) {
  std::vector<std::vector<u32>> members(places);
  for (u32 n = 0; n < place.size(); n++) members[place[n]].push_back(n);
  std::vector<u32> taken;
  std::vector<char> touched(places, 0);
  used.resize(place.size(), 0);
  for (u32 n = 0; n < place.size(); n++) touched[place[n]] |= used[n];
  const auto take = [&](u32 p, u32& left) {
    for (const u32 n : members[p])
      if (left > 0 && !used[n]) {
        taken.push_back(n);
        used[n] = touched[p] = 1;
        left--;
      }
  };
  for (u32 left : job_nodes) {
    for (u32 p = 0; p < places && left > 0; p++)
      if (!touched[p]) take(p, left);
    for (u32 p = 0; p < places && left > 0; p++) take(p, left);
  }
  for (u32 n = 0; n < place.size(); n++)
    if (!used[n]) taken.push_back(n);
  return taken;
}

// As numbered, but with gaps as on a machine with other jobs. After each node, k nodes are skipped with probability
// 4/5 (1/5)^k (a stride of geometric distribution). Skipped nodes come last, in their order.
static std::vector<u32> fragmented(u32 nodes, u64 seed) {
  std::vector<u32> taken, passed;
  for (u32 n = 0; n < nodes; n++, worked(4)) (below(draw(seed, kStream + 1, n), 5) > 0 ? taken : passed).push_back(n);
  taken.insert(taken.end(), passed.begin(), passed.end());
  return taken;
}

const RankMapping*& rank_mapping() {
  static const RankMapping* mapping = nullptr;
  return mapping;
}

const std::vector<std::string>& placement_policies() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"linear",    "random",           "random_router", "random_group",
                                    "clustered", "clustered_router", "fragmented"};
    if (rank_mapping()) all.push_back("mapped");
    return all;
  }();
  return names;
}

std::vector<u32> placement_order(const Network& net, const Nodes& nodes, const std::string& policy, u64 seed,
                                 const std::vector<u32>& job_nodes, const std::vector<char>& used) {
  if (!used.empty() && !policy.starts_with("clustered")) {
    std::vector<u32> order = placement_order(net, nodes, policy, seed, job_nodes);
    std::erase_if(order, [&](u32 n) { return used[n]; });
    return order;
  }
  if (policy == "random") return shuffled(nodes.count, seed);
  if (policy == "random_router") return by_place(shuffled(net.routers, seed), router_of_node(net, nodes));
  if (policy == "random_group") return by_place(shuffled(net.groups, seed), group_of_node(net, nodes));
  if (policy == "fragmented") return fragmented(nodes.count, seed);
  if (policy == "clustered") return clustered(group_of_node(net, nodes), net.groups, job_nodes, used);
  if (policy == "clustered_router") return clustered(router_of_node(net, nodes), net.routers, job_nodes, used);
  std::vector<u32> order(nodes.count);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace flitgym
