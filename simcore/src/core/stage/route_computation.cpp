// Route computation. The first half of a cycle puts every head that has come to the front of an input VC into one
// batch. The routing or an agent outside chooses an output port and a VC class for each head. The second half turns
// the choices into routes, and the packets request the switch.
#include "simcore/route_computation.hpp"

#include "core/stage/stage.hpp"
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"

namespace flitgym {

// Returns the VC with the most room among the VCs `first`, first + step, ... below `end` of an output.
static u32 roomiest(const Network& net, const State& s, u32 output, u32 first, u32 step, u32 end, bool never_held) {
  const OutputVc* const own = &s.output_vcs[net.vc_id(output, 0)];
  const u32* const owners = &s.owners[net.vc_id(output, 0)];
  u32 best = first;
  int most = -1;
  for (u32 vc = first; vc < end; vc += step) {
    const OutputVc& out = own[vc];
    const int room = never_held || owners[vc] == kNone ? int{out.credits} - int{out.count} + 65536 : 0;
    if (room > most) {
      most = room;
      best = vc;
    }
  }
  return best;
}
// The same for routers whose occupancies State keeps (Network::sensed). No packet holds an output VC in these routers.
static inline u32 emptiest(const Network& net, const u16* own, u32 first, u32 step, u32 end) {
  u32 best = first, least = own[first << net.sensed.column_shift];
  for (u32 vc = first + step; vc < end; vc += step) {
    const u32 flits = own[vc << net.sensed.column_shift];
    best = select(flits < least, vc, best);
    least = std::min(flits, least);
  }
  return best;
}

void route_requests(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  Batch& b = f.w.batch;
  // Sequential routings need one order of requests, but the order of events depends on the partitions.
  if (net.routing_facts.sequential && !std::is_sorted(f.w.routes.begin(), f.w.routes.end()))
    std::sort(f.w.routes.begin(), f.w.routes.end());
  const std::size_t n = f.w.routes.size();
  b.count = static_cast<u32>(n);
  b.now = f.now;
  const u32* const routes = f.w.routes.data();
  const InputVc* const input_vcs = s.input_vcs.data();
  const Flit* const next = s.next.data();
  u32 *const ids = b.input_vc.data(), *const packets = b.packet.data(), *const routers = b.router.data();
  u16 *const in_ports = b.in_port.data(), *const in_vcs = b.in_vc.data();
  for (std::size_t i = 0; i < n; i++) {
    const u32 v = routes[i], port = net.port_of_vc(v);
    const InputVc& in = input_vcs[v];
    const u32 packet = packet_of(in.front);
    __builtin_prefetch(&s.packets[packet], 1);
    __builtin_prefetch(link_of_front(in, next));
    ids[i] = v;
    packets[i] = packet;
    routers[i] = net.router_of_port(port);
    in_ports[i] = static_cast<u16>(net.local_port(port));
    in_vcs[i] = static_cast<u16>(net.vc_of(v));
  }
}

void ask_outside(const Network& net, State& s, Batch& b) {
  if (net.decider == Decider::kCandidates) net.candidates(net, s, b);
  else if (net.decider == Decider::kSlots) make_decisions(net, s, b);
}

u32 decisions_asked(const Network& net, const Batch& b) {
  return net.decider == Decider::kSlots ? b.decisions.count : b.count;
}

void check_choices(const Network& net, const Batch& b, const u32* choices, std::size_t count) {
  switch (net.decider) {
    case Decider::kRouting:
      if (count)
        throw ConfigError("apply(): routing.", net.routing_name,
                          " decides by itself; choices need routing=external or routing=agent");
      return;
    case Decider::kCandidates:
      if (count != b.count) throw ConfigError("apply(): ", count, " choices for ", b.count, " requests");
      for (u32 i = 0; i < b.count; i++)
        if (choices[i] >= b.offsets[i + 1] - b.offsets[i])
          throw ConfigError("apply(): choice ", choices[i], " of request ", i, " is outside its ",
                            b.offsets[i + 1] - b.offsets[i], " candidates");
      return;
    case Decider::kSlots: {
      const Decisions& d = b.decisions;
      if (count != d.count) throw ConfigError("apply(): ", count, " choices for ", d.count, " decisions");
      for (u32 j = 0; j < d.count; j++)
        if (choices[j] >= d.slot_count[j] && !(net.seam->background && choices[j] == kNone))
          throw ConfigError("apply(): slot ", choices[j], " of decision ", j, " is masked out; it has ",
                            d.slot_count[j], " candidates in ", net.seam->slots, " slots");
    }
  }
}

void check_asking(const Network& net, const State& s, const std::vector<u32>& asking) {
  std::vector<bool> seen(s.input_vcs.size());
  for (const u32 v : asking) {
    if (v >= seen.size() || seen[v] || s.input_vcs[v].front == kNone || s.input_vcs[v].routed())
      throw ConfigError("resume(): input VC ", v, " has no packet that needs a route");
    seen[v] = true;
  }
  const auto part_of = [&](u32 v) { return net.partition_of(net.router_of_port(net.port_of_vc(v))); };
  if (!std::is_sorted(asking.begin(), asking.end(), [&](u32 a, u32 b) { return part_of(a) < part_of(b); }))
    throw ConfigError("resume(): the input VCs are not in the order of the partitions");
}

void set_answers(const Network& net, State& s, const Batch& b, const float* values, const u32* rows,
                 std::size_t count) {
  if (net.decider != Decider::kCandidates || !net.learns)
    throw ConfigError("apply(): values and rows need routing=external and routing.feedback=true");
  if (count != b.count) throw ConfigError("apply(): ", count, " values for ", b.count, " requests");
  for (u32 i = 0; i < b.count; i++)
    if (!std::isfinite(values[i]))
      throw ConfigError("apply(): the value of request ", i, " is not a finite 32-bit number");
  for (u32 i = 0; i < b.count; i++) {
    PacketDetail& detail = s.details[b.packet[i]];
    const bool from_terminal = net.channels[net.port(b.router[i], b.in_port[i])].kind == PortKind::kTerminal;
    detail.value = from_terminal ? -1.0f : values[i];
    detail.row = rows[i];
  }
}

void decide(const Network& net, State& s, Batch& b, const u32* choices, const float* log_probability) {
  switch (net.decider) {
    case Decider::kRouting:
      if (b.count == 0) return;
      if (net.seam && net.seam->witness) route_and_record(net, s, b);
      else net.route(net, s, b);
      return;
    case Decider::kCandidates:
      for (u32 i = 0; i < b.count; i++) {
        const u32 k = b.offsets[i] + choices[i];
        b.out_port[i] = b.candidate_port[k];
        b.out_class[i] = b.candidate_class[k];
        if (net.chosen) net.chosen(net, s, b, i);
      }
      return;
    case Decider::kSlots: {
      Decisions& d = b.decisions;
      std::copy_n(choices, d.count, d.chosen.begin());
      if (log_probability) std::copy_n(log_probability, d.count, d.log_probability.begin());
      else std::fill_n(d.log_probability.begin(), d.count, std::numeric_limits<float>::quiet_NaN());
      // A background that learns also has to see the requests with a single candidate.
      if (net.seam->background && (net.learns || std::find(choices, choices + d.count, kNone) != choices + d.count))
        share_decisions(net, s, b);
      else settle_decisions(net, s, b);
    }
  }
}

// Built-in routings make valid choices if packets have obeyed the rules of the routing and tables hold the values that
// the routing wrote. A restored snapshot or a table that a user wrote may violate this.
void verify_routes(const Frame& f) {
  const Network& net = f.net;
  const Batch& b = f.w.batch;
  const bool answers = net.learns && net.feedback.rows > 0;
  for (u32 i = 0; i < b.count; i++) {
    const u32 port = b.out_port[i], vc_class = b.out_class[i];
    const auto refuse = [&](const auto&... what) {
      throw CoreError("routing.", net.routing_name, ", router ", b.router[i], ": ", what...,
                      "; the learned table or the restored snapshot is damaged");
    };
    if (port >= net.radix || net.channels[net.port(b.router[i], port)].peer == kNone)
      refuse("the chosen port ", port, " leads nowhere");
    if (vc_class != kAnyClass && vc_class >= net.routing_facts.classes)
      refuse("the chosen VC class ", vc_class, " is not below ", net.routing_facts.classes);
    if (!answers) continue;
    const PacketDetail& detail = f.s.details[b.packet[i]];
    if (detail.value >= 0 && detail.row >= net.feedback.rows)
      refuse("its feedback is for row ", detail.row, ", which is not below ", net.feedback.rows);
  }
}

// Each change of the links may lengthen a path, and a packet has a VC class per hop. So after as many hops as the
// routing needs on an unchanged graph, a packet takes a minimal path of links that never fail. This path cannot become
// longer.
void keep_to_lasting_links(const Network& net, const State& s, Batch& b) {
  if (!net.lasting || net.routing_facts.escapes) return;
  const u32 most = net.routing_facts.max_hops - net.lasting->diameter;
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    if (p.hops < most) continue;
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      b.out_port[i] = net.terminal_port[p.destination];
      b.out_class[i] = kAnyClass;
      continue;
    }
    u32 ports = 0, turn = 0;
    each_minimal(net, *net.lasting, router, to, [&](u32) { ports++; });
    each_minimal(net, *net.lasting, router, to, [&](u32 port) {
      if (turn++ == (p.source + p.sequence) % ports) b.out_port[i] = static_cast<u16>(port);
    });
    b.out_class[i] = static_cast<u16>(std::min<u32>(p.hops, net.routing_facts.classes - 1));
  }
}

