// Jobs on a partitioned network. The hosts of a partition are simulated with it, and ranks communicate only by packets.
#include <tuple>

#include "readers/goal.hpp"
#include "support/jobs.hpp"

namespace partition_jobs_test {

using namespace scenes;

struct Case {
  std::string name;
  Config config;
};

// Every rank sends to every rank and itself: large, small and empty messages, receives from any source, and
// computations that overlap.
std::string everyone_to_everyone(u32 ranks) {
  std::string text = "num_ranks " + std::to_string(ranks) + "\n";
  for (u32 r = 0; r < ranks; r++) {
    text += "rank " + std::to_string(r) + " {\nc: calc " + std::to_string(1 + 37 * r) + "\n";
    for (u32 to = 0; to < ranks; to++) {
      const std::string bytes = std::to_string((r + to) % 3 == 0 ? 30000 : (r + to) % 7 == 0 ? 0 : 700 * (to % 4));
      const std::string n = std::to_string(to);
      text += "s" + n + ": send " + bytes + "b to " + n + " tag " + std::to_string((r + to) % 3 == 0) + "\n";
      text += "s" + n + " requires c\n";
    }
    for (u32 k = 0; k < ranks; k++) {
      const bool large = (r + k) % 3 == 0;
      const std::string from = r % 2 == 0 && !large ? "-1" : std::to_string(k);
      text += (large ? "recv 30000b from " : "recv 4000b from ") + from + " tag " + std::to_string(large) + "\n";
    }
    text += "}\n";
  }
  return text;
}

// Flows of up to 20 kB to other ranks in turn.
struct SomeFlows : FlowProgram {
  explicit SomeFlows(u32 count) { ranks = count; }
  u64 flow_time(u32 rank, u64& number, u64) const override {
    return number < 20 ? (number * 437 + rank * 31) * 1000 : kNoFlow;
  }
  Flow flow(const Network&, u32 rank, u64 number) const override {
    const u32 n = static_cast<u32>(number);
    return {1 + (rank * 7919 + n * 104729) % 20000, (rank + 1 + n) % ranks, static_cast<i32>(n % 3)};
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, Values router, const std::string& routing, Values values,
                       std::vector<JobSection> jobs) {
    all.push_back({name, with_jobs(std::move(jobs), std::move(values), small_network(), routing, std::move(router))});
  };
  const auto halo = [](i64 ranks, i64 bytes) {
    return motif("halo3d", {{"ranks", ranks}, {"iterations", 2}, {"bytes", bytes}});
  };
  const auto everyone = [](u32 ranks) {
    return given("everyone", workload::read_goal(everyone_to_everyone(ranks), "everyone"));
  };
  const i64 once = 1;
  const Values fft = {{"ranks", 36}, {"n", 32}, {"iterations", once}, {"ns_per_element", 0.1}};
  const Values lulesh = {{"ranks", 27}, {"iterations", once}, {"slices", 3}, {"size_scale", 0.2}};
  const Values random = {{"ranks", 40}, {"iterations", 20}};
  const Values stencil = {{"ranks", 32}, {"iterations", once}, {"size_scale", 0.005}};
  const Values reduce = {{"ranks", 30}, {"iterations", 2}, {"bytes", 5000}};
  const Values late = {{"ranks", 8}, {"iterations", 2}, {"bytes", 20000}, {"start_ns", 900.0}};
  const Values waves = {{"ranks", 36}, {"iterations", once}, {"nz", 20}, {"nx", 400}};
  const Values loggops = {
      {"host", "loggops"}, {"loggops_S_bytes", 10000}, {"loggops_o_ns", 20.0}, {"loggops_g_ns", 10.0}};
  add("par sc22 fft3d and halo3d", sc22(), "par", {}, {motif("fft3d", fft), halo(27, 20000)});
  add("q_adaptive packet crossbar lulesh and ur", packet_crossbar(sc22()), "q_adaptive", {{"nic_order", "packet"}},
      {motif("lulesh", lulesh), motif("ur", random)});
  add("q_adaptive sc22 stencil5d and halo3d", sc22(), "q_adaptive", {}, {motif("stencil5d", stencil), halo(27, 9000)});
  add("minimal hpdc21 dl, mostly computing", hpdc21(), "minimal", {{"blame", false}}, {motif("dl", reduce)});
  add("loggops valiant_router all kinds of receives", hpdc21(), "valiant_router", loggops,
      {everyone(24), motif("halo3d", late)});
  add("par packet crossbar all kinds of receives", packet_crossbar(sc22()), "par", {{"header_bytes_rendezvous", 600}},
      {everyone(31), motif("lu", waves)});
  add("valiant_router hpdc21 flows and ur", hpdc21(), "valiant_router", {{"nic_order", "packet"}},
      {given("flows", std::make_shared<SomeFlows>(24)), motif("ur", random)});
  Config shared = all[1].config;
  shared.classes = {{"high", {{"priority", 1}}}, {"low", {{"share", 0.1}, {"limit", 0.7}}}};
  shared.workload.classes = {{"control", "high"}, {"ur", "low"}, {"below_5000", "high"}};
  all.push_back({"classes of messages", shared});
  shared.congestion_control = {"slingshot", {{"ack_bytes", 30}}};
  all.push_back({"classes of messages and acknowledgements", shared});
  const auto queued = [](JobSection job, double start) {
    job.name += std::to_string(static_cast<int>(start));
    return job.motif.values = merge(job.motif.values, {{"start_ns", start}, {"estimate_ns", 4000.0}}), job;
  };
  add("par sc22 jobs of a scheduler with noise", sc22(), "par",
      {{"scheduler", "backfilling"},
       {"placement", "least_interfering"},
       {"noise", "lognormal"},
       {"noise_skew_ns", 300.0}},
      {queued(motif("fft3d", fft), 0), queued(motif("ur", random), 100), queued(halo(27, 9000), 200),
       queued(halo(12, 20000), 300), queued(motif("ur", random), 900)});
  Config decided = all.front().config;
  decided.routing = {"policy", {{"observation", "relative_use+path"}, {"temperature", 1.0}}};
  all.push_back({"policy sc22 fft3d and halo3d", decided});
  decided.routing = {"ugal_global", {}};
  all.push_back({"ugal_global sc22 fft3d and halo3d", decided});
  return all;
}

Config cut(Config c, u32 partitions) {
  c.partitions = partitions;
  return c;
}

template <class T>
void append(std::vector<double>& all, const std::vector<T>& more) {
  for (const T& x : more) all.push_back(static_cast<double>(x));
}

// Every number that is reported of a run with jobs.
std::vector<double> numbers(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  std::vector<double> all{static_cast<double>(s.part.totals.now)};
  for (const auto& [name, value] : statistics(net, s)) all.push_back(value);
  for (u32 p = 0; p < net.port_count; p++)
    if (net.channels[p].peer != kNone) append(all, std::vector<u64>{s.ports[p].flits, s.ports[p].stall});
  for (const JobTotals& j : job_sums(s)) {
    append(all, std::vector<u64>{j.messages_sent, j.messages_received, j.bytes_sent, j.bytes_received, j.packets});
    append(all, std::vector<u64>{j.flits, j.hops, j.nonminimal, j.latency, j.latency_max, j.message_latency});
    append(all, std::vector<u64>{j.message_latency_max, j.outstanding, j.outstanding_peak, j.finished, j.ranks_done});
  }
  for (const Rank& r : s.ranks) {
    append(all, std::vector<u64>{r.block, r.started, r.finished, r.calc});
    append(all, std::vector<u64>{r.bytes_sent, r.bytes_received, r.left, r.done});
  }
  append(all, s.cpu_free);
  append(all, s.nic_free);
  append(all, summed(s, &Hosts::job_histogram));
  append(all, summed(s, &Hosts::message_histogram));
  for (const JobPoint& x : summed(s, &Hosts::job_series))
    append(all, std::vector<u64>{x.packets, x.bytes_received, x.bytes_sent, x.hops, x.latency});
  append(all, s.job_flits);
  append(all, s.wait_blame);
  append(all, s.stall_blame);
  append(all, s.job_stall);
  std::vector<std::tuple<u64, u64, u32, u32, u32, u32>> flows;
  for (const Flows& own : s.flows)
    for (const FlowRecord& x : own.complete) flows.emplace_back(x.done, x.begun, x.source, x.late, x.distance, x.held);
  std::sort(flows.begin(), flows.end());
  for (const auto& [done, begun, source, late, distance, held] : flows)
    append(all, std::vector<u64>{done, begun, source, late, distance, held});
  const HostTotals hosts = host_totals(s);
  append(all, std::vector<u64>{hosts.now, hosts.order, hosts.blocks_done, hosts.ranks_done});
  return all;
}

constexpr u32 kFirst = 3013, kThen = 9000;

void begin(Simulation& sim) {
  sim.set_series_interval(700);
  sim.run(kFirst);
  sim.begin_window();
}

TEST(jobs_do_not_depend_on_partitions) {
  for (const Case& x : cases()) {
    Simulation whole(cut(x.config, 1));
    begin(whole);
    whole.run(kThen);
    const auto half_way = numbers(whole);
    CHECK_FOR(whole.run_workload(3000000), x.name + whole.waiting(4));
    const auto end = numbers(whole);
    for (const JobTotals& job : job_sums(whole.state()))
      CHECK_FOR(job.packets > 300 && job.bytes_received == job.bytes_sent && job.outstanding == 0, x.name);
    for (const u32 parts : {2u, 9u}) {
      Simulation sim(cut(x.config, parts));
      CHECK_EQ(sim.network().partitions(), parts);
      begin(sim);
      sim.run(kThen);
      const std::string where = x.name + " in " + std::to_string(parts);
      CHECK_FOR(numbers(sim) == half_way, where);
      sim.check_conservation();
      CHECK_FOR(sim.run_workload(3000000), where + sim.waiting(4));
      CHECK_FOR(numbers(sim) == end, where + " at its end");
      CHECK_EQ(host_totals(sim.state()).messages_open, 0u);
    }
  }
}

// The state is the same to the bit with several threads, in several calls, after a snapshot and in a fork.
TEST(jobs_by_threads_and_in_pieces_end_in_the_same_state) {
  for (const Case& x : cases()) {
    Simulation sim(cut(x.config, 4));
    begin(sim);
    sim.run(kThen);
    for (const u32 threads : {2u, 3u}) {
      Simulation other(cut(x.config, 4));
      other.set_threads(threads);
      begin(other);
      other.run(kThen);
      CHECK_FOR(other.hash() == sim.hash(), x.name + " by " + std::to_string(threads) + " threads");
    }
    Simulation pieces(cut(x.config, 4));
    pieces.set_threads(2);
    pieces.set_series_interval(700);
    for (u32 left = kFirst, some = 3; left > 0; left -= std::min(left, some), some = some * 7 % 331 + 1)
      pieces.run(std::min(left, some));
    pieces.begin_window();
    for (u32 k = 0; k < 40; k++) {  // one cycle at a time
      pieces.collect();
      pieces.apply(nullptr, 0);
      pieces.check_conservation();
    }
    for (u32 n = 0; n < 4; n++) {
      const std::string bytes = pieces.snapshot();
      Simulation restored(cut(x.config, 4));
      restored.restore(bytes);
      CHECK_FOR(restored.hash() == pieces.hash(), x.name + " restored");
      pieces.run(500 + 31 * n);
      restored.run(500 + 31 * n);
      CHECK_FOR(restored.hash() == pieces.hash(), x.name + " after its snapshot");
    }
    Simulation fork(pieces), restored(cut(x.config, 4));
    restored.restore(pieces.snapshot());
    const u32 left = kFirst + kThen - static_cast<u32>(pieces.state().part.totals.now);
    for (Simulation* one : {&pieces, &fork, &restored}) {
      one->run(left);
      CHECK_FOR(one->hash() == sim.hash(), x.name + " in pieces");
    }
  }
}

// Idle cycles are skipped. A run one cycle at a time reaches the same state.
TEST(idle_cycles_are_skipped_in_all_partitions_at_once) {
  const char* const text =
      "num_ranks 2\nrank 0 {\nc: calc 3000000\ns: send 5000b to 1\ns requires c\n}\nrank 1 {\nrecv 5000b from 0\n}\n";
  const auto program = workload::read_goal(text, "idle");
  const Config c =
      with_jobs({given("idle", program, {0, 71})}, {{"packet_bytes", 128}}, small_network(), "q_adaptive", hpdc21());
  for (const u32 parts : {1u, 3u}) {
    Simulation sim(cut(c, parts)), walked(cut(c, parts));
    CHECK_EQ(sim.network().partitions(), parts);
    CHECK(sim.run_workload(10000000));
    CHECK(sim.state().part.totals.now > 1800000);
    const u64 end = sim.state().part.totals.now;
    Simulation jumped(cut(c, parts));
    jumped.run(end);
    CHECK_EQ(jumped.hash(), sim.hash());
    walked.run(1000);
    for (u32 k = 0; k < 100000; k++) walked.run(1);
    Simulation straight(cut(c, parts));
    straight.run(101000);
    CHECK_EQ(walked.hash(), straight.hash());
    walked.run(end - 101000);
    CHECK_EQ(walked.hash(), sim.hash());
  }
}

TEST(some_workloads_keep_the_network_whole) {
  const auto parts = [](Values values) {
    return Simulation(cut(with_jobs({motif("halo3d", {{"ranks", 8}})}, std::move(values)), 4)).network().partitions();
  };
  const auto loggops = [](double o, double g) {
    return Values{{"host", "loggops"}, {"loggops_o_ns", o}, {"loggops_g_ns", g}};
  };
  CHECK_EQ(parts({}), 4u);
  CHECK_EQ(parts({{"blame", false}}), 4u);
  CHECK_EQ(parts({{"message_matrix", true}}), 1u);
  CHECK_EQ(parts({{"host", "loggops"}, {"network", "none"}}), 1u);
  CHECK_EQ(parts(loggops(1, 0)), 4u);
  CHECK_EQ(parts(loggops(0, 1)), 4u);
  CHECK_EQ(parts(loggops(0, 0)),
           1u);  // hosts need no time here, so a rank that sends to itself could keep a window from ending
}

}  // namespace partition_jobs_test
