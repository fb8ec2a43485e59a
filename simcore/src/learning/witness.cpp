// A witness records the decisions of a routing that has no seam of its own, such as PAR. The slots of a decision are
// the candidates that the routing lists, and the action is the slot of its choice. The routing does not see the
// witness, so a recorded run equals the run without a record.
#include <cstdio>

#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

// The slot of a choice of the routing.
static u32 slot_of_choice(const Seam& seam, Batch& b, u32 j) {
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
    throw ConfigError("record: routing.", net.routing_name,
                      net.seam ? " records its own decisions; set routing.record to a number of transitions instead"
                               : " is decided outside the core; its agent knows the decisions");
  const Params params("record", record_params(), given, net.seed);
  auto seam = std::make_shared<Seam>();
  seam->witness = true;
  seam->listing = listing_network(net, "record");
  net.seam = seam;
  build_rows("record", params.with({{"record", params.integer("capacity")}}), net, *seam);
  net.config.record = params.values();
}

// The weights and paths of the candidates of a watched packet.
static void weigh(const Network& net, State& s, Batch& b, u32 j) {
  Decisions& d = b.decisions;
  const Seam& seam = *net.seam;
  const u32 i = d.request[j];
  const u32 packet = b.packet[i], router = b.router[i], to = net.terminal_router[s.packets[packet].destination];
  if (!(s.input_vcs[b.input_vc[i]].front & kWatched)) return;
  const ComponentData* const rule = net.routing ? net.routing.get() : net.relation.get();
  const Graph& graph = graph_now(net, s);
  float scores[kMostSlots];
  if (seam.policy.size > 0)
    policy_scores(net, s, d.observation.data() + std::size_t{j} * seam.width, 1, scores);  // lower weights are better
  d.weights.resize(std::size_t{d.count} * seam.slots * 2);
  for (u32 k = 0; k < d.slot_count[j]; k++) {
    const std::size_t slot = std::size_t{j} * seam.slots + k;
    const u32 local = d.ports[slot], port = net.port(router, local), next = seam.next_router[port];
    const float rest = flight(net, graph, next, waypoint(net, s, packet, router, local), to);
    d.weights[2 * slot] = seam.policy.size > 0 ? -double{scores[k]}
                          : rule               ? rule->weight(net, s, packet, router, local, d.classes[slot])
                                               : std::numeric_limits<double>::quiet_NaN();
    d.weights[2 * slot + 1] = static_cast<double>(seam.hop_ns[port] + rest);
  }
}

void log_decision(const Network& net, State& s, Batch& b, u32 j) {
  static const char* const kinds[] = {"terminal", "local", "global", "unused"};
  const Decisions& d = b.decisions;
  const Seam& seam = *net.seam;
  const u32 i = d.request[j], router = b.router[i];
  if (!(s.input_vcs[b.input_vc[i]].front & kWatched)) return;
  const Packet& p = s.packets[b.packet[i]];
  if (!seam.witness) weigh(net, s, b, j);
  for (u32 k = 0; k < d.slot_count[j]; k++) {
    const std::size_t slot = std::size_t{j} * seam.slots + k;
    const u32 local = d.ports[slot], port = net.port(router, local);
    char line[320];
    const int length =
        std::snprintf(line, sizeof line,
                      "%10u  %u.%u %u->%u  candidate of router %u port %u (%s) class %u to router %u: queued %u, in "
                      "use downstream %u, "
                      "path %.1f ns, weight %g%s\n",
                      b.now, p.source, p.sequence, p.source, p.destination, router, local,
                      kinds[static_cast<int>(net.channels[port].kind)], u32{d.classes[slot]}, seam.next_router[port],
                      s.ports[port].queued, s.ports[port].load - s.ports[port].queued, d.weights[2 * slot + 1],
                      d.weights[2 * slot], k == d.chosen[j] ? ", taken" : "");
    b.log.append(line, static_cast<std::size_t>(length));
  }
}

void route_and_record(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  Decisions& d = b.decisions;
  list_candidates_of(net, seam.listing ? seam.listing.get() : &net, s, b);
  slot_decisions<false>(net, s, b);
  // The routing may change the numbers that it compares.
  for (u32 j = 0; !s.watched.empty() && j < d.count; j++) weigh(net, s, b, j);
  net.route(net, s, b);
  for (u32 j = 0; j < d.count; j++) {
    d.chosen[j] = slot_of_choice(seam, b, j);
    d.log_probability[j] = std::numeric_limits<float>::quiet_NaN();
    observe(net, s, b, j);
    open_record(net, s, b, j);
    if (!s.watched.empty()) log_decision(net, s, b, j);
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
        throw ConfigError("hand_over(): routing.", name, " does not let an agent choose among its candidates");
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
