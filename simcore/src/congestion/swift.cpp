// Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020).
// A delay below the target adds `increase` packets to the window per round trip. A longer delay cuts the window, once
// per round trip, by `decrease` times the relative excess, and by `most_decrease` at most. The target is the delay of
// the idle path plus `queue_ns`, and more for small windows (flow scaling). A window below one packet becomes a pause
// between packets.
//
// Differences: the simulation knows the delay of an idle path, so that Swift's base target and its scaling by hops are
// exact. Hosts add no delay, so there is one window, that of the fabric. No packet is lost.
#include "simcore/control.hpp"

namespace flitgym::congestion::swift {

constexpr float kLeast = 0.001f;                           // packets, the paper's min_cwnd
constexpr float kScaledFrom = 0.1f, kScaledUpTo = 100.0f;  // packets, fs_min_cwnd and fs_max_cwnd

struct Rule : ComponentData {
  float queue = 0, scaling = 0;  // cycles
  float increase = 0, decrease = 0, most = 0;
};

// Waiting time in the target, in cycles (3.1 and 3.2 of the paper).
static float allowed(const Rule& rule, float packets) {
  const float above = 1 / std::sqrt(kScaledUpTo);
  const float share = (1 / std::sqrt(packets) - above) / (1 / std::sqrt(kScaledFrom) - above);
  return rule.queue + rule.scaling * std::clamp(share, 0.0f, 1.0f);
}

static Cycle may_go(const Control& control, const SenderFlow& flow, u32 flits, Cycle now) {
  if (flow.window >= static_cast<float>(control.packet)) return go_by_window(flow, flits, now);
  return flow.in_flight > 0 ? kNone : std::max(flow.next, now);
}

static void sent(const Control& control, SenderFlow& flow, u32, Cycle now) {
  const auto packet = static_cast<float>(control.packet);
  if (flow.window >= packet) return;
  const float pause = std::min(flow.target * packet / flow.window, static_cast<float>(kLongestDelay));
  flow.next = now + static_cast<Cycle>(pause);
}

static void acknowledged(const Control& control, SenderFlow& flow, const Acknowledgement& ack, Cycle now) {
  const Rule& rule = rule_of<Rule>(control);
  const auto packet = static_cast<float>(control.packet), flits = static_cast<float>(ack.flits);
  const auto delay = static_cast<float>(ack.delay);
  const float target = static_cast<float>(ack.idle) + allowed(rule, flow.window / packet);
  if (delay < target) {
    flow.window += rule.increase * flits * (flow.window >= packet ? packet / flow.window : 1);
  } else if (now - flow.since >= ack.delay) {
    flow.window *= std::max(1 - rule.decrease * (delay - target) / delay, 1 - rule.most);
    flow.since = now;
  }
  flow.window = std::clamp(flow.window, kLeast * packet, control.first.window);
  flow.target = delay;  // the latest round trip
}

static void setup(const Params& params, Network& net, Control& control) {
  auto rule = std::make_shared<Rule>();
  rule->queue = static_cast<float>(cycles_in("queue_ns", params, net, 0.25 * control.round_trip));
  rule->scaling = static_cast<float>(cycles_in("scaling_ns", params, net, 0.5 * control.round_trip));
  rule->increase = static_cast<float>(params.real("increase"));
  rule->decrease = static_cast<float>(params.real("decrease"));
  rule->most = static_cast<float>(params.real("most_decrease"));
  control.data = rule;
  read_window(params, net, control);
  control.first.target = static_cast<float>(control.round_trip);
}

const Register<ControlSpec> entry({
    .name = "swift",
    .summary = "a window that keeps the delay near a target (Swift)",
    .params = {window_param(),
               real("queue_ns", 0, 0, 1e9, "ns",
                    "time in queues that the target allows; 0 = a quarter of a round trip"),
               real("scaling_ns", 0, 0, 1e9, "ns",
                    "further time that the target allows the smallest windows (fs_range); 0 = half a round trip"),
               real("increase", 1, 1e-6, 1e6, "packets per round trip", "additive increase (ai)"),
               real("decrease", 0.8, 0, 1, "", "multiplicative decrease (beta)"),
               real("most_decrease", 0.5, 0, 0.99, "", "largest cut of the window (max_mdf)"), flows_param(),
               ack_param()},
    .setup = setup,
    .may_go = may_go,
    .sent = sent,
    .acknowledged = acknowledged,
});

}  // namespace flitgym::congestion::swift
