// Nodes with several accelerators: closed forms of the intra-node link, shared NICs, conservation of bytes on both
// ways, snapshots and partitions.
#include <set>

#include "readers/goal.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/rng.hpp"
#include "support/jobs.hpp"

namespace workload_nodes_test {

using namespace scenes;

std::string word(u64 n) { return std::to_string(n); }

Values nodes(i64 ranks, i64 nics = 0, const Values& more = {}) {
  return merge({{"ranks_per_node", ranks}, {"nics_per_node", nics}, {"placement", "linear"}}, more);
}
// LogGOPS hosts without headers: an overhead of 100 ns, a gap of 50 ns, and a link of 100 GB/s, 10 ps for a byte.
Values loggops(const Values& more = {}) {
  return merge({{"host", "loggops"},
                {"loggops_o_ns", 100.0},
                {"loggops_g_ns", 50.0},
                {"intra_node_gb_per_s", 100.0},
                {"intra_node_latency_ns", 700.0}},
               more);
}

Config with_program(const std::string& text, Values values, std::vector<u32> terminals = {}) {
  return with_jobs({given("job", workload::read_goal(text, "test"), std::move(terminals))}, std::move(values),
                   small_network(), "minimal", packet_crossbar(sc22()));
}

// A GOAL text from the lines of each rank.
std::string goal(const std::vector<std::string>& ranks) {
  std::string text = "num_ranks " + word(ranks.size()) + "\n";
  for (std::size_t r = 0; r < ranks.size(); r++) text += "rank " + word(r) + " {\n" + ranks[r] + "}\n";
  return text;
}
std::string ping_pong(u64 bytes) {
  const std::string b = word(bytes) + "b";
  return goal({"s: send " + b + " to 1\nr: recv " + b + " from 1\n",
               "r: recv " + b + " from 0\ns: send " + b + " to 0\ns requires r\n"});
}

u64 finished_ps(const Simulation& sim, u32 rank) { return sim.state().ranks[rank].finished; }
u64 flits(const Simulation& sim) { return totals(sim.state()).flits_accepted; }

// Messages between random ranks, and computations. Each message has its own tag.
std::string random_messages(u32 ranks, u32 messages, u64 seed) {
  std::vector<std::string> lines(ranks);
  const u64 sizes[] = {0, 100, 700, 5000, 9000, 20000, 40000};
  for (u32 r = 0; r < ranks; r++) lines[r] = "c: calc " + word(below(draw(seed, 1, r), 3000)) + "\n";
  for (u32 k = 0; k < messages; k++) {
    const u32 from = static_cast<u32>(below(draw(seed, 2, k), ranks)),
              to = static_cast<u32>(below(draw(seed, 3, k), ranks));
    const std::string size = word(sizes[below(draw(seed, 4, k), 7)]) + "b", tag = " tag " + word(k) + "\n";
    lines[from] += "s" + word(k) + ": send " + size + " to " + word(to) + tag;
    if (k % 3 == 0) lines[from] += "s" + word(k) + " requires c\n";
    lines[to] += "r" + word(k) + ": recv " + size + " from " + word(from) + tag;
  }
  return goal(lines);
}

// Bytes that the sends of a program move between ranks of the same node, by reading the program.
u64 bytes_within(const Workload& w) {
  u64 sum = 0;
  Block block;
  for (const Job& job : w.jobs)
    for (u32 r = 0; r < job.ranks; r++)
      for (u64 k = 0; k < job.program->blocks(r); k++) {
        block.clear();
        job.program->block(r, k, block);
        for (const Op& op : block.ops)
          if (op.kind == OpKind::kSend && w.rank_node[job.first_rank + op.peer] == w.rank_node[job.first_rank + r])
            sum += op.size;
      }
  return sum;
}

struct Sums {
  u64 sent = 0, received = 0, messages_sent = 0, messages_received = 0;
};
Sums on_links(const State& s) {
  Sums sums;
  for (const NodePort& port : s.node_ports) {
    sums.sent += port.bytes_sent, sums.received += port.bytes_received;
    sums.messages_sent += port.messages_sent, sums.messages_received += port.messages_received;
  }
  return sums;
}

TEST(nodes_ping_pong_within_a_node_takes_overheads_latency_and_bytes) {
  for (const u64 bytes : {u64{1}, u64{10000}, u64{65535}}) {
    Simulation sim(with_program(ping_pong(bytes), loggops(nodes(2))));
    finish(sim);
    const u64 one_way = 100000 + 700000 + 10 * bytes + 100000;  // o + L + b / B + o
    CHECK_EQ(finished_ps(sim, 1), one_way + 100000);            // an eager send ends after its overhead
    CHECK_EQ(finished_ps(sim, 0), 2 * one_way);
    CHECK_EQ(flits(sim), 0u);
  }
}

TEST(nodes_mpi_costs_of_a_message_within_a_node) {
  const std::string text = goal({"send 1000b to 1\n", "recv 1000b from 0\n"});
  Simulation sim(with_program(text, nodes(2, 0, {{"intra_node_gb_per_s", 100.0}, {"intra_node_latency_ns", 700.0}})));
  finish(sim);
  // Entry 30, setup 24, copy 344 ps per byte, NIC 10; 45 bytes of header; NIC 15, setup 10, match 15, return 30.
  CHECK_EQ(finished_ps(sim, 0), u64{30000 + 24000 + 344 * 1000 + 30000});
  CHECK_EQ(finished_ps(sim, 1),
           u64{30000 + 24000 + 344 * 1000 + 10000 + 700000 + 10 * 1045 + 15000 + 10000 + 15000 + 30000});
  CHECK_EQ(flits(sim), 0u);
}

// Request, fetch, data and acknowledgement each take the latency.
TEST(nodes_rendezvous_within_a_node_takes_four_latencies) {
  const std::string text = goal({"send 1000000b to 1\n", "recv 1000000b from 0\n"});
  Simulation sim(with_program(text, loggops(nodes(2, 0, {{"loggops_S_bytes", 1000}}))));
  finish(sim);
  CHECK_EQ(finished_ps(sim, 1), u64{100000 + 700000 + 100000 + 700000 + 700000 + 10 * 1000000});
  CHECK_EQ(finished_ps(sim, 0), finished_ps(sim, 1) + 700000);
  CHECK_EQ(flits(sim), 0u);
}

// A message between nodes takes the same time as without nodes.
TEST(nodes_ping_pong_across_nodes_takes_the_network) {
  for (const u64 bytes : {u64{500}, u64{50000}})
    for (const Values& host : {Values{}, loggops()}) {
      Simulation alone(with_program(ping_pong(bytes), merge(host, {{"placement", "linear"}}), {0, 70}));
      finish(alone);
      for (const auto& [ranks, nics] : {std::pair{2, 2}, std::pair{4, 2}, std::pair{8, 1}}) {
        Simulation sim(with_program(ping_pong(bytes), merge(host, nodes(ranks, nics)), {0, 70}));
        finish(sim);
        for (const u32 r : {0u, 1u}) CHECK_EQ(finished_ps(sim, r), finished_ps(alone, r));
        CHECK(flits(sim) > 0 && flits(sim) == flits(alone));
        CHECK_EQ(on_links(sim.state()).sent, 0u);
      }
    }
}

// Without overheads, n transfers of b bytes through one port end after L + n b / B, at the sender or at the receiver.
TEST(nodes_ports_of_the_link_serialise) {
  const Values values = loggops(nodes(8, 0, {{"loggops_o_ns", 0.0}, {"loggops_g_ns", 0.0}}));
  const u64 b = 20000, time = 10 * b;
  std::vector<std::string> spread(8), incast(8), all(8);
  for (u32 k = 1; k < 8; k++) {
    spread[0] += "send 20000b to " + word(k) + "\n";
    spread[k] += "recv 20000b from 0\n";
    incast[k] += "send 20000b to 0\n";
    incast[0] += "recv 20000b from " + word(k) + "\n";
    for (u32 r = 0; r < 8; r++) {
      all[r] += "send 20000b to " + word((r + k) % 8) + "\n";
      all[r] += "recv 20000b from " + word((r + 8 - k) % 8) + "\n";
    }
  }
  Simulation from_one(with_program(goal(spread), values)), to_one(with_program(goal(incast), values)),
      to_all(with_program(goal(all), values));
  for (Simulation* sim : {&from_one, &to_one, &to_all}) {
    finish(*sim);
    CHECK_EQ(flits(*sim), 0u);
    CHECK_EQ(job_sums(sim->state())[0].packets, 0u);
    CHECK_EQ(sim->state().part.totals.moves, 0u);
  }
  for (u32 k = 1; k < 8; k++) CHECK_EQ(finished_ps(from_one, k), 700000 + k * time);
  CHECK_EQ(finished_ps(to_one, 0), 700000 + 7 * time);
  for (u32 r = 0; r < 8; r++) CHECK_EQ(finished_ps(to_all, r), 700000 + 7 * time);  // no two transfers meet
}

// Messages from one rank to another keep their order, also if a short request follows long data.
TEST(nodes_link_keeps_the_order_of_messages) {
  std::string sends, receives;
  const u64 sizes[] = {50000, 10, 60000, 0, 30000, 5};
  for (u32 k = 0; k < 6; k++) {  // the receives match in order only
    sends += "s" + word(k) + ": send " + word(sizes[k]) + "b to 1\n";
    receives += "r" + word(k) + ": recv " + word(sizes[k]) + "b from 0\n";
  }
  for (const i64 eager : {i64{0}, i64{100}, i64{55000}, i64{100000}}) {
    Simulation sim(with_program(goal({sends, receives}),
                                loggops(nodes(2, 0, {{"loggops_S_bytes", eager}, {"intra_node_gb_per_s", 1.0}}))));
    finish(sim);
    CHECK_EQ(on_links(sim.state()).received, 140015u);
    CHECK_EQ(on_links(sim.state()).messages_received, 6u);
  }
}

TEST(nodes_ranks_that_share_a_nic_share_its_bandwidth) {
  const std::string one = goal({"send 1000000b to 2\n", "", "recv 1000000b from 0\n", ""});
  const std::string two =
      goal({"send 1000000b to 2\n", "send 1000000b to 3\n", "recv 1000000b from 0\n", "recv 1000000b from 1\n"});
  const auto time = [](const std::string& text, i64 nics, const std::string& order) {
    // With rails, both nodes have a terminal at the same router, so the two messages share no link between routers.
    Simulation sim(with_program(
        text,
        loggops(nodes(2, nics, {{"loggops_S_bytes", 10000000}, {"nic_order", order}, {"node_terminals", "rails"}}))));
    finish(sim);
    CHECK_EQ(flits(sim), (text.find("to 3") == std::string::npos ? 1u : 2u) * u64{1000000 / 128 + 1});
    return static_cast<double>(std::max(finished_ps(sim, 2), finished_ps(sim, 3))) / 1000;
  };
  for (const std::string order : {"message", "packet"}) {
    const double alone = time(one, 1, order), shared = time(two, 1, order), apart = time(two, 2, order);
    CHECK(alone > 40000 && alone < 41500);            // 1 MB at 25 GB/s, and the latency
    CHECK_NEAR(shared - alone, 40000, 0.02 * 40000);  // a second megabyte through the same NIC
    CHECK_NEAR(apart, alone, 0.02 * alone);
  }
}

TEST(nodes_with_one_rank_change_nothing) {
  const std::string text = random_messages(30, 200, 5);
  Simulation plain(with_program(text, {})),
      given(with_program(text, {{"ranks_per_node", 1}, {"nics_per_node", 1}, {"intra_node_gb_per_s", 3.0}}));
  finish(plain);
  finish(given);
  CHECK_EQ(plain.hash(), given.hash());
  CHECK(plain.state().node_ports.empty() && plain.state().packet_ranks.empty());
}

// Random messages with eager and rendezvous transfers, both kinds of hosts, and every number of NICs.
TEST(nodes_conserve_bytes) {
  u32 runs = 0;
  for (const auto& [ranks, nics] : {std::pair{2, 2}, {2, 1}, {4, 2}, {6, 3}, {8, 2}, {8, 1}, {12, 4}})
    for (const bool mpi : {true, false})
      for (const std::string policy : {"linear", "random"}) {
        const u64 seed = ++runs;
        const Values values = nodes(ranks, nics,
                                    {{"placement", policy},
                                     {"loggops_S_bytes", 8000},
                                     {"mpi_eager_bytes", 8000},
                                     {"nic_order", seed % 2 ? "packet" : "message"},
                                     {"message_matrix", true}});
        Simulation sim(with_program(random_messages(36, 300, seed), mpi ? values : loggops(values)));
        sim.begin_window();
        for (u32 k = 0; k < 20; k++) {
          sim.run(150);
          sim.check_conservation();
        }
        CHECK(sim.run_workload(5000000));
        sim.check_conservation();
        const State& s = sim.state();
        const Workload& w = *sim.network().workload;
        const JobTotals job = job_sums(s)[0];
        const workload::ProgramTotals wanted = workload::totals(*w.jobs[0].program);
        const Sums links = on_links(s);
        CHECK_EQ(job.bytes_sent, wanted.bytes);
        CHECK_EQ(job.bytes_received, wanted.bytes);
        CHECK_EQ(job.messages_received, wanted.messages);
        CHECK_EQ(links.sent, bytes_within(w));
        CHECK_EQ(links.received, links.sent);
        CHECK_EQ(links.messages_received, links.messages_sent);
        CHECK(links.sent > 0 && links.sent < wanted.bytes);
        CHECK_EQ(job.outstanding, 0u);
        CHECK_EQ(host_totals(s).messages_open, 0u);
        // The packets carry the bytes between nodes and headers.
        const u64 carried = (wanted.bytes - links.sent + 127) / 128;
        CHECK(job.flits >= carried && (mpi || job.flits <= carried + 2 * 300 * 4));
        // The account of channels and the matrix of messages are complete.
        for (u32 p = 0; p < sim.network().router_ports; p++)
          if (sim.network().channels[p].peer != kNone) CHECK_EQ(s.job_flits[p], s.ports[p].flits);
        double in_matrix = 0;
        for (u32 k = 0; k < 36 * 36; k++) in_matrix += w.matrix.bytes.of(s)[k];
        CHECK_EQ(in_matrix, static_cast<double>(wanted.bytes));
      }
  CHECK_EQ(runs, 28u);
}

// A node is never cut. The state does not depend on threads.
DEEP_TEST(nodes_by_threads_end_in_the_same_state) {
  for (const auto& [ranks, nics] : {std::pair{2, 2}, {4, 1}, {8, 8}}) {
    Config c = with_program(random_messages(64, 500, 3), nodes(ranks, nics, {{"mpi_eager_bytes", 8000}}));
    Simulation whole(c);
    c.partitions = 9;
    Simulation one(c), two(c);
    CHECK_EQ(one.network().partitions(), 9u);
    two.set_threads(2);
    for (Simulation* sim : {&whole, &one, &two}) {
      sim->begin_window();
      sim->run(80000);
    }
    CHECK(one.workload_finished());
    CHECK_EQ(two.hash(), one.hash());
    for (u32 r = 0; r < 64; r++) CHECK_EQ(finished_ps(one, r), finished_ps(whole, r));
    CHECK_EQ(on_links(one.state()).received, on_links(whole.state()).received);
    CHECK_EQ(job_sums(one.state())[0].outstanding_peak, job_sums(whole.state())[0].outstanding_peak);
  }
  // Nodes of three routers do not fit the groups of four, so the network stays whole.
  Config c = with_program(random_messages(12, 20, 3), nodes(6));
  c.partitions = 9;
  CHECK_EQ(Simulation(c).network().partitions(), 1u);
}

// Idle time while only links are busy is skipped, with the same result as one cycle at a time.
TEST(nodes_skip_idle_cycles_during_a_transfer_on_the_link) {
  const std::string text =
      goal({"s: send 100000b to 1\nt: send 900b to 2\nt requires s\n", "recv 100000b from 0\n", "recv 900b from 0\n"});
  const Config c = with_program(text, nodes(2, 0, {{"intra_node_gb_per_s", 1.0}}));
  Simulation jumped(c), walked(c);
  CHECK(jumped.run_workload(10000000));
  const u32 end = jumped.state().part.totals.now;
  CHECK(end > 78000);  // 100 us
  for (u32 k = 0; k < end; k++) walked.run(1);
  CHECK_EQ(walked.hash(), jumped.hash());
}

// ---- Placement: nodes stay whole, NICs by rank, rails ----

JobSection ring(const std::string& name, u32 ranks) {
  std::vector<std::string> lines;
  for (u32 r = 0; r < ranks; r++)
    lines.push_back("send 1000b to " + word((r + 1) % ranks) + "\nrecv 1000b from " + word((r + ranks - 1) % ranks) +
                    "\n");
  return given(name, workload::read_goal(goal(lines), name));
}

Config on(Section topology, i64 ranks, i64 nics, const Values& more, std::vector<JobSection> jobs) {
  const std::string routing = topology.name == "fat_tree" ? "up_down" : "minimal";
  const Values values = merge({{"ranks_per_node", ranks}, {"nics_per_node", nics}}, more);
  return with_jobs(std::move(jobs), values, std::move(topology), routing);
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
      const Values few = merge(policy(name), {{"mapping_steps", 2000}});
      const Simulation sim(on(small_network(), ranks, nics, few, {ring("a", 13), ring("b", 9), ring("c", 8)}));
      const Workload& w = *sim.network().workload;
      check_whole_nodes(w);
      CHECK_EQ(w.nodes.count, 72u / nics);
      for (u32 t = 0; t < 72; t++) CHECK_EQ(w.nodes.of_terminal[t], t / nics);
      for (u32 t = 0; t < 72; t++)
        if (const u32 r = w.terminal_rank[t]; r != kNone) CHECK(w.rank_terminal[r] == t);
    }
}

