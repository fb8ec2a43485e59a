// Nodes with several accelerators: closed forms of the intra-node link, shared NICs, conservation of bytes on both
// ways, snapshots and partitions.
#include <algorithm>
#include <set>

#include "readers/goal.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/rng.hpp"
#include "simcore/stats.hpp"
#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace workload_nodes_test {

using namespace scenes;

std::string word(u64 n) { return std::to_string(n); }

Values nodes(i64 ranks, i64 nics = 0, const Values& more = {}) {
  return merge({{"ranks_per_node", ranks}, {"nics_per_node", nics}, {"placement", std::string("linear")}}, more);
}
// LogGOPS hosts without headers: an overhead of 100 ns, a gap of 50 ns, and a link of 100 GB/s, 10 ps for a byte.
Values loggops(const Values& more = {}) {
  return merge({{"host", std::string("loggops")},
                {"loggops_o_ns", 100.0},
                {"loggops_g_ns", 50.0},
                {"intra_node_gb_per_s", 100.0},
                {"intra_node_latency_ns", 700.0}},
               more);
}

Config with_program(const std::string& text, Values values, std::vector<u32> terminals = {}) {
  Config c = config(small_network(), packet_crossbar(sc22()), {"minimal", {}}, {"", {}});
  c.workload = {std::move(values), {{"job", {}, workload::read_goal(text, "test"), std::move(terminals)}}};
  return c;
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

void finish(Simulation& sim) {
  sim.begin_window();
  if (!sim.run_workload(20000000)) testing::fail(__FILE__, __LINE__, "not finished" + sim.waiting(4));
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
  Simulation sim(with_program(text, loggops(nodes(2, 0, {{"loggops_S_bytes", i64{1000}}}))));
  finish(sim);
  CHECK_EQ(finished_ps(sim, 1), u64{100000 + 700000 + 100000 + 700000 + 700000 + 10 * 1000000});
  CHECK_EQ(finished_ps(sim, 0), finished_ps(sim, 1) + 700000);
  CHECK_EQ(flits(sim), 0u);
}

// A message between nodes takes the same time as without nodes.
TEST(nodes_ping_pong_across_nodes_takes_the_network) {
  for (const u64 bytes : {u64{500}, u64{50000}})
    for (const Values& host : {Values{}, loggops()}) {
      Simulation alone(with_program(ping_pong(bytes), merge(host, {{"placement", std::string("linear")}}), {0, 70}));
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
    Simulation sim(with_program(text, loggops(nodes(2, nics,
                                                    {{"loggops_S_bytes", i64{10000000}},
                                                     {"nic_order", order},
                                                     {"node_terminals", std::string("rails")}}))));
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
      given(with_program(text, {{"ranks_per_node", i64{1}}, {"nics_per_node", i64{1}}, {"intra_node_gb_per_s", 3.0}}));
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
                                     {"loggops_S_bytes", i64{8000}},
                                     {"mpi_eager_bytes", i64{8000}},
                                     {"nic_order", std::string(seed % 2 ? "packet" : "message")},
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
          if (sim.network().channels[p].peer != kNone) CHECK_EQ(job_flits(sim.network(), s)[p], s.ports[p].flits);
        double in_matrix = 0;
        for (u32 k = 0; k < 36 * 36; k++) in_matrix += w.matrix.bytes.of(s)[k];
        CHECK_EQ(in_matrix, static_cast<double>(wanted.bytes));
      }
  CHECK_EQ(runs, 28u);
}

// Snapshots and forks in the middle of transfers on links and through shared NICs.
TEST(nodes_snapshot_continues_like_the_original) {
  for (const bool mpi : {true, false}) {
    const Values values = nodes(4, 2, {{"loggops_S_bytes", i64{8000}}, {"mpi_eager_bytes", i64{8000}}});
    const Values slow = {{"intra_node_gb_per_s", 2.0}};
    const Config c = with_program(random_messages(48, 400, 9), merge(mpi ? values : loggops(values), slow));
    Simulation sim(c);
    sim.begin_window();
    u32 on_link = 0, on_network = 0;
    for (u32 k = 0; k < 12; k++) {
      sim.run(160);
      for (const HostEvent& e : sim.state().hosts[0].events)
        on_link += e.action >= static_cast<u32>(HostAction::kLinkHead);
      on_network += totals(sim.state()).packets_in_network > 0;
      Simulation restored(c), fork(sim);
      restored.restore(sim.snapshot());
      CHECK_EQ(restored.hash(), sim.hash());
      for (Simulation* one : {&restored, &fork}) one->run(300);
      CHECK_EQ(restored.hash(), fork.hash());
      if (k < 11) continue;
      sim.run(300);
      for (Simulation* one : {&restored, &fork, &sim}) CHECK(one->run_workload(5000000));
      CHECK_EQ(restored.hash(), sim.hash());
      CHECK_EQ(fork.hash(), sim.hash());
    }
    CHECK_FOR(on_link > 5 && on_network > 6, word(on_link) + " " + word(on_network));
  }
}

// A node is never cut. The state does not depend on threads, nor on the lengths of calls.
DEEP_TEST(nodes_by_threads_and_in_pieces_end_in_the_same_state) {
  for (const auto& [ranks, nics] : {std::pair{2, 2}, {4, 1}, {8, 8}}) {
    Config c = with_program(random_messages(64, 500, 3), nodes(ranks, nics, {{"mpi_eager_bytes", i64{8000}}}));
    c.partitions = 9;
    Simulation one(c), two(c), pieces(c), whole([&] {
      Config same = c;
      same.partitions = 1;
      return same;
    }());
    CHECK_EQ(one.network().partitions(), 9u);
    two.set_threads(2);
    for (Simulation* sim : {&one, &two, &pieces, &whole}) {
      sim->set_series_interval(700);
      sim->begin_window();
    }
    for (Simulation* sim : {&one, &two, &whole}) sim->run(80000);
    for (u32 left = 80000, some = 3; left > 0; left -= std::min(left, some), some = some * 7 % 331 + 1)
      pieces.run(std::min(left, some));
    CHECK(one.workload_finished());
    CHECK_EQ(two.hash(), one.hash());
    CHECK_EQ(pieces.hash(), one.hash());
    for (u32 r = 0; r < 64; r++) CHECK_EQ(finished_ps(one, r), finished_ps(whole, r));
    CHECK_EQ(on_links(one.state()).received, on_links(whole.state()).received);
    CHECK_EQ(job_sums(one.state())[0].outstanding_peak, job_sums(whole.state())[0].outstanding_peak);
    u64 series = 0;
    for (const JobPoint& point : job_series_sums(one.state())) series += point.bytes_received;
    CHECK_EQ(series, job_sums(one.state())[0].bytes_received);
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

}  // namespace workload_nodes_test
