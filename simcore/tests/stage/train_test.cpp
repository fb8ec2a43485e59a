// Packets that keep together (router.crossbar_sharing=packet) move as trains, one entry per hop. The reference is the
// same model flit by flit, which does not use the arithmetic of trains. On random networks every packet is delivered in
// the same cycle and every sum is the same. Some times are worked out by hand.
#include <cstring>
#include <set>

#include "simcore/rng.hpp"
#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_train_test {

using namespace scenes;

const std::string kWhole = "packet";

// The packets that a cycle delivers, as sorted (source, sequence) pairs.
class Deliveries {
 public:
  std::vector<std::pair<u32, u32>> of(const State& s) {
    now_.assign(s.packets.size(), true);
    for (u32 k = 0; k <= s.further.size(); k++)
      for (const u32 id : partition(s, k).free_packets) now_[id] = false;
    names_.resize(s.packets.size());
    before_.resize(s.packets.size());
    std::vector<std::pair<u32, u32>> gone;
    for (u32 id = 0; id < s.packets.size(); id++) {
      const std::pair<u32, u32> name{s.packets[id].source, s.packets[id].sequence};
      if (before_[id] && (!now_[id] || name != names_[id])) gone.push_back(names_[id]);
      names_[id] = name;
    }
    before_ = now_;
    std::sort(gone.begin(), gone.end());
    return gone;
  }
 private:
  std::vector<std::pair<u32, u32>> names_;
  std::vector<bool> before_, now_;
};