TEST(node_placement_takes_rails) {
  const Simulation sim(on(tree_64(), 4, 4, {{"node_terminals", "rails"}, {"placement", "linear"}}, {ring("a", 40)}));
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
    Config c = on(small_network(), 4, 2, {{"node_terminals", how}, {"placement", "linear"}}, {ring("a", 40)});
    const Simulation whole(c);
    c.failures = {{"terminals", "5, 20"}};
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
    return Simulation(on(small_network(), 8, 4, {{"placement", "linear"}, {"share_nodes", share}},
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
  std::vector<std::string> ranks;
  for (u32 r = 0; r < 72; r++)
    ranks.push_back("send 100000b to " + word((r + 36) % 72) + "\nrecv 100000b from " + word((r + 36) % 72) +
                    "\nsend 9000b to " + word(r / 4 * 4 + (r + 1) % 4) + "\nrecv 9000b from " +
                    word(r / 4 * 4 + (r + 3) % 4) + "\n");
  const auto placed = [&](const Values& more) {
    return Simulation(on(small_network(), 4, 1, merge(policy("mapped"), more),
                         {given("far", workload::read_goal(goal(ranks), "far"))}));
  };
  const Simulation in_order = placed({{"mapping", "in_order"}, {"mapping_refine", "none"}});
  const Simulation mapped = placed({});
  check_whole_nodes(*mapped.network().workload);
  for (u32 r = 0; r < 72; r++) CHECK_EQ(in_order.network().workload->rank_node[r], r / 4);
  // Two nodes share a router, so partners can be at distance 0.
  CHECK(in_order.network().workload->mapping->dilation > 1.5);
  CHECK(mapped.network().workload->mapping->dilation < 0.3);
}

}  // namespace workload_nodes_test
