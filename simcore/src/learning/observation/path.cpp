// Length of the path through each candidate, without queueing.
#include <algorithm>

#include "learning/hops.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::path {

void write(const Network& net, const State& s, const Asked& asked, float* general, float* slots, u32 stride) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const Way way(net, graph, asked);
  const u32 hops = way.hops(asked.router);
  const float direct = way.flight_ns(asked.router);
  general[0] = static_cast<float>(hops) * 0.125f;
  general[1] = std::min(direct * 0.001f, 100.0f);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]), next = seam.next_router[port];
    slots[0] = std::clamp((seam.hop_ns[port] + way.flight_ns(next) - direct) * 0.001f, -10.0f, 100.0f);
    slots[1] = static_cast<float>(static_cast<int>(1 + way.hops(next)) - static_cast<int>(hops)) * 0.5f;
    slots[2] = std::min(seam.hop_ns[port] * 0.001f, 100.0f);
    slots[3] = k == 0;
  }
}

const Register<ObservationSpec> entry({
    .name = "path",
    .summary = "length of the path to the destination, and how much longer each candidate makes it",
    .general = {{"hops_left", 0, 32, "router-to-router hops of a minimal path / 8"},
                {"time_left", 0, 100, "us along a minimal path without queueing"}},
    .per_slot = {{"more_time", -10, 100, "us that the path through this candidate is longer, without queueing"},
                 {"more_hops", -1, 16, "extra hops of the path through this candidate / 2"},
                 {"hop_time", 0, 100, "us of the hop itself"},
                 {"minimal", 0, 1, "1: the candidate of the minimal path"}},
    .write = write,
    .local = true,
    .distances = true,
});

}  // namespace flitgym::learning::observation::path