template <class T, class A>
bool same_bytes(const std::vector<T, A>& a, const std::vector<T, A>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Compares routers, sums and learning. Packet ids may differ, and so may times of ports that a packet is still passing.
void check_same(const Simulation& train, const Simulation& flits, const std::string& name) {
  const Network& net = train.network();
  const State &a = train.state(), &b = flits.state();
  for (u32 p = 0; p < net.port_count; p++) {
    const Port &x = a.ports[p], &y = b.ports[p];
    CHECK_FOR(x.flits == y.flits && x.window_flits == y.window_flits && x.stall == y.stall &&
                  x.waiting_vcs == y.waiting_vcs && x.queued == y.queued && x.load == y.load &&
                  x.stalled == y.stalled && x.awake == y.awake && x.next_vc == y.next_vc,
              name);
  }
  for (u32 v = 0; v < a.output_vcs.size(); v++)
    CHECK_FOR(a.output_vcs[v].count == b.output_vcs[v].count && a.output_vcs[v].credits == b.output_vcs[v].credits,
              name);
  for (u32 v = 0; v < a.input_vcs.size(); v++)
    CHECK_FOR(a.input_vcs[v].count == b.input_vcs[v].count && a.input_vcs[v].routed() == b.input_vcs[v].routed() &&
                  (a.park_next[v] == kNotParked) == (b.park_next[v] == kNotParked),
              name);
  Window x = window_sums(a), y = window_sums(b);
  // Not a whole number, so the order of additions matters.
  CHECK_FOR(std::abs(x.missed - y.missed) <= 1e-9 * (1 + y.missed), name);
  x.missed = y.missed = 0;
  CHECK_FOR(std::memcmp(&x, &y, sizeof x) == 0, name);
  for (const auto histogram : {&Partition::histogram_nic, &Partition::histogram_generation})
    CHECK_FOR(same_bytes(histogram_sums(a, histogram), histogram_sums(b, histogram)), name);
  CHECK_FOR(same_bytes(series_sums(a), series_sums(b)) && same_bytes(a.terminals, b.terminals) &&
                same_bytes(job_sums(a), job_sums(b)),
            name);
  CHECK_FOR(same_bytes(a.job_flits, b.job_flits) && same_bytes(a.job_waiting, b.job_waiting) &&
                same_bytes(a.job_stall, b.job_stall),
            name);
  CHECK_FOR(a.part.learning.decisions == b.part.learning.decisions &&
                a.part.learning.transitions == b.part.learning.transitions,
            name);
  if (net.table != kNone) CHECK_FOR(a.memory[net.table] == b.memory[net.table], name + ", learned table");
}

struct Outcome {
  u32 delivered = 0, forks = 0;
};

// Runs trains and flits in lockstep for `cycles` cycles and then until both are empty. At intervals a snapshot replaces
// the simulation of trains.
Outcome in_lockstep(const Config& made, u32 cycles, const std::string& name) {
  Config singly = made;
  singly.router.values["packet_stepping"] = std::string("flit");
  Simulation flits(singly);
  auto train = std::make_unique<Simulation>(made);
  CHECK_FOR(
      train->network().whole_packets && !train->network().router.flit_by_flit && flits.network().router.flit_by_flit,
      name);
  for (Simulation* sim : {train.get(), &flits}) sim->set_series_interval(100);
  // A delay between jobs counts when the head of a packet is sent, so the window opens before the first packet.
  train->begin_window();
  flits.begin_window();
  Deliveries of_train, of_flits;
  Outcome outcome;
  const u64 most = cycles + 60000;
  for (u64 now = 0; now < most; now++) {
    const bool stop = now == cycles && made.workload.jobs.empty();
    for (Simulation* sim : {train.get(), &flits}) {
      if (stop) sim->stop_sources();
      sim->run(1);
    }
    const auto expected = of_flits.of(flits.state());
    CHECK_FOR(of_train.of(train->state()) == expected, name + ", cycle " + std::to_string(now));
    outcome.delivered += static_cast<u32>(expected.size());
    if (now % 64 == 13) {
      train->check_conservation();
      flits.check_conservation();
      check_same(*train, flits, name + ", cycle " + std::to_string(now));
    }
    if (now % 211 == 77) {
      const std::string saved = train->snapshot();
      auto copy = std::make_unique<Simulation>(made);
      copy->restore(saved);
      CHECK_FOR(copy->hash() == train->hash(), name);
      train = std::move(copy);
      outcome.forks++;
    }
    if (now > cycles && flits.empty() && (made.workload.jobs.empty() || flits.workload_finished())) break;
  }
  CHECK_FOR(flits.empty() && train->empty(), name);
  for (Simulation* sim : {train.get(), &flits}) {
    sim->run(300);
    sim->end_window();
    sim->check_conservation();
  }
  check_same(*train, flits, name);
  CHECK_FOR(same_bytes(train->state().wait_blame, flits.state().wait_blame), name + ", who waits for whom");
  const auto &x = train->state().stall_blame, &y = flits.state().stall_blame;
  for (std::size_t k = 0; k < x.size(); k++)
    CHECK_FOR(std::abs(x[k] - y[k]) <= 1e-9 * (1 + std::abs(y[k])), name + ", who stalls whom");
  return outcome;
}

u32 pick(u32 scene, u32 k, u32 n) { return below(draw(4711, scene, k), n); }
template <class T>
T one_of(u32 scene, u32 k, const std::vector<T>& choices) {
  return choices[pick(scene, k, static_cast<u32>(choices.size()))];
}

// A random router in which packets can keep together.
Values random_router(u32 scene, i64 most) {
  const bool buffered = pick(scene, 5, 4) > 0;
  return merge(input_queued(),
               {{"crossbar_sharing", kWhole},
                {"credit_granularity", kWhole},
                {"arbiter", one_of<std::string>(
                                scene, 9, {"least_recently_served", "least_recently_served", "round_robin", "age"})},
                {"input_buffer_flits", 2 * most + pick(scene, 8, 3) * most / 2 + pick(scene, 22, 4)},
                {"output_buffer_flits", buffered ? 2 * most + pick(scene, 10, 20) : i64{0}},
                {"nic_buffer_flits", most + pick(scene, 11, 20)},
                {"link_bandwidth_gb_per_s_host", 128.0 / (1 + pick(scene, 23, 4))},
                {"link_bandwidth_gb_per_s_local", 128.0 / (1 + pick(scene, 24, 4))},
                {"link_bandwidth_gb_per_s_global", 128.0 / (1 + pick(scene, 25, 6))},
                {"crossbar_bandwidth_gb_per_s", 128.0 / (1 + pick(scene, 26, 3))},
                {"link_latency_ns_local", 1.0 + pick(scene, 12, 12)},
                {"link_latency_ns_global", 1.0 + pick(scene, 27, 40)},
                {"injection_vcs", pick(scene, 13, 2)},
                {"credit_latency", pick(scene, 14, 2) ? "link" : "hop"},
                {"output_wake_flits", pick(scene, 28, 3)},
                {"pipeline_ns", 1.0 * pick(scene, 16, 4)},
                {"latency_from", pick(scene, 29, 2) ? "nic" : "generation"},
                {"source_backlog", pick(scene, 30, 2) ? "lost" : "kept"}});
}

// Two routers in a row with two terminals each.
Config of_four(const Values& router, const std::vector<Planned>& plan, i64 flits) {
  const Section line{"graph", {{"links", std::vector<double>{0, 1}}, {"terminals_per_router", 2}}};
  return config(line, merge(router, {{"crossbar_sharing", kWhole}, {"credit_granularity", kWhole}}), {"minimal", {}},
                planned(plan, flits));
}
// The cycle in which each packet is delivered, by source.
std::map<u32, u32> delivered_at(const Config& made) {
  Simulation sim(made);
  Deliveries deliveries;
  std::map<u32, u32> at;
  for (u32 now = 0; now < 2000; now++) {
    sim.run(1);
    for (const auto& [source, sequence] : deliveries.of(sim.state())) at[source] = now;
  }
  return at;
}

DEEP_TEST(trains_are_exact_under_traffic) {
  std::set<std::string> seen;
  u32 delivered = 0, forks = 0;
  for (u32 scene = 0; scene < 200; scene++) {
    const u32 kind = pick(scene, 0, 5);
    const Section topology =
        kind < 2   ? dragonfly_section(2, 3, 1, 4)
        : kind < 4 ? hyperx_section(one_of<std::vector<double>>(scene, 1, {{3, 3}, {2, 3}, {4}, {2, 2, 2}}), 2,
                                    {{"links", std::vector<double>{1.0 + pick(scene, 2, 2)}}})
                   : torus({4, 3}, 2);
    Section routing{kind < 2   ? one_of(scene, 3, kRoutings)
                    : kind < 4 ? one_of(scene, 3, kHyperXRoutings)
                               : one_of<std::string>(scene, 3, {"dimension_order", "minimal", "ugal"}),
                    {}};
    const i64 most = one_of<i64>(scene, 7, {2, 4, 5, 16}), least = pick(scene, 31, 3) == 0 ? most : 1;
    const bool bubble = routing.name == "dimension_order" && kind == 4 && least == most && pick(scene, 32, 2);
    if (bubble) routing.values["deadlock_avoidance"] = std::string("bubble");
    if (routing.name[0] == 'q') routing.values["epsilon"] = 0.2;
    Values router = random_router(scene, most);
    if (routing.name != "dal" && pick(scene, 15, 3) == 0) router["vc_allocation"] = std::string("before_switch");
    const double load = one_of<double>(scene, 33, {0.15, 0.4, 0.7, 1.0});
    Config made = config(topology, router, routing,
                         {"uniform",
                          {{"load", load},
                           {"packet_bytes", bytes_of(least)},
                           {"packet_bytes_max", bytes_of(least < most ? most : i64{0})}}},
                         scene);
    made.partitions = 1 + pick(scene, 34, 3);
    if (!bubble) {  // as many VCs as needed, or more
      const u32 classes = build(made)->routing_facts.classes;
      made.router.values["vcs"] = i64{classes + pick(scene, 19, 2) * (1 + pick(scene, 20, classes + 1))};
    }
    std::string name = "scene " + std::to_string(scene) + " " + topology.name + " " + routing.name + " " +
                       std::to_string(least) + " to " + std::to_string(most);
    for (const auto& [key, value] : made.router.values) name += " " + key + "=" + to_string(value);
    try {
      const Outcome outcome = in_lockstep(made, 500, name);
      delivered += outcome.delivered;
      forks += outcome.forks;
    } catch (const std::exception& error) {
      CHECK_FOR(false, name + ": " + error.what());
    }
    seen.insert(topology.name + " " + routing.name);
  }
  CHECK(seen.size() > 18);
  CHECK(delivered > 20000);
  CHECK(forks > 200);
}

// Links fail and recover under load, also with traffic classes.
TEST(trains_are_exact_across_failures) {
  for (u32 scene = 0; scene < 6; scene++) {
    Config made = config(small_network(), random_router(scene + 1000, 6),
                         {one_of<std::string>(scene, 40, {"minimal", "ugal", "q_adaptive", "q_routing"}), {}},
                         {"uniform", {{"load", 0.5}, {"packet_bytes_max", bytes_of(6)}}}, scene);
    made.failures = {{"events", "0.05@150-320"}};
    if (scene % 2)
      made.classes = {{"high", {{"priority", 1}, {"sources", 0.4}}}, {"bulk", {{"share", 0.2}, {"limit", 0.7}}}};
    CHECK(in_lockstep(made, 420, "scene " + std::to_string(scene) + " " + made.routing.name).delivered > 100);
  }
}

// Jobs whose ranks wait for each other: a packet that is one cycle late would delay all later ones. Also the delay that
// jobs cause each other.
DEEP_TEST(trains_are_exact_under_jobs) {
  for (u32 scene = 0; scene < 6; scene++) {
    const Values router = scene % 2 ? merge(random_router(scene + 2000, 8), {{"cycle_ns", 1.0}})
                                    : merge(sc22(), {{"crossbar_sharing", kWhole}});
    Config made =
        config(small_network(), router,
               {one_of<std::string>(scene, 41, {"par", "ugal_router", "q_adaptive", "minimal"}), {}}, {"", {}}, scene);
    for (const char* motif : {"halo3d", "ur"})
      made.workload.jobs.push_back(
          {motif, {motif, {{"ranks", 27}, {"scale", 0.002}, {"size_scale", 0.02}}}, nullptr, {}});
    if (scene % 2) made.workload.values["packet_bytes"] = i64{128} * (2 + pick(scene, 42, 6));
    const std::string name = "scene " + std::to_string(scene) + " " + made.routing.name;
    CHECK_FOR(in_lockstep(made, 0, name).delivered > 500, name);
  }
}

// A single packet of n flits: its tail arrives (n - 1) times the slowest flit time after its head. The slowest place is
// the crossbar, a host channel or the link between the routers.
TEST(a_train_is_as_slow_as_its_slowest_place) {
  for (const auto& [host, local, crossbar] :
       {std::tuple{1, 1, 1}, {3, 1, 1}, {1, 3, 1}, {1, 1, 3}, {2, 5, 3}, {4, 1, 2}})
    for (const i64 flits : {1, 2, 5, 16})
      for (const i64 output : {0, 64}) {
        const Values router = merge(input_queued(), {{"link_bandwidth_gb_per_s_host", 128.0 / host},
                                                     {"link_bandwidth_gb_per_s_local", 128.0 / local},
                                                     {"crossbar_bandwidth_gb_per_s", 128.0 / crossbar},
                                                     {"output_buffer_flits", output}});
        // NIC to router 1, link 11, host channel 2, and one cycle in each output queue.
        const u32 head = 1 + 11 + 2 + (output ? 2 : 0), slowest = static_cast<u32>(std::max({host, local, crossbar}));
        for (const std::string stepping : {"train", "flit"}) {
          const auto at = delivered_at(of_four(merge(router, {{"packet_stepping", stepping}}), {{0, 2}}, flits));
          CHECK_EQ(at.at(0), head + static_cast<u32>(flits - 1) * slowest);
        }
      }
}

// Two packets of 4 flits from terminals 0 and 1 reach router 0 in cycle 1, both for the link to router 1. Links take 3
// cycles per flit, the crossbar 1. The first packet is granted in cycle 1. It holds the crossbar's output until its
// tail, which arrives in cycle 10, has crossed in cycle 11. It leaves from cycle 2 to 11 and holds the link until 14.
// The second packet is granted in 11 and leaves in 14, 17, 20, 23. It arrives after 11 cycles of link and 2 to its
// terminal (granted on arrival, one cycle in the queue).
TEST(a_crossbar_output_stays_with_a_packet) {
  const Values router = merge(input_queued(), {{"link_bandwidth_gb_per_s_host", 128.0 / 3},
                                               {"link_bandwidth_gb_per_s_local", 128.0 / 3},
                                               {"output_buffer_flits", 64},
                                               {"arbiter", "least_recently_served"}});
  for (const std::string stepping : {"train", "flit"}) {
    const auto at = delivered_at(of_four(merge(router, {{"packet_stepping", stepping}}), {{0, 2}, {1, 3}}, 4));
    CHECK_EQ(at.at(0), 11u + 11 + 1 + 2);
    CHECK_EQ(at.at(1), 23u + 11 + 1 + 2);
  }
}

}  // namespace stage_train_test
