// A static window. With the bandwidth-delay product, a single flow reaches the rate of its link. N flows into one port
// keep at most N windows in the network, so the queues are bounded.
#include "simcore/control.hpp"

namespace flitgym::congestion::window {

static void setup(const Params& params, Network& net, Control& control) { read_window(params, net, control); }

const Register<ControlSpec> entry({
    .name = "window",
    .summary = "a fixed number of bytes in flight per flow",
    .params = {window_param(), flows_param(), ack_param()},
    .setup = setup,
});

}  // namespace flitgym::congestion::window
