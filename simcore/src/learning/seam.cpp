// Turns the candidates of a cycle into decisions of an agent, and the choices back into routes.
#include <cstring>
#include <ranges>

#include "simcore/graph.hpp"
#include "simcore/kind.hpp"
#include "simcore/learning.hpp"
#include "simcore/routing/choice.hpp"
#include "simcore/routing/relation.hpp"

namespace flitgym {

// Computes, for every port, the hop time without queueing and the router at its end, and the mean time of a hop.
static void measure_hops(const Network& net, Seam& seam) {
  seam.hop_ns.assign(net.router_ports, 0);
  seam.next_router.assign(net.router_ports, kNone);
  double sum = 0;
  u64 links = 0;
  for (u32 port = 0; port < net.router_ports; port++) {
    const u32 peer = net.channels[port].peer;
    if (peer == kNone) continue;
    seam.hop_ns[port] = static_cast<float>(hop_ns(net, port));
    seam.next_router[port] = net.router_of_port(peer);
    if (!net.is_link(port)) continue;
    sum += hop_ns(net, port) + net.channels[port].flit_cycles * net.cycle_ns;
    links++;
  }
  if (links > 0) seam.hop_scale_ns = static_cast<float>(sum / static_cast<double>(links));
  seam.region.resize(net.routers);
  for (u32 r = 0; r < net.routers; r++) seam.region[r] = net.topology->region(r);
}

// Seam::hops. A table for more routers would not fit into the cache.
static std::vector<u8> table_of_hops(const Network& net) {
  constexpr u32 kMostRouters = 1024;
  const u32 routers = net.routers;
  if (routers > kMostRouters || !net.graphs[0]->hops.empty() || net.graphs[0]->diameter > 255) return {};
  std::vector<u8> hops(std::size_t{routers} * routers);
  for (u32 to = 0; to < routers; to++) {
    worked(routers);
    for (u32 from = 0; from < routers; from++)
      hops[std::size_t{to} * routers + from] = static_cast<u8>(net.topology->hops_between(net, from, to));
  }
  return hops;
}

// Rotates the first candidates, whose paths take equally long, by a random number. Otherwise an agent that takes the
// first of equal scores would send all packets of a leaf switch to its first idle uplink.
static void rotate_equals(const Network& net, const State& s, const Packet& p, u32 router, u32 to, u16* ports,
                          u16* classes, u32 candidates) {
  const Graph& graph = graph_now(net, s);
  const float* const hop_ns = &net.seam->hop_ns[net.port(router, 0)];
  const u32* const next_router = &net.seam->next_router[net.port(router, 0)];
  const auto path_ns = [&](u32 k) { return hop_ns[ports[k]] + flight(net, graph, next_router[ports[k]], to); };
  const float first = path_ns(0);
  u32 equal = 1;
  while (equal < candidates && path_ns(equal) == first) equal++;
  if (equal == 1) return;
  const u32 turn = below(routing::route_draw(net, p, 9), equal);
  std::rotate(ports, ports + turn, ports + equal);
  std::rotate(classes, classes + turn, classes + equal);
}

// If there are more candidates than slots, keeps the first candidate and draws the others at random.
static void fill_slots(const Network& net, const Packet& p, const u16* ports, const u16* classes, u32 candidates,
                       u32 slots, u16* slot_ports, u16* slot_classes) {
  if (candidates <= slots) {
    std::copy_n(ports, candidates, slot_ports);
    std::copy_n(classes, candidates, slot_classes);
    return;
  }
  u16 order[kMaxRadix * 2];
  const u32 n = std::min<u32>(candidates, std::size(order));
  for (u32 k = 0; k < n; k++) order[k] = static_cast<u16>(k);
  const u64 bits = routing::route_draw(net, p, 3);
  slot_ports[0] = ports[0];
  slot_classes[0] = classes[0];
  for (u32 k = 1; k < slots; k++) {
    std::swap(order[k], order[k + below(mix64(bits + k), n - k)]);
    slot_ports[k] = ports[order[k]];
    slot_classes[k] = classes[order[k]];
  }
}

// If there are more candidates than slots, keeps the first candidate. Then takes local and global links in turn, each
// time the one with the lowest estimate; ties are broken at random. Without these turns, the short local links of a
// large Dragonfly would take all slots, because a path through another group always has a higher estimate.
static void best_slots(const Network& net, const State& s, const Packet& p, u32 router, u32 to, const u16* ports,
                       const u16* classes, u32 candidates, u32 slots, u16* slot_ports, u16* slot_classes) {
  const Graph& graph = graph_now(net, s);
  const u32 first_port = net.port(router, 0);
  const float* const hop_ns = &net.seam->hop_ns[first_port];
  const u32* const next_router = &net.seam->next_router[first_port];
  const Channel* const channels = &net.channels[first_port];
  const Port* const queues = &s.ports[first_port];
  // The key of a candidate is its estimated time (path without queueing plus flits ahead on its link). Its position,
  // rotated at random, breaks ties. The candidate with the lowest key is taken next. Times are not negative, so their
  // bit patterns sort like the times. The loop has no conditional jumps.
  constexpr u32 kBlock = 8;
  u64 keys[2][kMaxRadix * 2 + kBlock];
  u32 counts[2] = {0, 0};
  const u32 n = candidates - 1, turn = below(routing::route_draw(net, p, 3), n);
  for (u32 k = 1; k < candidates; k++) {
    const u32 local = ports[k], place = k - 1 >= turn ? k - 1 - turn : k - 1 - turn + n;
    const auto ahead = static_cast<float>(queues[local].load * channels[local].flit_cycles * net.cycle_ns);
    const float estimate = hop_ns[local] + flight(net, graph, next_router[local], to) + ahead;
    const u32 kind = channels[local].kind == PortKind::kGlobal;
    keys[kind][counts[kind]++] = u64{std::bit_cast<u32>(estimate)} << 32 | place << 16 | k;
  }
  for (u32 kind = 0; kind < 2; kind++) std::fill_n(&keys[kind][counts[kind]], kBlock, ~u64{0});
  slot_ports[0] = ports[0];
  slot_classes[0] = classes[0];
  u32 left[2] = {counts[0], counts[1]};
  u64 taken[2] = {0, 0};  // last key taken, per kind
  for (u32 k = 1, kind = 1; k < slots; k++, kind ^= 1) {
    kind ^= left[kind] == 0;
    const u64 above = taken[kind];
    u64 least = ~u64{0};
    for (u32 block = 0; block < counts[kind]; block += kBlock)
      for (u32 j = block; j < block + kBlock; j++)
        least = std::min(least, keys[kind][j] > above ? keys[kind][j] : ~u64{0});
    taken[kind] = least;
    left[kind]--;
    slot_ports[k] = ports[least & 0xffff];
    slot_classes[k] = classes[least & 0xffff];
  }
}

std::vector<ParamSpec> row_params() {
  return {
      integer("slots", 8, 2, kMostSlots, "",
              "maximum number of candidates that an agent sees: the minimal one, and others selected by slots_by"),
      choice(
          "slots_by", "random", {"random", "estimate", "rotated"},
          "selection of the other candidates if there are more than slots: random, or the lowest estimate of path and "
          "queueing time, alternating between local and global links; rotated = random, and the first candidates whose "
          "paths take equally long come in random order"),
      choice("observation", "progress+router+queues+path+q_values", {}, "blocks of features, joined by +"),
      choice("reward", "hop_delay", {}, "reward of a decision"),
      real("toll", 1, 0, 100, "", "for reward=relative_delay: extra weight of the time lost to queueing"),
      integer("record", 0, 0, 1 << 24, "transitions", "capacity of the ring buffer of transitions; 0 = record none"),
      real("record_part", 1, 0, 1, "", "fraction of the packets whose decisions are recorded"),
  };
}

std::vector<ParamSpec> seam_params() { return joined(routing::relation_params(), row_params()); }

RoutingFacts build_seam(const Params& params, Network& net, std::shared_ptr<Seam> seam) {
  net.seam = seam;
  const RoutingFacts facts = routing::take_relation(params, net);
  seam->relation = params.text("relation");
  build_rows("routing." + net.routing_name, params, net, *seam);
  return facts;
}

RoutingFacts setup_seam(const Params& params, Network& net, std::shared_ptr<const ComponentData>&) {
  return build_seam(params, net, std::make_shared<Seam>());
}

// The number of features if there is none of this name.
static u32 column(const std::vector<Feature>& features, const char* name) {
  return static_cast<u32>(std::ranges::find(features, name, &Feature::name) - features.begin());
}

void build_rows(const std::string& where, const Params& params, Network& net, Seam& seam) {
  seam.slots = params.count("slots");
  for (const auto part : std::views::split(params.text("observation"), '+')) {
    const std::string name(part.begin(), part.end());
    const auto& block = named<ObservationSpec>(where + ".observation", name);
    if (std::find(seam.blocks.begin(), seam.blocks.end(), &block) != seam.blocks.end())
      throw ConfigError(where, ".observation: '", name, "' is given twice");
    seam.blocks.push_back(&block);
    const u32 time = column(block.general, "packet_time"), asking = column(block.per_slot, "asking");
    if (time < block.general.size() && asking < block.per_slot.size()) {
      seam.packet_time = seam.general + time;
      seam.asking = seam.per_slot + asking;
    }
    seam.general += static_cast<u32>(block.general.size());
    seam.per_slot += static_cast<u32>(block.per_slot.size());
  }
  if (seam.blocks.empty()) named<ObservationSpec>(where + ".observation", "");  // throws
  seam.width = seam.general + seam.slots * seam.per_slot;
  seam.reward = &named<RewardSpec>(where + ".reward", params.text("reward"));
  seam.toll = static_cast<float>(params.real("toll"));
  if (!seam.reward->tolled && params.real("toll") != 1)
    throw ConfigError(where, ".toll: reward=", seam.reward->name,
                      " does not use it; leave it at 1 (given: ", std::to_string(params.real("toll")), ")");
  seam.by_estimate = params.text("slots_by") == "estimate";
  seam.rotates = params.text("slots_by") == "rotated";
  seam.capacity = params.count("record");
  seam.record_part = params.real("record_part");
  need_flights(net);
  measure_hops(net, seam);
  bool learns = false;  // a block
  for (const ObservationSpec* block : seam.blocks) {
    if (block->learn && net.learn)
      throw ConfigError(where, ".observation: ",
                        seam.witness && !learns ? "'" + block->name + "' learns from feedback, as routing." +
                                                      net.routing_name + " does; only one may"
                                                : "two blocks learn from feedback; only one may");
    learns |= block->learn != nullptr;
    seam.block_data.push_back(block->setup ? block->setup(net) : nullptr);
    if (block->learn) net.learn = block->learn;
  }
  if (std::any_of(seam.blocks.begin(), seam.blocks.end(),
                  [](const ObservationSpec* block) { return block->distances; }))
    seam.hops = table_of_hops(net);
  if (seam.reward->setup) seam.reward_data = seam.reward->setup(net);
}

void observe(const Network& net, const State& s, Batch& b, u32 j) {
  const Seam& seam = *net.seam;
  Decisions& d = b.decisions;
  const u32 i = d.request[j], count = d.slot_count[j];
  const Packet& p = s.packets[b.packet[i]];
  float* const row = d.observation.data() + std::size_t{j} * seam.width;
  float *general = row, *slots = row + seam.general;
  Asked asked{p,
              b.packet[i],
              b.router[i],
              net.terminal_router[p.destination],
              b.in_port[i],
              b.in_vc[i],
              &d.ports[std::size_t{j} * seam.slots],
              &d.classes[std::size_t{j} * seam.slots],
              count,
              nullptr,
              b.now};
  for (std::size_t k = 0; k < seam.blocks.size(); k++) {
    const ObservationSpec& block = *seam.blocks[k];
    asked.own = seam.block_data[k].get();
    block.write(net, s, asked, general, slots, seam.per_slot);
    general += block.general.size();
    slots += block.per_slot.size();
  }
  std::fill(row + seam.general + count * seam.per_slot, row + seam.width, 0.0f);
  u8* const mask = d.mask.data() + std::size_t{j} * seam.slots;
  std::memset(mask, 1, count);
  std::memset(mask + count, 0, seam.slots - count);
}

void make_decisions(const Network& net, State& s, Batch& b) {
  if (net.seam->background) list_candidates_of(net, &net, s, b);
  else net.candidates(net, s, b);
  slot_decisions<true>(net, s, b);
}

template <bool kObserve>
void slot_decisions(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  Decisions& d = b.decisions;
  const std::size_t most = b.input_vc.size();
  if (d.request.empty()) {
    for (auto* numbers : {&d.request, &d.slot_count, &d.chosen}) numbers->resize(most);
    for (auto* numbers : {&d.ports, &d.classes}) numbers->resize(most * seam.slots);
    d.log_probability.resize(most);
    d.observation.resize(most * seam.width);
    d.mask.resize(most * seam.slots);
  }
  for (std::size_t k = 0; k < seam.blocks.size(); k++)
    if (seam.blocks[k]->prepare) seam.blocks[k]->prepare(net, s, b, seam.block_data[k].get());

  // The data of a decision is scattered in memory. It is prefetched when its slots are known and read some decisions
  // later.
  constexpr u32 kAhead = 3;
  const std::vector<u8>& hops = seam.hops_of(graph_now(net, s));
  d.count = 0;
  u32 observed = 0;
  for (u32 i = 0; i < b.count; i++) {
    const u32 first = b.offsets[i], candidates = b.offsets[i + 1] - first;
    if (candidates == 1) {
      b.out_port[i] = b.candidate_port[first];
      b.out_class[i] = b.candidate_class[first];
      continue;
    }
    const u32 j = d.count++, count = std::min(candidates, seam.slots);
    const Packet& p = s.packets[b.packet[i]];
    if (seam.rotates)
      rotate_equals(net, s, p, b.router[i], net.terminal_router[p.destination], &b.candidate_port[first],
                    &b.candidate_class[first], candidates);
    u16 *const ports = &d.ports[std::size_t{j} * seam.slots], *const classes = &d.classes[std::size_t{j} * seam.slots];
    if (seam.by_estimate && candidates > seam.slots)
      best_slots(net, s, p, b.router[i], net.terminal_router[p.destination], &b.candidate_port[first],
                 &b.candidate_class[first], candidates, seam.slots, ports, classes);
    else
      fill_slots(net, p, &b.candidate_port[first], &b.candidate_class[first], candidates, seam.slots, ports, classes);
    d.request[j] = i;
    d.slot_count[j] = count;
    const std::size_t column = std::size_t{net.terminal_router[p.destination]} * net.routers;
    for (u32 k = 0; k < count; k++) {
      const u32 port = net.port(b.router[i], ports[k]);
      __builtin_prefetch(&s.ports[port]);
      __builtin_prefetch(&s.output_vcs[net.vc_id(port, classes[k] == kAnyClass ? 0 : classes[k])].count);
      if (!hops.empty()) __builtin_prefetch(&hops[column + seam.next_router[port]]);
    }
    if (kObserve && d.count - observed > kAhead) observe(net, s, b, observed++);
  }
  while (kObserve && observed < d.count) observe(net, s, b, observed++);
}
template void slot_decisions<false>(const Network&, State&, Batch&);

void settle_decisions(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  const Decisions& d = b.decisions;
  for (u32 j = 0; j < d.count; j++) {
    const u32 i = d.request[j], k = j * seam.slots + d.chosen[j];
    b.out_port[i] = d.ports[k];
    b.out_class[i] = d.classes[k];
    if (seam.capacity) open_record(net, s, b, j);
    if (!s.watched.empty()) log_decision(net, s, b, j);
  }
  if (s.further.empty()) s.part.learning.decisions += d.count;
  else  // collect() puts the requests of all partitions into one batch
    for (u32 j = 0; j < d.count; j++) partition(s, net.partition_of(b.router[d.request[j]])).learning.decisions++;
  for (u32 i = 0; net.chosen && i < b.count; i++) net.chosen(net, s, b, i);  // including those with a single candidate
}

}  // namespace flitgym
