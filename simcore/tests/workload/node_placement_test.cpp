// Placement on nodes with several accelerators: nodes stay whole, NICs by rank, rails, and refusals.
#include <algorithm>
#include <map>
#include <set>

#include "readers/goal.hpp"
#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace workload_node_placement_test {

using namespace scenes;

JobSection ring(const std::string& name, u32 ranks, std::vector<u32> terminals = {}) {
  std::string text = "num_ranks " + std::to_string(ranks) + "\n";
  for (u32 r = 0; r < ranks; r++)
    text += "rank " + std::to_string(r) + " {\nsend 1000b to " + std::to_string((r + 1) % ranks) +
            "\nrecv 1000b from " + std::to_string((r + ranks - 1) % ranks) + "\n}\n";
  return {name, {}, workload::read_goal(text, name), std::move(terminals)};
}

Config on(Section topology, i64 ranks, i64 nics, const Values& more, std::vector<JobSection> jobs) {
  const bool tree = topology.name == "fat_tree";
  Config c = config(std::move(topology), sc22(), {tree ? "up_down" : "minimal", {}}, {"", {}});
  c.workload = {merge({{"ranks_per_node", ranks}, {"nics_per_node", nics}}, more), std::move(jobs)};
  return c;
}

Values policy(const std::string& name) { return {{"placement", name}}; }

// Rank k of a job is the rank k mod G of one of its nodes, and uses NIC (k mod G) / (G / N).
void check_whole_nodes(const Workload& w) {
  const Nodes& nodes = w.nodes;
  std::set<u32> taken;
  for (const Job& job : w.jobs) {
    std::set<u32> own;
    for (u32 k = 0; k < job.ranks; k++) {
      const u32 r = job.first_rank + k, node = w.rank_node[r];
      CHECK_EQ(node, w.rank_node[job.first_rank + k / nodes.ranks * nodes.ranks]);
      const u32 nic = k % nodes.ranks / (nodes.ranks / nodes.nics);
      CHECK_EQ(w.rank_terminal[r], nodes.terminals[node * nodes.nics + nic]);
      own.insert(node);
    }
    CHECK_EQ(own.size(), std::size_t{(job.ranks + nodes.ranks - 1) / nodes.ranks});
    for (const u32 node : own) CHECK(taken.insert(node).second);  // no other job is there
  }
}

Section tree_64() { return {"fat_tree", {}}; }

TEST(node_placement_keeps_nodes_whole) {
  for (const std::string& name : placement_policies())
    for (const auto& [ranks, nics] : {std::pair{1, 1}, {2, 2}, {4, 2}, {8, 2}, {8, 8}, {3, 1}}) {
      const Values few = merge(policy(name), {{"mapping_steps", i64{2000}}});
      const Simulation sim(on(small_network(), ranks, nics, few, {ring("a", 13), ring("b", 9), ring("c", 8)}));
      const Workload& w = *sim.network().workload;
      check_whole_nodes(w);
      CHECK_EQ(w.nodes.count, 72u / nics);
      for (u32 t = 0; t < 72; t++) CHECK_EQ(w.nodes.of_terminal[t], t / nics);
      for (u32 t = 0; t < 72; t++)
        if (const u32 r = w.terminal_rank[t]; r != kNone) CHECK(w.rank_terminal[r] == t);
    }
}

TEST(node_placement_follows_its_policy) {
  const auto placed = [](const std::string& name, i64 seed = 1) {
    return Simulation(on(small_network(), 4, 1, merge(policy(name), {{"placement_seed", seed}}),
                         {ring("a", 20), ring("b", 12), ring("c", 9)}));
  };
  const auto routers_of = [](const Simulation& sim, u32 job) {
    const Workload& w = *sim.network().workload;
    std::set<u32> routers;
    for (u32 k = 0; k < w.jobs[job].ranks; k++)
      routers.insert(sim.network().terminal_router[w.rank_terminal[w.jobs[job].first_rank + k]]);
    return routers;
  };
  const Simulation linear = placed("linear");
  for (u32 r = 0; r < 20; r++) CHECK_EQ(linear.network().workload->rank_node[r], r / 4);
  CHECK_EQ(linear.network().workload->rank_node[20], 5u);
  const auto at = [](const Simulation& sim) { return sim.network().workload->rank_node; };
  CHECK(at(placed("random")) != at(linear));
  CHECK(at(placed("random")) == at(placed("random")));
  CHECK(at(placed("random")) != at(placed("random", 2)));
  // Jobs in separate routers, and in separate groups.
  for (const std::string name : {"clustered", "clustered_router"}) {
    const Simulation sim = placed(name);
    std::map<u32, std::set<u32>> jobs_at;
    for (u32 j = 0; j < 3; j++)
      for (const u32 r : routers_of(sim, j)) jobs_at[name == "clustered" ? sim.network().router_group[r] : r].insert(j);
    for (const auto& [where, jobs] : jobs_at) CHECK_EQ(jobs.size(), std::size_t{1});
  }
  // A router with two terminals has two nodes of one NIC. Both are taken before the next router.
  const Simulation racks(on(small_network(), 4, 1, policy("random_router"), {ring("a", 32)}));
  CHECK_EQ(routers_of(racks, 0).size(), std::size_t{4});
}

