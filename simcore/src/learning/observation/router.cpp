// Load of the router as a whole.
#include <algorithm>

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::router {

void write(const Network& net, const State& s, const Asked& asked, float* general, float*, u32) {
  const float room = 1.0f / static_cast<float>(net.router.input_depth + net.router.output_depth);
  const Port* const ports = &s.ports[net.port(asked.router, 0)];
  u32 sum = 0, most = 0, links = 0;
  each_link(net, graph_now(net, s), asked.router, [&](u32 k) {
    sum += ports[k].load;
    most = std::max(most, ports[k].load);
    links++;
  });
  const InputVc& in = s.input_vcs[net.vc_id(net.port(asked.router, asked.in_port), asked.in_vc)];
  general[0] = std::min(static_cast<float>(sum) * room / static_cast<float>(links), 32.0f);
  general[1] = std::min(static_cast<float>(most) * room, 32.0f);
  general[2] = std::min(static_cast<float>(in.count) / static_cast<float>(net.router.input_depth), 1.0f);
}

const Register<ObservationSpec> entry({
    .name = "router",
    .summary = "load of the router's links, and the packet's input buffer",
    .general =
        {{"load_mean", 0, 32,
          "flits queued for a link or without returned credit, mean over links / buffer size of one VC in flits"},
         {"load_max", 0, 32, "the same for the fullest link"},
         {"queue", 0, 1, "flits in the packet's input buffer / depth of the buffer"}},
    .write = write,
    .local = true,
});

}  // namespace flitgym::learning::observation::router
