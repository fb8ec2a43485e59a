// Estimated delay of each candidate with global knowledge: the time to the destination if every queue kept its present
// length. A router cannot know it, but a reward may use it, because only the trainer sees rewards. It is available at
// once, while the true delay is known only after thousands of other decisions.
#include <algorithm>

#include "simcore/learning.hpp"
#include "topology/graph.hpp"

namespace flitgym {

namespace {

// Queueing ahead of a packet that takes a channel: flits queued for the channel and flits in the buffers at its far
// end.
double queueing_ns(const Network& net, const State& s, u32 port) {
  const Channel& channel = net.channels[port];
  u32 flits = s.ports[port].queued;
  if (!net.is_nic(channel.peer))
    for (u32 vc = 0; vc < net.vcs; vc++) flits += s.input_vcs[net.vc_id(channel.peer, vc)].count;
  return flits * channel.flit_cycles * net.cycle_ns;
}

}  // namespace

void path_delays(const Network& net, const State& s, const Batch& b, float* us) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const Decisions& d = b.decisions;
  for (u32 j = 0; j < d.count; j++) {
    const u32 i = d.request[j], to = net.terminal_router[s.packets[b.packet[i]].destination];
    const Packet& p = s.packets[b.packet[i]];
    for (u32 k = 0; k < seam.slots; k++) {
      float& out = us[std::size_t{j} * seam.slots + k];
      out = 0;
      if (k >= d.slot_count[j]) continue;
      double ns = 0;
      u32 port = net.port(b.router[i], d.ports[std::size_t{j} * seam.slots + k]);
      for (;;) {
        ns += seam.hop_ns[port] + queueing_ns(net, s, port);
        const u32 router = seam.next_router[port];
        if (router == kNone || router == to) break;
        port = net.port(router, net.topology->minimal_port(net, graph, router, p));
      }
      out = static_cast<float>(ns * 1e-3);
    }
  }
}

}  // namespace flitgym
