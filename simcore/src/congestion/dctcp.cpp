// DCTCP (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257). Once per window, the source estimates the
// part of marked packets: average += gain (part - average). A mark cuts the window by average / 2, at most once per
// round trip. A window without marks adds a packet.
//
// Differences: no packet is lost, so there is no slow start, no timeout and no retransmission. A flow starts with the
// largest window. A router compares the queue when it routes a
// packet. Each packet is acknowledged alone, so marks need no state at the receiver.
#include "simcore/control.hpp"

namespace flitgym::congestion::dctcp {

struct Rule : ComponentData {
  float gain = 0;
};

static void acknowledged(const Control& control, SenderFlow& flow, const Acknowledgement& ack, Cycle now) {
  const auto packet = static_cast<float>(control.packet);
  flow.acknowledged += ack.flits;
  if (ack.marked) flow.marked += ack.flits;
  if (ack.marked && now - flow.since >= control.round_trip) {
    flow.window = std::max(flow.window * (1 - flow.average / 2), packet);
    flow.since = now;
  }
  if (static_cast<float>(flow.acknowledged) < flow.target) return;
  const float part = static_cast<float>(flow.marked) / static_cast<float>(flow.acknowledged);
  flow.average += rule_of<Rule>(control).gain * (part - flow.average);
  if (!flow.marked) flow.window = std::min(flow.window + packet, control.first.window);
  flow.acknowledged = flow.marked = 0;
  flow.target = flow.window;  // flits of the next round
}

static void setup(const Params& params, Network& net, Control& control) {
  auto rule = std::make_shared<Rule>();
  rule->gain = static_cast<float>(params.real("gain"));
  control.data = rule;
  read_window(params, net, control);
  read_mark(params, net, control);
  control.first.average = 1;
  control.first.target = control.first.window;
}

const Register<ControlSpec> entry({
    .name = "dctcp",
    .summary = "a window that shrinks with the part of marked packets (DCTCP)",
    .params = {window_param(), mark_param(), real("gain", 1.0 / 16, 1e-6, 1, "", "weight of the newest part (g)"),
               flows_param(), ack_param()},
    .setup = setup,
    .acknowledged = acknowledged,
});

}  // namespace flitgym::congestion::dctcp
