// Congestion control after the public description of Slingshot (De Sensi, Di Girolamo, McMahon, Roweth, Hoefler, "An
// In-Depth Analysis of the Slingshot Interconnect", SC 2020): the switch at a congested port to a host identifies the
// flows that cause the congestion, and slows only them. It notifies their sources at once. Other flows keep their
// windows, also those whose packets wait elsewhere in the network.
//
// Differences: the hardware's thresholds and reactions are not public. Here a notice cuts the window by `cut`, at most
// once per round trip, and each round trip without marks adds a packet.
#include "simcore/control.hpp"

namespace flitgym::congestion::slingshot {

struct Rule : ComponentData {
  float cut = 0;
};

static void acknowledged(const Control& control, SenderFlow& flow, const Acknowledgement& ack, Cycle now) {
  const auto packet = static_cast<float>(control.packet);
  if (!ack.marked) {
    flow.window += packet * static_cast<float>(ack.flits) / flow.window;
  } else if (ack.flits == 0 && now - flow.since >= control.round_trip) {
    flow.window *= 1 - rule_of<Rule>(control).cut;
    flow.since = now;
  }
  flow.window = std::clamp(flow.window, packet, control.first.window);
}

static void setup(const Params& params, Network& net, Control& control) {
  auto rule = std::make_shared<Rule>();
  rule->cut = static_cast<float>(params.real("cut"));
  control.data = rule;
  control.marks_at_end = control.notices = true;
  read_window(params, net, control);
  read_mark(params, net, control);
}

const Register<ControlSpec> entry({
    .name = "slingshot",
    .summary = "the router at a congested port to a terminal slows only the flows to it (after Slingshot)",
    .params = {window_param(), mark_param(), real("cut", 0.5, 0.01, 0.99, "", "part of the window that a mark cuts"),
               flows_param(), ack_param()},
    .setup = setup,
    .acknowledged = acknowledged,
});

}  // namespace flitgym::congestion::slingshot
