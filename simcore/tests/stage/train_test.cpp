// Packets that keep together (router.crossbar_sharing=packet) move as trains, one entry per hop. Let all links and the
// crossbar have one rate. A train of n flits then moves like one flit of n times the size. Its tail arrives n - 1 flit
// times after its head. Other times are worked out by hand.
#include <deque>
#include <set>

#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_train_test {

using namespace scenes;

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

// Two routers in a row with two terminals each.
Config of_four(const Values& router, const std::vector<Planned>& plan, i64 flits) {
  const Section line{"graph", {{"links", std::vector<double>{0, 1}}, {"terminals_per_router", 2}}};
  return config(line, packet_crossbar(router), {"minimal", {}}, planned(plan, flits));
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

u32 pick(u32 scene, u32 k, u32 n) { return below(draw(4711, scene, k), n); }
template <class T>
T one_of(u32 scene, u32 k, const std::vector<T>& choices) {
  return choices[pick(scene, k, static_cast<u32>(choices.size()))];
}

// A random router of one rate. Its flits have the size of a packet or, in a train, its `flits`-th part. The age arbiter
// is left out, because it may serve trains and flits of equal age in another order.
Values random_router(u32 scene, i64 size, i64 flits) {
  const i64 in = 1 + pick(scene, 1, 4), out = pick(scene, 2, 4), nic = 1 + pick(scene, 3, 4);
  return packet_crossbar(
      merge(input_queued(), {{"flit_bytes", 128.0 * static_cast<double>(size / flits)},
                             {"arbiter", one_of<std::string>(scene, 4, {"least_recently_served", "round_robin"})},
                             {"input_buffer_flits", in * flits},
                             {"output_buffer_flits", out * flits},
                             {"nic_buffer_flits", nic * flits},
                             {"link_latency_ns_local", 1.0 + pick(scene, 6, 12)},
                             {"link_latency_ns_global", 1.0 + pick(scene, 7, 40)},
                             {"injection_vcs", pick(scene, 8, 2)},
                             {"credit_latency", pick(scene, 9, 2) ? "link" : "hop"},
                             {"pipeline_ns", 1.0 * pick(scene, 10, 4)},
                             {"latency_from", pick(scene, 11, 2) ? "nic" : "generation"},
                             {"source_backlog", pick(scene, 12, 2) ? "lost" : "kept"}}));
}

TEST(a_train_of_equal_rates_moves_like_one_large_flit) {
  std::set<std::string> seen;
  u32 delivered = 0;
  for (u32 scene = 0; scene < 60; scene++) {
    const u32 kind = pick(scene, 20, 3);
    const Section topology = kind == 0   ? dragonfly_section(2, 3, 1, 4)
                             : kind == 1 ? hyperx_section({3, 3}, 2)
                                         : torus({4, 3}, 2);
    const std::string routing =
        kind == 0   ? one_of<std::string>(scene, 21, {"minimal", "valiant_group", "ugal_router", "par", "q_routing"})
        : kind == 1 ? one_of<std::string>(scene, 21, {"dimension_order", "minimal_adaptive", "dal", "omni_war"})
                    : one_of<std::string>(scene, 21, {"dimension_order", "minimal", "ugal"});
    const i64 size = one_of<i64>(scene, 22, {2, 4, 5, 16});
    const double load = one_of<double>(scene, 23, {0.15, 0.4, 0.7, 1.0});
    const std::string name =
        "scene " + std::to_string(scene) + " " + topology.name + " " + routing + " " + std::to_string(size) + " flits";
    std::unique_ptr<Simulation> sims[2];
    for (const i64 flits : {i64{1}, size}) {
      Config made = config(
          topology, random_router(scene, size, flits), {routing, {}},
          {"uniform", {{"load", load}, {"packet_bytes", bytes_of(size)}, {"injection", "fixed_interval"}}}, scene);
      if (routing != "dal" && pick(scene, 5, 3) == 0)
        made.router.values["vc_allocation"] = std::string("before_switch");
      if (routing == "minimal") made.failures = {{"events", "0.05@150-320"}};
      made.partitions = flits > 1 ? 1 + pick(scene, 24, 3) : 1;
      sims[flits > 1] = std::make_unique<Simulation>(made);
    }
    Simulation &flit = *sims[0], &train = *sims[1];
    for (const auto& sim : sims) sim->begin_window();
    CHECK_FOR(train.network().whole_packets && !flit.network().whole_packets, name);
    Deliveries of_flit, of_train;
    std::deque<std::vector<std::pair<u32, u32>>> late(static_cast<std::size_t>(size - 1));
    for (u32 now = 0; now < 400 || !train.empty(); now++) {
      for (const auto& sim : sims) {
        if (now == 400) sim->stop_sources();
        sim->run(1);
      }
      late.push_back(of_flit.of(flit.state()));
      delivered += static_cast<u32>(late.back().size());
      CHECK_FOR(of_train.of(train.state()) == late.front(), name + ", cycle " + std::to_string(now));
      late.pop_front();
      if (now % 64 == 13) train.check_conservation();
    }
    const Window a = window_sums(flit.state()), b = window_sums(train.state());
    const u64 later = static_cast<u64>(size - 1) * a.delivered;
    CHECK_FOR(a.generated == b.generated && a.delivered == b.delivered && a.hops == b.hops &&
                  a.latency_nic + later == b.latency_nic && a.latency_generation + later == b.latency_generation,
              name);
    for (u32 p = 0; p < flit.network().port_count; p++)
      CHECK_FOR(train.state().ports[p].flits == static_cast<u64>(size) * flit.state().ports[p].flits &&
                    train.state().ports[p].stall == flit.state().ports[p].stall,
                name);
    seen.insert(topology.name + " " + routing);
  }
  CHECK(seen.size() > 10);
  CHECK(delivered > 10000);
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
        const auto at = delivered_at(of_four(router, {{0, 2}}, flits));
        CHECK_EQ(at.at(0), head + static_cast<u32>(flits - 1) * slowest);
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
  const auto at = delivered_at(of_four(router, {{0, 2}, {1, 3}}, 4));
  CHECK_EQ(at.at(0), 11u + 11 + 1 + 2);
  CHECK_EQ(at.at(1), 23u + 11 + 1 + 2);
}

}  // namespace stage_train_test