TEST(node_placement_takes_rails) {
  const Simulation sim(on(tree_64(), 4, 4,
                          {{"node_terminals", std::string("rails")}, {"placement", std::string("linear")}},
                          {ring("a", 40)}));
  const Network& net = sim.network();
  const Workload& w = *net.workload;
  check_whole_nodes(w);
  CHECK_EQ(w.nodes.count, net.terminals / 4);
  std::set<u32> all(w.nodes.terminals.begin(), w.nodes.terminals.end());
  CHECK_EQ(all.size(), std::size_t{net.terminals});
  for (u32 n = 0; n < w.nodes.count; n++) {
    std::set<u32> routers;
    for (u32 j = 0; j < 4; j++) {
      const u32 t = w.nodes.terminals[n * 4 + j];
      routers.insert(net.terminal_router[t]);
      // NIC j of all nodes of a set is at the same router: its rail.
      CHECK_EQ(net.terminal_router[t], net.terminal_router[w.nodes.terminals[j]] + n / 4 * 4);
    }
    CHECK_EQ(routers.size(), std::size_t{4});
  }
}

// A failed terminal takes its node out of service. The other nodes keep their terminals.
TEST(node_placement_leaves_out_nodes_with_failed_terminals) {
  for (const std::string how : {"consecutive", "rails"}) {
    Config c =
        on(small_network(), 4, 2, {{"node_terminals", how}, {"placement", std::string("linear")}}, {ring("a", 40)});
    const Simulation whole(c);
    c.failures = {{"terminals", std::string("5, 20")}};
    const Simulation sim(c);
    const Nodes &before = whole.network().workload->nodes, &after = sim.network().workload->nodes;
    CHECK_EQ(before.count, 36u);
    CHECK_EQ(after.count, 34u);
    u32 left = 0;
    for (u32 n = 0; n < 36; n++) {
      const u32 a = before.terminals[2 * n], b = before.terminals[2 * n + 1];
      if (a == 5 || b == 5 || a == 20 || b == 20) continue;
      CHECK_EQ(sim.network().terminal_name(after.terminals[2 * left]), std::to_string(a));
      CHECK_EQ(sim.network().terminal_name(after.terminals[2 * left + 1]), std::to_string(b));
      left++;
    }
    CHECK_EQ(left, 34u);
    check_whole_nodes(*sim.network().workload);
  }
}

TEST(node_placement_shares_nodes_only_on_request) {
  const auto placed = [](bool share) {
    return Simulation(on(small_network(), 8, 4, {{"placement", std::string("linear")}, {"share_nodes", share}},
                         {ring("a", 3), ring("b", 3), ring("c", 9)}));
  };
  const auto at = [](const Simulation& sim) { return sim.network().workload->rank_node; };
  CHECK(at(placed(false)) == (std::vector<u32>{0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3}));
  // Ranks 0 to 2 use NICs 0 and 1. The next job begins at the next free NIC.
  const Simulation shared = placed(true);
  CHECK(at(shared) == (std::vector<u32>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2}));
  CHECK(shared.network().workload->rank_terminal == (std::vector<u32>{0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8}));
}

TEST(node_placement_maps_nodes_by_the_bytes_between_them) {
  // The pairs of ranks 4 k and 4 k + 35 exchange bytes, so neighbours in number are no neighbours in traffic.
  std::string text = "num_ranks 72\n";
  for (u32 r = 0; r < 72; r++)
    text += "rank " + std::to_string(r) + " {\nsend 100000b to " + std::to_string((r + 36) % 72) +
            "\nrecv 100000b from " + std::to_string((r + 36) % 72) + "\nsend 9000b to " +
            std::to_string(r / 4 * 4 + (r + 1) % 4) + "\nrecv 9000b from " + std::to_string(r / 4 * 4 + (r + 3) % 4) +
            "\n}\n";
  const auto placed = [&](const Values& more) {
    return Simulation(
        on(small_network(), 4, 1, merge(policy("mapped"), more), {{"far", {}, workload::read_goal(text, "far"), {}}}));
  };
  const Simulation in_order = placed({{"mapping", std::string("in_order")}, {"mapping_refine", std::string("none")}});
  const Simulation mapped = placed({});
  check_whole_nodes(*mapped.network().workload);
  for (u32 r = 0; r < 72; r++) CHECK_EQ(in_order.network().workload->rank_node[r], r / 4);
  // Two nodes share a router, so partners can be at distance 0.
  CHECK(in_order.network().workload->mapping->dilation > 1.5);
  CHECK(mapped.network().workload->mapping->dilation < 0.3);
}

}  // namespace workload_node_placement_test
