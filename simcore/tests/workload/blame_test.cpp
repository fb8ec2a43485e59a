// Blame: the delay that jobs cause each other.
#include "readers/goal.hpp"
#include "simcore/stats.hpp"
#include "support/jobs.hpp"

namespace workload_blame_test {

using namespace scenes;

TEST(blame_adds_up_to_the_time_packets_waited) {
  Simulation sim(
      with_jobs({motif("halo3d", {{"ranks", i64{24}}, {"iterations", i64{1}}, {"bytes", i64{60000}}}),
                 motif("ur", {{"ranks", i64{24}}, {"iterations", i64{40}}}), motif("stencil27", {{"ranks", i64{24}}})},
                {}, scenes::small_network(), "minimal"));
  const Network& net = sim.network();
  const u32 jobs = net.accounted_jobs;
  CHECK_EQ(jobs, 3u);
  sim.run(3000);  // packets are on their way and wait when the window begins
  sim.begin_window();
  // The waiting packets, summed here over the cycles in which a channel is busy, by the job whose flits are on it.
  std::vector<u64> waited(net.router_ports * jobs * jobs, 0);
  const auto compare = [&] {
    const State& s = sim.state();
    const std::vector<u64> charged = wait_blame(net, s), flits = job_flits(net, s);
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
  const std::vector<u64> open = wait_blame(net, sim.state());
  sim.end_window();
  const State& s = sim.state();
  CHECK(open == s.wait_blame);
  CHECK(job_flits(net, s) == s.job_flits);
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

}  // namespace workload_blame_test
