// Progress of a packet.
#include <algorithm>

#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::progress {

void write(const Network& net, const State&, const Asked& asked, float* general, float*, u32) {
  const Packet& p = asked.packet;
  general[0] = std::min(p.hops * 0.125f, 4.0f);
  general[1] = std::min(static_cast<float>((asked.now - p.injected) * net.cycle_ns) * 0.001f, 100.0f);
  general[2] = std::min(p.flits * 0.0625f, 16.0f);
}

const Register<ObservationSpec> entry({
    .name = "progress",
    .summary = "hops so far, age and size of the packet",
    .general = {{"hops", 0, 4, "router-to-router hops so far / 8"},
                {"age", 0, 100, "us since the NIC accepted the packet"},
                {"size", 0, 16, "flits / 16"}},
    .write = write,
    .local = true,
});

}  // namespace flitgym::learning::observation::progress
