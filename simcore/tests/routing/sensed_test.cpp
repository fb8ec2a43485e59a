// What routings sense of the outputs, kept side by side (Network::sensed), is at every instant what stands in the
// queues and buffers; and decisions made from it are those made from the queues themselves, whatever the weights.
#include <algorithm>

#include "simcore/rng.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

using namespace scenes;

namespace {

// The same network, but decisions add up queues and credits.
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
            what + ": another packet, or another way");
  CHECK_FOR(std::equal(a.ports.begin(), a.ports.end(), b.ports.begin(),
                       [](const Port& x, const Port& y) { return x.flits == y.flits && x.load == y.load; }),
            what + ": another port");
}

const std::vector<std::string> kWeighing = {"omni_war", "dim_war", "minimal_adaptive", "dal"};

Values shallow() {
  return merge(sc19(),
               {{"input_buffer_flits", i64{16}}, {"output_buffer_flits", i64{16}}, {"link_latency_ns_local", 9.0}});
}

}  // namespace

TEST(sensed_is_what_stands_at_the_outputs) {
  const Section box = hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}});
  u32 scene = 0;
  for (const std::string& routing : kWeighing)
    for (const std::string parts : {"both", "output_queue", "credits"})
      for (const bool queues : {true, false}) {
        if (!queues && parts == "output_queue") continue;
        const Values traffic = {{"load", 0.8}, {"packet_flits", i64{1}}, {"packet_flits_max", i64{scene % 2 ? 1 : 6}}};
        const Values router =
            queues ? merge(shallow(), {{"arbiter", std::string(scene % 3 ? "age" : "least_recently_served")}})
                   : small_wormhole();
        const Config world =
            config(box, router,
                   {routing, {{"congestion", parts}, {"congestion_scope", std::string(scene % 4 ? "class" : "vc")}}},
                   {"tornado", traffic}, ++scene);
        Simulation sim(world);
        CHECK(sim.network().sensed.kept());
        u32 busy = 0;
        for (u32 cycle = 0; cycle < 300; cycle++) {
          sim.run(1);
          sim.check_conservation();  // which looks at it
          busy += *std::max_element(sim.network().sensed.memory.of(sim.state()),
                                    sim.network().sensed.memory.of(sim.state()) +
                                        sim.network().sensed.row(sim.network().routers, 0)) > 2;
        }
        CHECK_FOR(busy > 200, routing + " senses " + parts);
        // Another simulation goes on from its snapshot, a fork from itself; one that says something else is refused.
        Simulation other(world), fork(sim);
        other.restore(sim.snapshot());
        for (Simulation* s : {&sim, &other, &fork}) s->run(100);
        CHECK_EQ(other.hash(), sim.hash());
        CHECK_EQ(fork.hash(), sim.hash());
        fork.check_conservation();
        sim.network().sensed.memory.of(sim.state())[sim.network().sensed.at(sim.network().port(1, 4), 0)] ^= 1;
        CHECK_THROWS(ConfigError, other.restore(sim.snapshot()), "sensed");
        CHECK_THROWS(CoreError, sim.check_conservation(), "sensed");
      }
}

// The least of all candidates, one by one, against the least of eight ports at a time: several blocks of eight and
// parts of one, dimensions without deroutes, parallel links, classes of several VCs, biases that favour either side.
TEST(sensed_decides_as_the_queues_do) {
  const std::vector<Section> networks = {hyperx_section({4, 3}, 2, {{"links", std::vector<double>{1, 2}}}),
                                         hyperx_section({2, 2, 2}, 2), hyperx_section({21}, 3),
                                         hyperx_section({9, 2}, 2, {{"links", std::vector<double>{1, 3}}}),
                                         hyperx_section({3}, 2, {{"links", std::vector<double>{5}}})};
  const double biases[] = {0, 0.37, -1.5, 3, -6};
  u32 scene = 0, diverted = 0;
  for (const Section& network : networks)
    for (const std::string& routing : kWeighing) {
      if (routing == "dal" && scene % 8 == 3) continue;
      for (u32 k = 0; k < 3; k++) {
        Values values = {{"congestion_scope", std::string(draw(scene, 0, 1) % 3 ? "class" : "vc")}};
        if (routing != "minimal_adaptive") {
          values["congestion_bias_flits"] = biases[below(draw(scene, 0, 2), 5)];
          values["bias_flits"] = biases[below(draw(scene, 0, 3), 5)];
          values["detour_hops"] = std::string(draw(scene, 0, 4) % 2 ? "normalized" : "absolute");
        }
        if (routing == "omni_war") values["back_to_back"] = draw(scene, 0, 5) % 2 == 0;
        if (routing == "dim_war") values["classes"] = std::string(draw(scene, 0, 5) % 2 ? "deroute" : "after_deroute");
        if (routing == "dal") values["deadlock_avoidance"] = std::string(k ? "distance" : "escape");
        const Values traffic = {{"load", 0.7}, {"packet_flits", i64{1}}, {"packet_flits_max", i64{scene % 2 ? 1 : 5}}};
        Simulation kept(config(network, merge(shallow(), {{"vcs", i64{scene % 3 ? 12 : 8}}}), {routing, values},
                               {k ? "uniform" : "tornado", traffic}, ++scene));
        Simulation plain(without_sensed(kept.network()));
        for (u32 cycle = 0; cycle < 250; cycle++) {
          for (Simulation* sim : {&kept, &plain}) sim->run(1);
          if (cycle % 10 == 9)
            same_packets(kept.state(), plain.state(), routing + " on network " + std::to_string(scene));
        }
        for (const Packet& p : kept.state().packets) diverted += p.nonminimal;
      }
    }
  CHECK(diverted > 500);
}
