// Network::sensed holds a copy of the congestion at the outputs. The copy equals the queues and buffers in every cycle.
// Decisions from the copy equal decisions from the queues, for any weights.
#include <algorithm>

#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace routing_sensed_test {

using namespace scenes;

// The same network without the copy: decisions add up queues and credits.
std::shared_ptr<const Network> without_sensed(const Network& net) {
  auto plain = std::make_shared<Network>(net);
  CHECK(net.sensed.kept() && net.sensed.memory.memory + 1 == net.memories.size());
  plain->sensed = {};
  plain->memories.pop_back();
  return plain;
}

void same_packets(const State& a, const State& b, const std::string& what) {
  CHECK_FOR(a.packets.size() == b.packets.size() && std::equal(a.packets.begin(), a.packets.end(), b.packets.begin(),
                                                               [](const Packet& x, const Packet& y) {
                                                                 return x.source == y.source &&
                                                                        x.sequence == y.sequence && x.hops == y.hops &&
                                                                        x.nonminimal == y.nonminimal;
                                                               }),
            what + ": the packets differ");
  CHECK_FOR(std::equal(a.ports.begin(), a.ports.end(), b.ports.begin(),
                       [](const Port& x, const Port& y) { return x.flits == y.flits && x.load == y.load; }),
            what + ": the ports differ");
}

// The routings that weigh congestion, and one parameter of each that changes its candidates.
struct Weighing {
  std::string name;
  std::string key = {};  // empty: none, and no bias either
  std::vector<Value> values = {};
  Values greedy = {};  // sequential allocation weighs the queues themselves
};
const std::vector<Weighing> kWeighing = {
    {"omni_war", "back_to_back", {true, false}},
    {"dim_war", "classes", {std::string("after_deroute"), std::string("deroute")}},
    {"minimal_adaptive", "", {}, {{"allocation", std::string("greedy")}}},
    {"dal", "deadlock_avoidance", {std::string("escape"), std::string("distance")}},
};

Values shallow() {
  return merge(sc19(),
               {{"input_buffer_flits", i64{16}}, {"output_buffer_flits", i64{16}}, {"link_latency_ns_local", 9.0}});
}

TEST(sensed_equals_the_congestion_at_the_outputs) {
  const Section box = hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}});
  u32 scene = 0;
  for (const Weighing& own : kWeighing)
    for (const std::string parts : {"both", "output_queue", "credits"})
      for (const bool queues : {true, false}) {
        if (!queues && parts == "output_queue") continue;
        const Values traffic = {{"load", 0.8}, {"packet_bytes_max", bytes_of(scene % 2 ? 1 : 6)}};
        const Values router =
            queues ? merge(shallow(), {{"arbiter", std::string(scene % 3 ? "age" : "least_recently_served")}})
                   : small_wormhole();
        const Values measure = {{"congestion", parts}, {"congestion_scope", std::string(scene % 4 ? "class" : "vc")}};
        Simulation sim(config(box, router, {own.name, merge(own.greedy, measure)}, {"tornado", traffic}, ++scene));
        CHECK(sim.network().sensed.kept());
        u32 busy = 0;
        for (u32 cycle = 0; cycle < 300; cycle++) {
          sim.run(1);
          sim.check_conservation();  // compares the copy with the queues
          busy += *std::max_element(sim.network().sensed.memory.of(sim.state()),
                                    sim.network().sensed.memory.of(sim.state()) +
                                        sim.network().sensed.row(sim.network().routers, 0)) > 2;
        }
        CHECK_FOR(busy > 200, own.name + " senses " + parts);
        sim.network().sensed.memory.of(sim.state())[sim.network().sensed.at(sim.network().port(1, 4), 0)] ^= 1;
        CHECK_THROWS(CoreError, sim.check_conservation(), "sensed");
      }
}

// The reference compares candidates one by one, the routing compares eight ports at a time. The networks have several
// blocks of eight and parts of a block, dimensions without deroutes, parallel links, classes of several VCs, and biases
// of both signs.
TEST(sensed_decides_like_the_queues) {
  const std::vector<Section> networks = {hyperx_section({4, 3}, 2, {{"links", std::vector<double>{1, 2}}}),
                                         hyperx_section({3, 2, 2}, 2), hyperx_section({21}, 3),
                                         hyperx_section({9, 2}, 2, {{"links", std::vector<double>{1, 3}}}),
                                         hyperx_section({3}, 2, {{"links", std::vector<double>{5}}})};
  const double biases[] = {0, 0.37, -1.5, 3, -6};
  u32 scene = 0, diverted = 0;
  for (const Section& network : networks)
    for (const Weighing& own : kWeighing) {
      for (u32 k = 0; k < 3; k++) {
        Values values = merge(own.greedy, {{"congestion_scope", std::string(draw(scene, 0, 1) % 3 ? "class" : "vc")}});
        if (!own.key.empty()) {
          values["congestion_bias_flits"] = biases[below(draw(scene, 0, 2), 5)];
          values["bias_flits"] = biases[below(draw(scene, 0, 3), 5)];
          values["detour_hops"] = std::string(draw(scene, 0, 4) % 2 ? "normalized" : "absolute");
          values[own.key] = own.values[draw(scene, 0, 5) % 2];
        }
        const Values traffic = {{"load", 0.7}, {"packet_bytes_max", bytes_of(scene % 2 ? 1 : 5)}};
        Simulation kept(config(network, merge(shallow(), {{"vcs", i64{scene % 3 ? 12 : 8}}}), {own.name, values},
                               {k ? "uniform" : "tornado", traffic}, ++scene));
        Simulation plain(without_sensed(kept.network()));
        for (u32 cycle = 0; cycle < 250; cycle++) {
          for (Simulation* sim : {&kept, &plain}) sim->run(1);
          if (cycle % 10 == 9)
            same_packets(kept.state(), plain.state(), own.name + " on network " + std::to_string(scene));
        }
        for (const Packet& p : kept.state().packets) diverted += p.nonminimal;
      }
    }
  CHECK(diverted > 500);
}

}  // namespace routing_sensed_test