void mark_nonminimal(const Network& net, State& s, const Batch& b) {
  if (!net.routing_facts.minimal && !net.routing_facts.marks) net.topology->mark_nonminimal(net, s, b);
}

// Returns whether a head that is routed again every cycle (RoutingFacts::reroutes) may skip its request for an output
// without room. This requires that switch allocation examines every request in each cycle. A request that it did not
// examine would keep its output for later cycles. A watched packet and the accounts of jobs record every request.
static bool withholds(const Frame& f) {
  const RouterParams& router = f.net.router;
  return f.net.routing_facts.reroutes &&
         (router.arbiter == Arbiter::kAge || router.arbiter == Arbiter::kLeastRecentlyServed) &&
         !router.multi_cycle_switch && plain(f);
}

// kPlain: no watched packet, no accounts of jobs (frame.hpp) and no head that is routed again. kOneWord: a router's
// input VCs fit one mask word. kBusyPorts: switch allocation reads how long ports are busy.
template <bool kPlain, bool kOneWord, bool kBusyPorts>
static void apply_all(Frame& f, const Batch& b, u32 begin, u32 end) {
  const Network& net = f.net;
  State& s = f.s;
  const bool never_held = (net.most_packet_flits == 1 || net.whole_packets) && !net.router.separate_vc_allocation;
  const u16* const filled =
      never_held && net.most_packet_flits == 1 && net.sensed.parts == Occupancy::kBoth ? f.sensed : nullptr;
  const u32 vcs = net.vcs, classes = net.routing_facts.classes;
  const u32 radix_shift = net.radix_shift, vc_shift = net.vc_shift, shift = radix_shift + vc_shift,
            words = kOneWord ? 1 : net.request_words, asked_words = kOneWord ? 1 : net.asked_words;
  const u32* const ids = b.input_vc.data();
  const u16* const out_ports = b.out_port.data();
  const u16* const out_classes = b.out_class.data();
  InputVc* const input_vcs = s.input_vcs.data();
  const OutputVc* const output_vcs = s.output_vcs.data();
  const Port* const ports = s.ports.data();
  u64* const requests = s.requests.data();
  u64* const asked = s.outputs_asked.data();
  u64* const active = f.active;
  u32* const resting = f.resting;
  const u32 first_router = f.range.first_router, request_mask = net.request_mask;
  const bool withheld = !kPlain && withholds(f);
  const Observers<kPlain> observers(f);
  if (!kPlain)
    for (u32 i = begin; i < end; i++) observers.prefetch_output((ids[i] >> shift) << radix_shift | out_ports[i]);
  for (u32 i = begin; i < end; i++) {
    const u32 v = ids[i], router = v >> shift, bit = v & ((1u << shift) - 1), out_port = out_ports[i],
              output = router << radix_shift | out_port;
    InputVc& in = input_vcs[v];
    in.out_port = static_cast<u16>(out_port);
    const bool any = out_classes[i] == kAnyClass;
    u32 first = select(any, 0u, u32{out_classes[i]}), above = vcs;
    const u32 step = select(any, 1u, classes);
    if (!kPlain && net.classes) {  // a packet stays in its traffic class
      const u32 own = (bit & ((1u << vc_shift) - 1)) / net.class_vcs * net.class_vcs;
      first += own, above = own + net.class_vcs;
    }
    in.out_vc = static_cast<u16>(first + step >= above ? first  // the class has only this VC
                                 : filled ? emptiest(net, &filled[net.sensed.at(output, 0)], first, step, above)
                                          : roomiest(net, s, output, first, step, above, never_held));
    if (!kPlain && withheld) {
      const OutputVc& out = output_vcs[net.vc_id(output, in.out_vc)];
      if (s.owners[net.vc_id(output, in.out_vc)] != kNone || room(net.router, out) < slots_needed(f, in)) {
        in.out_vc = kNoVc;
        f.part.route_list.push_back(v);
        continue;
      }
    }
    observers.routed(v, output);
    // Switch allocation comes next and reads both ports and the output VC.
    if (kBusyPorts) {
      __builtin_prefetch(&ports[output], 1);
      __builtin_prefetch(&output_vcs[output << vc_shift | in.out_vc], 1);
      __builtin_prefetch(&ports[v >> vc_shift], 1);
    }
    // set_request() without fetching its arrays again
    const u32 asks = out_port & request_mask, at = router << radix_shift | asks;
    requests[kOneWord ? at : std::size_t{at} * words + bit / 64] |= u64{1} << (bit % 64);
    asked[kOneWord ? router : router * asked_words + asks / 64] |= u64{1} << (asks % 64);
    const u32 own = router - first_router;
    active[own / 64] |= u64{1} << (own % 64);
    if (resting) resting[router] = 0;
    observers.log(in.front | kHead | (net.most_packet_flits == 1 ? kTail : 0), "is routed to", output, in.out_vc);
  }
  if (net.router.arbiter == Arbiter::kAge)
    for (u32 i = begin; i < end; i++) s.served[ids[i]] = s.packets[b.packet[i]].generated;
}

void apply_routes(Frame& f, const Batch& b, u32 begin, u32 end) {
  const bool busy_ports = f.net.router.multi_cycle_switch;
  if (!plain(f) || f.net.routing_facts.reroutes) apply_all<false, false, true>(f, b, begin, end);
  else if (f.net.request_words == 1)
    busy_ports ? apply_all<true, true, true>(f, b, begin, end) : apply_all<true, true, false>(f, b, begin, end);
  else busy_ports ? apply_all<true, false, true>(f, b, begin, end) : apply_all<true, false, false>(f, b, begin, end);
}

}  // namespace flitgym
