// Queues and credits of each candidate, the same data that UGAL reads.
#include <algorithm>

#include "learning/hops.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::queues {

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const float room = 1.0f / static_cast<float>(net.router.input_depth + net.router.output_depth);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]);
    slots[0] = std::min(static_cast<float>(s.ports[port].load) * room, 32.0f);
    slots[1] = static_cast<float>(ahead_in_class(net, &s.output_vcs[net.vc_id(port, 0)], asked.classes[k])) * room;
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

}  // namespace flitgym::learning::observation::queues
