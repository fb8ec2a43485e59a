// The seam. First half: every head that became the front of an input VC is put into one batch. Somebody chooses
// (output port, VC class) for each: the routing in the core, or whoever is outside (Decider). Second half: the choices become
// routes, and the packets ask for the switch.
#include "decision.hpp"

#include <algorithm>
#include <limits>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "stage/apply.hpp"
#include "topology/graph.hpp"

namespace flitgym {

void route_requests(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  Batch& b = f.w.batch;
  // Where earlier decisions of a cycle weigh in later ones (routing.allocation=sequential), which comes first must not hang
  // on the order of events elsewhere: packets that keep together have fewer of them as trains.
  if (net.whole_packets && !net.scratch.empty()) std::sort(f.w.routes.begin(), f.w.routes.end());
  const std::size_t n = f.w.routes.size();
  b.count = static_cast<u32>(n);
  b.now = f.now;
  const u32* const routes = f.w.routes.data();
  const InputVc* const input_vcs = s.input_vcs.data();
  u32 *const ids = b.input_vc.data(), *const packets = b.packet.data(), *const routers = b.router.data();
  u16 *const in_ports = b.in_port.data(), *const in_vcs = b.in_vc.data();
  for (std::size_t i = 0; i < n; i++) {
    const u32 v = routes[i], port = net.port_of_vc(v);
    const InputVc& in = input_vcs[v];
    const u32 packet = packet_of(in.front);
    __builtin_prefetch(&s.packets[packet], 1);
    __builtin_prefetch(&s.next[packet]);
    ids[i] = v;
    packets[i] = packet;
    routers[i] = net.router_of_port(port);
    in_ports[i] = static_cast<u16>(net.local_port(port));
    in_vcs[i] = static_cast<u16>(net.vc_of(v));
  }
}

// Who is outside is shown what it may choose from.
void ask_outside(const Network& net, State& s, Batch& b) {
  if (net.decider == Decider::kCandidates) net.candidates(net, s, b);
  else if (net.decider == Decider::kSlots) make_decisions(net, s, b);
}

u32 decisions_asked(const Network& net, const Batch& b) { return net.decider == Decider::kSlots ? b.decisions.count : b.count; }

void check_choices(const Network& net, const Batch& b, const u32* choices, std::size_t count) {
  switch (net.decider) {
    case Decider::kRouting:
      if (count) throw ConfigError("apply(): routing." + net.routing_name + " decides by itself; choices are for routing=external");
      return;
    case Decider::kCandidates:
      if (count != b.count) throw ConfigError("apply(): " + std::to_string(count) + " choices for " + std::to_string(b.count) + " requests");
      for (u32 i = 0; i < b.count; i++)
        if (choices[i] >= b.offsets[i + 1] - b.offsets[i])
          throw ConfigError("apply(): choice " + std::to_string(choices[i]) + " of request " + std::to_string(i) + " is outside its " + std::to_string(b.offsets[i + 1] - b.offsets[i]) +
                            " candidates");
      return;
    case Decider::kSlots: {
      const Decisions& d = b.decisions;
      if (count != d.count) throw ConfigError("apply(): " + std::to_string(count) + " choices for " + std::to_string(d.count) + " decisions");
      for (u32 j = 0; j < d.count; j++)
        if (choices[j] >= d.slot_count[j])
          throw ConfigError("apply(): slot " + std::to_string(choices[j]) + " of decision " + std::to_string(j) + " is masked out; it has " + std::to_string(d.slot_count[j]) +
                            " candidates in " + std::to_string(net.seam->slots) + " slots");
    }
  }
}

void decide(const Network& net, State& s, Batch& b, const u32* choices, const float* log_probability) {
  switch (net.decider) {
    case Decider::kRouting:
      if (b.count) net.route(net, s, b);
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
      settle_decisions(net, s, b);
    }
  }
}

// The routings of this house choose what exists, from packets that came here by its rules and from tables that they filled
// themselves. Where one of the two is somebody else's, nobody can know.
void verify_routes(const Frame& f) {
  const Network& net = f.net;
  const Batch& b = f.w.batch;
  const bool answers = net.learns && net.feedback.rows > 0;
  for (u32 i = 0; i < b.count; i++) {
    const u32 port = b.out_port[i], vc_class = b.out_class[i];
    const auto refuse = [&](const std::string& what) {
      throw CoreError("routing." + net.routing_name + ", router " + std::to_string(b.router[i]) + ": " + what +
                      "; a table or a snapshot is damaged");
    };
    if (port >= net.radix || net.channels[net.port(b.router[i], port)].peer == kNone)
      refuse("it chose port " + std::to_string(port) + ", which leads nowhere");
    if (vc_class != kAnyClass && vc_class >= net.routing_facts.classes)
      refuse("it chose VC class " + std::to_string(vc_class) + " of " + std::to_string(net.routing_facts.classes));
    if (!answers) continue;
    const PacketDetail& detail = f.s.details[b.packet[i]];
    if (detail.value >= 0 && detail.row >= net.feedback.rows)
      refuse("it answers for row " + std::to_string(detail.row) + " of " + std::to_string(net.feedback.rows));
  }
}

void mark_nonminimal(const Network& net, State& s, const Batch& b) {
  if (!net.routing_facts.minimal && !net.routing_facts.marks) net.topology->mark_nonminimal(net, s, b);
}

namespace {

template <bool kPlain, u32 kWords, bool kBusyPorts>
void apply_all(Frame& f, u32 begin, u32 end) {
  const Batch& b = f.w.batch;
  const u32 *const ids = b.input_vc.data(), *const packets = b.packet.data();
  const u16 *const out_ports = b.out_port.data(), *const out_classes = b.out_class.data();
  const Apply<kPlain, kWords, kBusyPorts> apply(f);
  for (u32 i = begin; i < end; i++) apply(ids[i], packets[i], out_ports[i], out_classes[i]);
}

}  // namespace

void apply_routes(Frame& f, u32 begin, u32 end) {
  if (!plain(f)) return apply_all<false, 0, true>(f, begin, end);
  for_shape(f.net, [&]<u32 kWords, bool kBusyPorts>() { apply_all<true, kWords, kBusyPorts>(f, begin, end); });
}

}  // namespace flitgym
