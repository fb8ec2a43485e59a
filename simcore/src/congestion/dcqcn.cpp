// DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). A source sends at a rate. A
// marked packet cuts the rate by average / 2, at most once per `cut_ns`. Every `period_ns` after a cut, the rate moves
// half way to its target. The target is the rate before the cut, and grows by `increase` after five periods.
//
// Differences: a router marks all packets that meet a queue of `mark_bytes`, instead of a growing part of them. The
// source and not the receiver limits the number of cuts. There is no counter of bytes and no faster increase. The times
// follow from the round trip of this network, because those of the paper (50 and 55 us) belong to larger networks. A
// network without loss has back pressure instead of PFC. The gain and the increase (40 Mb/s of 40 Gb/s) are those of
// the authors' simulator (github.com/bobzhuyb/ns3-rdma, mix/config.txt).
#include "simcore/control.hpp"

namespace flitgym::congestion::dcqcn {

constexpr float kLeast = 0.001f;  // 40 Mb/s of 40 Gb/s, the paper's lowest rate
constexpr u32 kFast = 5;          // periods of fast recovery (F)
constexpr u32 kMostPeriods = 4096;

// SenderFlow::window is the rate, `acknowledged` the periods since the last cut.
struct Rule : ComponentData {
  float gain = 0, increase = 0;
  u32 cut = 1, period = 1;  // cycles
};

static void elapsed(const Control& control, SenderFlow& flow, Cycle now) {
  if (flow.since == 0) return;  // before the first cut, the rate is full and the average 1
  const Rule& rule = rule_of<Rule>(control);
  for (const u32 periods = std::min((now - flow.since) / rule.period, kMostPeriods); flow.acknowledged < periods;) {
    flow.acknowledged++;
    flow.average *= 1 - rule.gain;
    if (flow.acknowledged > kFast) flow.target = std::min(flow.target + rule.increase, 1.0f);
    flow.window = (flow.window + flow.target) / 2;
  }
}

static void acknowledged(const Control& control, SenderFlow& flow, const Acknowledgement& ack, Cycle now) {
  const Rule& rule = rule_of<Rule>(control);
  if (!ack.marked || now - flow.since < rule.cut) return;
  flow.target = flow.window;
  flow.window = std::max(flow.window * (1 - flow.average / 2), kLeast);
  flow.average += rule.gain * (1 - flow.average);
  flow.acknowledged = 0;
  flow.since = now;
}

static void setup(const Params& params, Network& net, Control& control) {
  auto rule = std::make_shared<Rule>();
  rule->gain = static_cast<float>(params.real("gain"));
  rule->increase = static_cast<float>(params.real("increase"));
  rule->cut = std::max(1u, static_cast<u32>(cycles_in("cut_ns", params, net, control.round_trip)));
  rule->period = std::max(1u, static_cast<u32>(cycles_in("period_ns", params, net, 2.0 * control.round_trip)));
  control.data = rule;
  read_mark(params, net, control);
  use_rates(net, control, 1);
  control.first.target = control.first.average = 1;
}

const Register<ControlSpec> entry({
    .name = "dcqcn",
    .summary = "a rate that marks cut and time raises (DCQCN)",
    .params = {mark_param(), real("gain", 1.0 / 256, 1e-6, 1, "", "weight of the newest mark (g)"),
               real("increase", 0.001, 1e-6, 1, "of the link's rate", "additive increase of the target (R_AI)"),
               real("cut_ns", 0, 0, 1e9, "ns", "least time between two cuts; 0 = a round trip of the longest path"),
               real("period_ns", 0, 0, 1e9, "ns", "time between two increases; 0 = two round trips"), flows_param(),
               ack_param()},
    .setup = setup,
    .acknowledged = acknowledged,
    .elapsed = elapsed,
});

}  // namespace flitgym::congestion::dcqcn
