// Queues and credits of each candidate, the same data that UGAL reads.
#include <algorithm>

#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::queues {

namespace {

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const u32 depth = net.router.input_depth, both = depth + net.router.output_depth;
  const float room = 1.0f / static_cast<float>(both);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]);
    slots[0] = std::min(static_cast<float>(s.ports[port].load) * room, 32.0f);
    // A packet takes the VC of its class with the most space.
    u32 least = both;
    const u32 first = asked.classes[k] == kAnyClass ? 0 : asked.classes[k],
              step = asked.classes[k] == kAnyClass ? 1 : net.routing_facts.classes;
    for (u32 vc = first; vc < net.vcs; vc += step) {
      const OutputVc& out = s.output_vcs[net.vc_id(port, vc)];
      least = std::min<u32>(least, out.count + depth - out.credits);
    }
    slots[1] = static_cast<float>(least) * room;
  }
}

const Register<ObservationSpec> entry({
    .name = "queues",
    .summary = "flits ahead of the packet, by link and by VC class",
    .per_slot = {{"link", 0, 32,
                  "flits queued for the link or without returned credit, all VCs / buffer size of one VC in flits"},
                 {"class", 0, 1, "the same for the emptiest VC of the packet's class"}},
    .write = write,
    .local = true,
});

}  // namespace

}  // namespace flitgym::learning::observation::queues
