// A witness records the decisions of a routing that has no seam of its own, such as PAR. The slots of a decision are
// the candidates that the routing lists, and the action is the slot of its choice. The routing does not see the
// witness, so a recorded run equals the run without a record.
#include <algorithm>
#include <limits>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

namespace {

// The slot of a choice of the routing.
u32 slot_of_choice(const Seam& seam, Batch& b, u32 j) {
  Decisions& d = b.decisions;
  const u32 i = d.request[j], first = j * seam.slots, count = d.slot_count[j];
  const u16 port = b.out_port[i], vc_class = b.out_class[i];
  u32 k = 0, same_port = count;
  for (; k < count && (d.ports[first + k] != port || d.classes[first + k] != vc_class); k++)
    if (d.ports[first + k] == port) same_port = std::min(same_port, k);
  if (k == count) k = same_port;
  if (k == count) {  // there are more candidates than slots, and the choice replaces the last slot
    k = count - 1;
    d.ports[first + k] = port;
    d.classes[first + k] = vc_class;
  }
  return k;
}

}  // namespace

const std::vector<ParamSpec>& record_params() {
  constexpr double kMostRecorded = 256;  // slots; a policy that learns from the record has at most kMostSlots
  static const std::vector<ParamSpec> specs = [] {
    std::vector<ParamSpec> own = row_params();
    for (ParamSpec& spec : own) {
      if (spec.key == "slots") spec.max = kMostRecorded;
      if (spec.key == "observation") spec.fallback = std::string("progress+router+queues+path");
      if (spec.key == "record")
        spec = integer("capacity", 1 << 16, 1, 1 << 24, "transitions", "size of the ring buffer");
    }
    return own;
  }();
  return specs;
}

void build_witness(const Values& given, Network& net) {
  if (net.decider != Decider::kRouting || net.seam)
    throw ConfigError("record: routing." + net.routing_name +
                      (net.seam ? " records its own decisions; set routing.record to a number of transitions instead"
                                : " is decided outside the core; its agent knows the decisions"));
  const Params params("record", record_params(), given, net.seed);
  auto seam = std::make_shared<Seam>();
  seam->witness = true;
  seam->listing = listing_network(net, "record");
  net.seam = seam;
  build_rows("record", params.with({{"record", params.integer("capacity")}}), net, *seam);
  net.config.record = params.values();
}

void route_and_record(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  Decisions& d = b.decisions;
  list_candidates_of(net, seam.listing ? seam.listing.get() : &net, s, b);
  slot_decisions<false>(net, s, b);
  net.route(net, s, b);
  for (u32 j = 0; j < d.count; j++) {
    d.chosen[j] = slot_of_choice(seam, b, j);
    d.log_probability[j] = std::numeric_limits<float>::quiet_NaN();
    observe(net, s, b, j);
    open_record(net, s, b, j);
  }
  s.part.learning.decisions += d.count;
}

std::shared_ptr<const Network> with_agent(std::shared_ptr<const Network> recorded) {
  if (!recorded->seam || !recorded->seam->witness)
    throw ConfigError("hand_over(): an agent can replace a routing only if the section 'record' is given");
  auto net = std::make_shared<Network>(*recorded);
  net->decider = Decider::kSlots;
  if (const Network* const listing = recorded->seam->listing.get()) {
    net->candidates = listing->candidates;
    net->relation = listing->relation;
  } else {
    for (const auto& [name, spec] : registry<RoutingSpec>())
      if (spec.candidates == net->candidates && !spec.agent_can_choose && !spec.learn)
        throw ConfigError("hand_over(): routing." + name + " does not let an agent choose among its candidates");
  }
  auto seam = std::make_shared<Seam>(*net->seam);
  seam->background = std::move(recorded);
  net->seam = seam;
  return net;
}

void share_decisions(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  Decisions& d = b.decisions;
  const bool routing_learns = net.learns && std::ranges::none_of(seam.blocks, &ObservationSpec::learn);
  std::vector<SavedPacket> saved;  // the packets of the agent, which the background must not change
  for (u32 j = 0; j < d.count; j++)
    if (d.chosen[j] != kNone) saved.push_back(save_packet(net, s, b.packet[d.request[j]]));
  seam.background->route(*seam.background, s, b);
  for (u32 j = 0, own = 0; j < d.count; j++) {
    const u32 i = d.request[j], k = j * seam.slots + d.chosen[j];
    if (d.chosen[j] == kNone) {
      d.chosen[j] = slot_of_choice(seam, b, j);
    } else {
      put_back(net, s, b.packet[i], saved[own++]);
      if (routing_learns) s.details[b.packet[i]].value = -1;  // the agent has no feedback for the routing's table
      b.out_port[i] = d.ports[k];
      b.out_class[i] = d.classes[k];
      if (net.chosen) net.chosen(net, s, b, i);
    }
    if (seam.capacity) open_record(net, s, b, j);
  }
  s.part.learning.decisions += d.count;
}

}  // namespace flitgym
