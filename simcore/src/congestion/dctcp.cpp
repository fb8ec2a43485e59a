// DCTCP (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010). Once per window, the source estimates the part of
// marked packets: average += gain (part - average). It cuts the window by average / 2 if a packet was marked, and
// otherwise adds a packet.
//
// Differences: no packet is lost, so there is no slow start, no timeout and no retransmission. A flow starts with the
// largest window, and with average 1, so that the first marks halve it. A router compares the queue when it routes a
// packet. Each packet is acknowledged alone, so marks need no state at the receiver.
#include "simcore/control.hpp"

namespace flitgym::congestion::dctcp {

struct Rule : ComponentData {
  float gain = 0;
};

static void acknowledged(const Control& control, SenderFlow& flow, const Acknowledgement& ack, Cycle) {
  const auto packet = static_cast<float>(control.packet);
  flow.acknowledged += ack.flits;
  if (ack.marked) flow.marked += ack.flits;
  if (static_cast<float>(flow.acknowledged) < flow.target) return;
  const float part = static_cast<float>(flow.marked) / static_cast<float>(flow.acknowledged);
  flow.average += rule_of<Rule>(control).gain * (part - flow.average);
  flow.window = flow.marked ? flow.window * (1 - flow.average / 2) : flow.window + packet;
  flow.window = std::clamp(flow.window, packet, control.first.window);
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
               flows_param()},
    .setup = setup,
    .acknowledged = acknowledged,
});

}  // namespace flitgym::congestion::dctcp
