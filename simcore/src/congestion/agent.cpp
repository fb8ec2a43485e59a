// An agent multiplies the window or the rate of each flow by a factor, once per round. A round ends when a packet that
// was sent in it is acknowledged. At the next multiple of `decision_ns`, the NIC asks for a decision. A policy file
// decides in the core, in the next event of the flow. Without a file, Python decides. Without an
// answer, the flow keeps its window or rate.
#include "simcore/control.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"

namespace flitgym::congestion::agent {

// The delay is logarithmic, because that of an incast is many idle delays.
const std::vector<Feature> features = {
    {"marks", 0, 1, "part of the acknowledged flits that were marked"},
    {"delay_mean", 0, 10, "log2 of the mean delay, relative to an idle path"},
    {"delay_least", 0, 10, "log2 of the least delay, relative to an idle path"},
    {"rate", 0, 2, "acknowledged flits, relative to the rate of the NIC's link"},
    {"window", -20, 4, "log2 of the window in bandwidth-delay products, or of the rate in rates of the link"},
    {"in_flight", 0, 4, "flits in flight, relative to the window, or to the rate times the longest round trip"},
};
constexpr float kLeastRate = 0.001f;  // as of DCQCN
const std::vector<float> factors = {0.5f, 0.7f, 0.85f, 1, 1.15f, 1.4f, 2};

struct Rule : ComponentData {
  float flit_cycles = 1;
  float least = 1, whole = 1;  // SenderFlow::window at least, and that of the rate of the link
  u32 period = 1;              // cycles
  PolicyShape policy;
  std::vector<float> weights;  // empty: no file
};

// SenderFlow::since is the begin of the round, and `next` the first cycle after its end. Delays are relative to idle
// paths: `average` is their sum over the flits, and `target` the least delay.
static Cycle next_decision(const Rule& rule, const SenderFlow& flow) {
  return (flow.next + rule.period - 1) / rule.period * rule.period;
}

bool asks(const Control& control, const SenderFlow& flow, Cycle now) {
  return flow.next && next_decision(rule_of<Rule>(control), flow) <= now;
}

void observe(const Control& control, const SenderFlow& flow, Cycle now, float* row) {
  const auto flits = static_cast<float>(flow.acknowledged);
  const float whole = rule_of<Rule>(control).whole;
  const float values[] = {static_cast<float>(flow.marked) / flits,
                          std::log2(flow.average / flits),
                          std::log2(flow.target),
                          flits * rule_of<Rule>(control).flit_cycles / static_cast<float>(now - flow.since),
                          std::log2(flow.window / whole),
                          static_cast<float>(flow.in_flight) / flow.window * (whole / control.product)};
  for (std::size_t k = 0; k < features.size(); k++) row[k] = std::clamp(values[k], features[k].low, features[k].high);
}

void decide(const Control& control, SenderFlow& flow, Cycle now, u32 factor) {
  flow.window = std::clamp(flow.window * factors[factor], rule_of<Rule>(control).least, control.first.window);
  flow.acknowledged = flow.marked = 0;
  flow.average = flow.target = 0;
  flow.since = now;
  flow.next = 0;
}

static void elapsed(const Control& control, SenderFlow& flow, Cycle now) {
  const Rule& rule = rule_of<Rule>(control);
  if (rule.weights.empty() || flow.next == 0) return;
  const Cycle asked = next_decision(rule, flow);
  if (asked > now) return;
  float row[16], scores[16];
  observe(control, flow, asked, row);
  score_row(rule.policy, rule.weights.data(), row, scores);
  decide(control, flow, asked, static_cast<u32>(std::max_element(scores, scores + factors.size()) - scores));
}

// A flow with nothing in flight begins a round with its next packet, so a pause before it is no low rate.
static void sent(const Control&, SenderFlow& flow, u32 flits, Cycle now) {
  if (flow.in_flight == flits && flow.acknowledged == 0) flow.since = now;
}

static void acknowledged(const Control&, SenderFlow& flow, const Acknowledgement& ack, Cycle now) {
  const float delay = static_cast<float>(ack.delay) / static_cast<float>(ack.idle);
  flow.target = flow.acknowledged ? std::min(flow.target, delay) : delay;
  flow.acknowledged += ack.flits;
  if (ack.marked) flow.marked += ack.flits;
  flow.average += delay * ack.flits;
  if (flow.next == 0 && now - flow.since >= ack.delay) flow.next = now + 1;
}

static void setup(const Params& params, Network& net, Control& control) {
  auto rule = std::make_shared<Rule>();
  rule->least = static_cast<float>(control.packet);
  rule->whole = control.product;
  if (const double rate = params.real("flow_rate"); rate > 0) {
    if (params.integer("window_bytes") > 0)
      throw ConfigError(
          "congestion_control.agent.window_bytes: it has no effect with flow_rate; leave out one of them");
    if (rate < static_cast<double>(kLeastRate))
      throw ConfigError("congestion_control.agent.flow_rate: the lowest rate is a thousandth of the link's");
    use_rates(net, control, static_cast<float>(rate));
    rule->least = kLeastRate;
    rule->whole = 1;
  } else {
    read_window(params, net, control);
  }
  read_mark(params, net, control);
  rule->period = std::max(1u, static_cast<u32>(cycles_in("decision_ns", params, net, 0.25 * control.round_trip)));
  rule->flit_cycles = static_cast<float>(net.flit_cycles_host);
  if (const std::string& path = params.text("path"); !path.empty()) {
    const PolicyFile file = read_policy_file(path);
    for (const auto& [key, value] : {std::pair{"decisions", "nic"}, {"network", "flat"}, {"observation", "flow"}})
      if (metadata_of(file, path, key) != value)
        throw ConfigError("policy file ", path, ": its ", key, " is '", metadata_of(file, path, key),
                          "'; congestion_control=agent needs '", value, "'");
    if (metadata_of(file, path, "activation") == "tanh") rule->policy.activation = Activation::kTanh;
    read_layers(file, path, static_cast<u32>(features.size()), static_cast<u32>(factors.size()), rule->policy,
                rule->weights);
  }
  if (rule->weights.empty()) control.period = rule->period;
  control.data = rule;
}

const Register<ControlSpec> entry({
    .name = "agent",
    .summary = "an agent or a policy file scales the window or the rate of each flow once per round trip",
    .params = {window_param(), mark_param(),
               real("flow_rate", 0, 0, 1, "of the link's rate",
                    "the agent scales rates instead of windows; the rate of a flow at the beginning and at most; 0 = "
                    "windows"),
               choice("path", "", {}, "policy file with decisions=nic; empty = Python decides (InjectionBatch)"),
               real("decision_ns", 0, 0, 1e9, "ns",
                    "decisions are made at multiples of this time; 0 = a quarter of a round trip"),
               flows_param(), ack_param()},
    .setup = setup,
    .sent = sent,
    .acknowledged = acknowledged,
    .elapsed = elapsed,
});

}  // namespace flitgym::congestion::agent
