// Networks whose links fail during the run.
#pragma once

#include "support/scenes.hpp"
#include "test.hpp"

namespace scenes {

inline Config failing(const Section& topology, const Values& failures, const Section& routing, double load = 0.4) {
  Config c = config(topology, merge(input_queued(), {{"link_latency_ns_global", 20.0}, {"input_buffer_flits", 8}}),
                    routing, {"uniform", {{"load", load}, {"packet_bytes_max", bytes_of(4)}}});
  c.failures = failures;
  return c;
}

// `count` failures that begin 20 ns apart and last 150 ns, so that several links are down at a time. Every sixth link
// fails, again and again.
inline Values many_failures(const Section& topology, u32 count) {
  const auto net = build(failing(topology, {}, {"up_down", {}}));
  std::vector<std::string> links;
  u32 turn = 0;
  for (u32 p = 0; p < net->router_ports; p++)
    if (net->is_link(p) && net->channels[p].peer > p && turn++ % 6 == 0)
      links.push_back(std::to_string(net->router_of_port(p)) + ":" + std::to_string(net->local_port(p)));
  std::string events;
  for (u32 k = 0; k < count; k++)
    events += (k ? ", " : "") + links[k % links.size()] + "@" + std::to_string(200 + 20 * k) + "-" +
              std::to_string(350 + 20 * k);
  return {{"events", events}};
}

// Runs while links fail, and drains. Returns the flits in the last VC of each link, summed over the cycles.
inline u64 run_without_loss(Simulation& sim, u32 cycles, const std::string& name) {
  const Network& net = sim.network();
  u64 waiting = 0;
  for (u32 k = 0; k < cycles; k++) {
    sim.run(1);
    if (k % 16 == 0) sim.check_conservation();
    for (u32 p = 0; p < net.router_ports; p++)
      if (net.is_link(p)) waiting += sim.state().input_vcs[net.vc_id(p, net.vcs - 1)].count;
  }
  CHECK_FOR(sim.drain(50000), name);
  CHECK_EQ(sim.state().part.totals.flits_accepted, sim.state().part.totals.flits_ejected);
  CHECK(sim.state().part.totals.flits_ejected > 1000);
  return waiting;
}

}  // namespace scenes
