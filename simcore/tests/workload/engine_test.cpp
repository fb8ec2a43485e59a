// The schedule engine: LogGOPS to the nanosecond against closed forms and an independent interpreter; messages on the
// simulated network, their order and rendezvous; errors of wrong jobs.
#include <set>

#include "readers/array_program.hpp"
#include "readers/goal.hpp"
#include "simcore/program_totals.hpp"
#include "support/jobs.hpp"
#include "support/loggops_reference.hpp"

namespace workload_engine_test {

using namespace scenes;

Values pure(const loggops::Model& m = {}) {
  const auto ns = [](u64 x) { return static_cast<double>(x); };
  return {{"host", "loggops"},
          {"network", "none"},
          {"loggops_L_ns", ns(m.L)},
          {"loggops_o_ns", ns(m.o)},
          {"loggops_g_ns", ns(m.g)},
          {"loggops_G_ns_per_byte", ns(m.G)},
          {"loggops_O_ns_per_byte", ns(m.O)},
          {"loggops_S_bytes", static_cast<i64>(m.S)},
          {"placement", "linear"}};
}

u64 finish_ns(const Simulation& sim, u32 rank) { return sim.state().ranks[rank].finished / 1000; }

TEST(loggops_example_ends_at_17494_and_27488) {
  Simulation sim(with_jobs({given("goal", workload::read_goal(loggops::kPingPong, "example"))}, pure()));
  finish(sim);
  CHECK_EQ(finish_ns(sim, 1), 17494u);
  CHECK_EQ(finish_ns(sim, 0), 27488u);
}

// By hand, with o = 1500, L = 2500 and messages of a byte. LogGOPSim prints the same times.
TEST(loggops_operations_that_wait_for_a_processor_have_the_order_of_loggopsim) {
  const auto end_of_last_rank = [](u32 ranks, const std::string& text) {
    Simulation sim(
        with_jobs({given("goal", workload::read_goal("num_ranks " + std::to_string(ranks) + text, "order"))}, pure()));
    finish(sim);
    return finish_ns(sim, ranks - 1);
  };
  // A send goes ahead of a calc that becomes free with it.
  CHECK_EQ(end_of_last_rank(2, "\nrank 0 {\ncalc 1000\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n"), 5500u);
  // The send is created when x begins at 0, after y. So it follows y.
  CHECK_EQ(end_of_last_rank(2,
                            "\nrank 0 {\nx: calc 1000\ny: calc 7000\ns: send 1b to 1\ns irequires x\n}\nrank 1 {\n"
                            "recv 1b from 0\n}\n"),
           8000u + 5500);
  // b is created when a begins at 0. Rank 0 sends before that, and rank 2 after that. At 10000 rank 1 serves the
  // message from rank 0 ahead of b, and the message from rank 2 after b.
  for (const u32 sender : {0u, 2u}) {
    const std::string sends = "\nsend 1b to 1\n}\nrank ", idle = "\n}\nrank ";
    const u64 found =
        end_of_last_rank(4, "\nrank 0 {" + (sender == 0 ? sends : idle) + "1 {\nrecv 1b from " +
                                std::to_string(sender) + "\na: calc 10000\nb: send 1b to 3\nb requires a\n}\nrank 2 {" +
                                (sender == 2 ? sends : idle) + "3 {\nrecv 1b from 1\n}\n");
    CHECK_EQ(found, 10000u + 5500 + (sender == 0 ? 1500 : 0));
  }
}

TEST(loggops_random_programs_agree_with_the_reference) {
  const loggops::Model models[] = {{}, {100, 20, 700, 1, 3, 500}, {1, 900, 10, 2, 0, 300}, {5000, 0, 0, 3, 1, 100000}};
  u32 compared = 0;
  for (u64 seed = 1; seed <= 12; seed++)
    for (const loggops::Model& model : models) {
      const u32 ranks = 4 + seed % 9;
      // With one processor, ranks with many operations release more than 16 of them at once.
      const u32 cpus = seed % 3 ? 6 : 1;
      const auto program = loggops::random_program(seed, ranks, cpus == 1 ? 600 : 60, model, cpus);
      const loggops::Result wanted = loggops::Reference(*program, model).run();
      std::vector<u64> last(ranks, 0);
      for (const loggops::Times& t : wanted.ops) last[t.rank] = std::max(last[t.rank], t.finish);
      Simulation sim(with_jobs({given("random", program)}, pure(model)));
      finish(sim);
      for (u32 r = 0; r < ranks; r++, compared++)
        if (finish_ns(sim, r) != last[r])
          testing::fail(__FILE__, __LINE__,
                        "seed " + std::to_string(seed) + ", rank " + std::to_string(r) + ": " +
                            std::to_string(finish_ns(sim, r)) + ", the reference says " + std::to_string(last[r]));
    }
  CHECK(compared > 300);
}

// The hash is the same on every machine. It changes only with the behaviour.
TEST(workload_golden_hash) {
  Simulation sim(with_jobs({motif("lulesh", {{"ranks", 27}, {"iterations", 1}, {"slices", 10}}),
                            motif("dl", {{"ranks", 30}, {"iterations", 1}, {"bytes", 50000}})},
                           {}, small_network(), "q_adaptive"));
  finish(sim);
  CHECK_EQ(sim.hash(), 2172010115855355074ull);
}

// A single message: the costs of the hosts, and the time of the network without queueing.
TEST(workload_eager_message_alone_takes_the_time_of_host_and_network) {
  const auto program =
      workload::read_goal("num_ranks 2\nrank 0 {\nsend 467b to 1\n}\nrank 1 {\nrecv 467b from 0\n}\n", "one");
  Simulation sim(with_jobs({given("one", program, {0, 1})}, {}));
  finish(sim);
  // Sender: entry 30, setup 24, copy 0.344 x 467, return 30. The NIC gets the message 10 ns after the copy.
  const u64 handed = 30000 + 24000 + 344 * 467 + 10000;
  CHECK_EQ(sim.state().ranks[0].finished, u64{30000 + 24000 + 344 * 467 + 30000});
  // 467 + 45 bytes are one packet of 4 flits between two terminals of one router. Its latency consists of the NIC's
  // wake-up of one flit time (4 cycles), the host channels (40 ns), pipeline, crossbar and wake-up of the output. The
  // tail follows 3 flit times after the head.
  const double received = static_cast<double>(sim.state().ranks[1].finished) / 1000;
  const u64 cycle = 1280, injected = (handed + cycle - 1) / cycle;
  const JobTotals t = job_sums(sim.state())[0];
  CHECK_EQ(t.packets, 1u);
  CHECK_EQ(t.flits, 4u);
  const double delivered = static_cast<double>((injected + t.latency) * cycle) / 1000;
  // NIC 15, setup 10, match 15 for the one posted receive, return 30.
  CHECK_NEAR(received, delivered + 15 + 10 + 15 + 30, 1e-6);
  CHECK(t.latency * 1.28 > 45 && t.latency * 1.28 < 75);
}

TEST(workload_rendezvous_waits_for_its_receiver) {
  // The receiver computes for 100 us before it posts. Until then the sender waits, and no data move.
  const auto program = workload::read_goal(
      "num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\nrank 1 {\nc: calc 100000\nr: recv 100000b from 0\nr requires "
      "c\n}\n",
      "late");
  Simulation sim(with_jobs({given("late", program, {0, 71})}, {}));
  finish(sim);
  const double sender = static_cast<double>(sim.state().ranks[0].finished) / 1000,
               receiver = static_cast<double>(sim.state().ranks[1].finished) / 1000;
  CHECK(receiver > 100000 + 4000 && receiver < 100000 + 4000 + 4000);  // 100,000 bytes take 4,000 ns on the link
  CHECK(sender > receiver - 700 && sender < receiver + 1000);          // it ends with the acknowledgement
  Simulation eager(with_jobs({given("late", program, {0, 71})}, {{"mpi_eager_bytes", 100000}}));
  finish(eager);
  CHECK(static_cast<double>(eager.state().ranks[0].finished) / 1000 < 35000);  // it copies and continues
}

// Rank k sends messages to rank kPairs + k, small and large in turn, over many paths. Message i has tag i. Receive k of
// this pair accepts only tag k, and its other receives accept any tag. If message k is matched before its turn, it
// takes an earlier receive. Then receive k waits for ever, and the job does not finish. Pair k thus checks the place of
// message k.
TEST(workload_messages_between_two_ranks_keep_their_order) {
  constexpr u32 kPairs = 36, kMessages = 36;
  const auto text = [](bool late) {
    std::string goal = "num_ranks " + std::to_string(2 * kPairs) + "\n";
    for (u32 rank = 0; rank < 2 * kPairs; rank++) {
      const bool sends = rank < kPairs;
      const std::string peer = std::to_string(sends ? kPairs + rank : rank - kPairs);
      goal += "rank " + std::to_string(rank) + " {\n";
      if (late && !sends) goal += "c: calc 1000000\n";
      for (u32 i = 0; i < kMessages; i++) {
        const std::string name = "o" + std::to_string(i), size = i % 2 ? "11000b" : "8b";
        const u32 exact = rank - kPairs;
        if (sends) {
          goal += name + ": send " + size + " to " + peer + " tag " + std::to_string(i) + "\n";
          if (i > 0) goal += name + " requires o" + std::to_string(i - 1) + "\n";
        } else {
          goal += name + ": recv " + size + " from " + peer + " tag " + (i == exact ? std::to_string(i) : "-1") + "\n";
          if (late) goal += name + " requires c\n";
        }
      }
      goal += "}\n";
    }
    return goal;
  };
  // Early receives wait for their messages. Late receives find all messages in the queue of unexpected messages.
  for (const bool late : {false, true})
    for (const char* nic_order : {"message", "packet"}) {
      Simulation sim(with_jobs({given("order", workload::read_goal(text(late), "order"))}, {{"nic_order", nic_order}},
                               small_network(), "valiant_router"));
      finish(sim);
      CHECK_EQ(job_sums(sim.state())[0].messages_received, u64{kPairs} * kMessages);
    }
}

// A computation of 0 ns waits for the processor and is the last operation of its block. Its begin must not reach the
// receive of the next block, which has the same place in its block.
TEST(workload_operation_without_duration_begins_before_it_ends) {
  struct TwoBlocks : Program {
    TwoBlocks() { ranks = 2; }
    u64 blocks(u32 rank) const override { return rank == 0 ? 2 : 1; }
    void block(u32 rank, u64 index, Block& out) const override {
      out.calc(index == 0 ? 1000 : 9000);
      if (rank == 1) out.send(0, 100);
      else if (index == 0) out.calc(0);
      else out.require(out.receive(1, 100), 0);
    }
  };
  const Config config = with_jobs({given("two", std::make_shared<TwoBlocks>())}, {});
  Simulation sim(config), restored(config);
  for (u32 k = 0; k < 400 && !sim.workload_finished(); k++) {
    sim.run(100);
    restored.restore(sim.snapshot());
  }
  const u64 receive = finish_ns(sim, 0) - 10000;  // time after both computations
  CHECK(receive < 200);
}

TEST(workload_deadlock_names_ranks_and_operations) {
  // Both ranks receive before they send.
  const auto program = workload::read_goal(
      "num_ranks 2\nrank 0 {\nr: recv 8b from 1 tag 5\ns: send 8b to 1 tag 6\ns requires r\n}\nrank 1 {\nr: recv 8b "
      "from 0 tag 6\ns: send 8b to 0 tag 5\ns requires r\n}\n",
      "both.goal");
  Simulation sim(
      with_jobs({given("stuck", program), motif("halo3d", {{"ranks", 8}, {"iterations", 1}, {"bytes", 1000}})}, {}));
  sim.begin_window();
  CHECK(!sim.run_workload(10000000));
  CHECK(sim.workload_stuck());
  CHECK(sim.state().part.totals.now < 1000000);
  const std::string text = sim.waiting(16);
  for (const char* part :
       {"job 'stuck' rank 0", "receive of 8 bytes from rank 1, tag 5", "both.goal:3", "job 'stuck' rank 1", "tag 6"})
    if (text.find(part) == std::string::npos)
      testing::fail(__FILE__, __LINE__, std::string("'") + part + "' is missing in: " + text);
  CHECK(text.find("halo3d") == std::string::npos);
  CHECK_EQ(job_sums(sim.state())[1].ranks_done, 8u);
}

TEST(workload_jobs_start_at_their_time) {
  Simulation sim(
      with_jobs({motif("halo3d", {{"ranks", 8}, {"iterations", 1}, {"bytes", 1000}, {"start_ns", 5000.0}})}, {}));
  finish(sim);
  for (const Rank& r : sim.state().ranks) {
    CHECK_EQ(r.started, 5000000u);
    CHECK(r.finished > r.started);
  }
}

TEST(workload_placements) {
  using Order = std::vector<u32>;
  const Simulation sim(with_jobs({motif("halo3d", {{"ranks", 20}}), motif("ur", {{"ranks", 16}})}, {}));
  const Network& net = sim.network();
  const auto order_of = [&](const std::string& policy, u64 seed) {
    return placement_order(net, net.workload->nodes, policy, seed, {20, 16});
  };
  const auto router = [&](u32 t) { return net.terminal_router[t]; };
  const auto group = [&](u32 t) { return net.router_group[router(t)]; };
  const std::map<std::string, std::function<void(const Order&)>> rules = {
      {"linear",
       [&](const Order& order) {
         for (u32 k = 0; k < 72; k++) CHECK_EQ(order[k], k);
       }},
      {"random", [&](const Order& order) { CHECK(order != order_of("random", 8)); }},
      {"random_router",
       [&](const Order& order) {
         for (u32 k = 0; k < 72; k += 2) CHECK_EQ(router(order[k]), router(order[k + 1]));
       }},
      {"random_group",
       [&](const Order& order) {
         for (u32 k = 0; k < 72; k++) CHECK_EQ(group(order[k]), group(order[k / 8 * 8]));
       }},
      {"clustered",
       [&](const Order& order) {
         std::set<u32> first, second;
         for (u32 k = 0; k < 20; k++) first.insert(group(order[k]));
         for (u32 k = 20; k < 36; k++) second.insert(group(order[k]));
         CHECK_EQ(first.size(), std::size_t{3});
         CHECK_EQ(second.size(), std::size_t{2});
         for (const u32 g : second) CHECK(first.count(g) == 0);
       }},
      {"fragmented",
       [&](const Order& order) {  // first about four in five terminals in order, then the skipped ones in order
         const auto skipped = std::is_sorted_until(order.begin(), order.end());
         CHECK(skipped - order.begin() > 44 && skipped - order.begin() < 71);
         CHECK(std::is_sorted(skipped, order.end()));
         CHECK(order != order_of("fragmented", 8));
       }},
  };
  for (const std::string& policy : placement_policies()) {
    const Order order = order_of(policy, 7);
    CHECK_EQ(std::set<u32>(order.begin(), order.end()).size(), std::size_t{72});
    CHECK(order == order_of(policy, 7));
    if (const auto rule = rules.find(policy); rule != rules.end()) rule->second(order);
  }
}

// ---- Blame: the delay that jobs cause each other ----

void check_blame(const Values& router) {
  Simulation sim(with_jobs({motif("halo3d", {{"ranks", 24}, {"iterations", 1}, {"bytes", 60000}}),
                            motif("ur", {{"ranks", 24}, {"iterations", 40}}), motif("stencil27", {{"ranks", 24}})},
                           {}, scenes::small_network(), "minimal", router));
  const Network& net = sim.network();
  const u32 jobs = net.accounted_jobs;
  CHECK_EQ(jobs, 3u);
  sim.run(3000);  // packets are on their way and wait when the window begins
  sim.begin_window();
  // The waiting packets, summed here over the cycles in which a channel is busy, by the job whose flits are on it.
  std::vector<u64> waited(net.router_ports * jobs * jobs, 0);
  const auto compare = [&] {
    const State& s = sim.state();
    const auto &charged = s.wait_blame, &flits = s.job_flits;
    u32 wrong = 0;
    for (u32 p = 0; p < net.router_ports; p++) {
      if (net.channels[p].peer == kNone) continue;
      const ChannelAccount& account = s.job_channels[p];
      const u64 rest = account.sending_until > s.part.totals.now ? account.sending_until - s.part.totals.now : 0;
      u64 here = 0;
      for (u32 v = 0; v < jobs; v++) {
        here += flits[p * jobs + v];
        // A waiting job is charged in advance for the whole flit that is on the channel.
        for (u32 c = 0; c < jobs; c++)
          wrong += charged[(p * jobs + v) * jobs + c] !=
                   waited[(p * jobs + v) * jobs + c] + (c == account.job ? rest * s.job_waiting[p * jobs + v] : 0);
      }
      wrong += here != s.ports[p].flits;
    }
    CHECK_EQ(wrong, 0u);
  };
  while (!sim.workload_finished() && sim.state().part.totals.now < 400000) {
    sim.run(1);
    const State& s = sim.state();
    for (u32 p = 0; p < net.router_ports; p++) {
      const ChannelAccount& account = s.job_channels[p];
      if (net.channels[p].peer == kNone || account.sending_until <= s.part.totals.now - 1) continue;
      for (u32 v = 0; v < jobs; v++) waited[(p * jobs + v) * jobs + account.job] += s.job_waiting[p * jobs + v];
    }
    if (s.part.totals.now % 1000 == 0) compare();
  }
  CHECK(sim.workload_finished());
  sim.run(1000);  // until the last credits have returned
  compare();
  const std::vector<u64> open = sim.state().wait_blame;
  sim.end_window();
  const State& s = sim.state();
  CHECK(open == s.wait_blame);
  u64 flits = 0, charged = 0;
  for (u32 p = 0; p < net.router_ports; p++) {
    u64 here = 0;
    for (u32 v = 0; v < jobs; v++) {
      CHECK_EQ(s.job_waiting[p * jobs + v], 0u);
      here += s.job_flits[p * jobs + v];
      for (u32 c = 0; c < jobs; c++) charged += v == c ? 0 : s.wait_blame[(p * jobs + v) * jobs + c];
    }
    CHECK_EQ(here, s.ports[p].window_flits);
    flits += here;
  }
  for (const u16 slots : s.job_downstream) CHECK_EQ(slots, 0u);
  CHECK(flits > 10000);
  CHECK(charged > 1000);  // jobs have waited for each other
  // A terminal belongs to one job, so no other job uses its channel.
  for (u32 t = 0; t < net.terminals; t++) {
    const u32 r = net.workload->terminal_rank[t], p = net.port(net.terminal_router[t], net.terminal_port[t]);
    for (u32 v = 0; v < jobs; v++)
      if (r == kNone || v != net.workload->rank_job[r]) CHECK_EQ(s.job_flits[p * jobs + v], 0u);
  }
}

TEST(blame_adds_up_to_the_time_packets_waited) {
  for (const Values& router : {sc22(), packet_crossbar(sc22())}) check_blame(router);
}

TEST(blame_names_the_job_that_holds_the_link) {
  // Groups 0 and 1 share one global link. Job a sends one small message over it, and job b floods it.
  std::vector<u32> a = {0, 8}, b = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15};
  std::string text = "num_ranks 14\n";
  for (u32 r = 0; r < 14; r++) {
    text += "rank " + std::to_string(r) + " {\n";
    if (r < 7)
      text += "send 9000b to " + std::to_string(r + 7) + "\nsend 9000b to " + std::to_string(r + 7) + " tag 1\n";
    else text += "recv 9000b from " + std::to_string(r - 7) + "\nrecv 9000b from " + std::to_string(r - 7) + " tag 1\n";
    text += "}\n";
  }
  const auto quiet = workload::read_goal(
      "num_ranks 2\nrank 0 {\nc: calc 1500\ns: send 5000b to 1\ns requires c\n}\nrank 1 {\nrecv 5000b from 0\n}\n",
      "quiet");
  Simulation sim(with_jobs({given("quiet", quiet, a), given("flood", workload::read_goal(text, "flood"), b)}, {}));
  finish(sim);
  sim.end_window();
  const State& s = sim.state();
  double by_other = 0, by_self = 0;
  for (u32 p = 0; p < sim.network().router_ports; p++) {
    by_self += static_cast<double>(s.wait_blame[p * 4]) + s.stall_blame[p * 4];
    by_other += static_cast<double>(s.wait_blame[p * 4 + 1]) + s.stall_blame[p * 4 + 1];
  }
  CHECK(by_other > 2 * by_self);
}

}  // namespace workload_engine_test
