// The seam. First half: every head that became the front of an input VC is put into one batch. Something chooses
// (output port, VC class) for each. Second half: the choices become routes, and the packets ask for the switch.
#include "simcore/error.hpp"
#include "stage/stage.hpp"

namespace flitgym {

namespace {

// A class owns the VCs c, c + classes, ...: take the one with the most room.
u32 pick_vc(const Network& net, const State& s, u32 port, u32 vc_class) {
  const u32 first = vc_class == kAnyClass ? 0 : vc_class, step = vc_class == kAnyClass ? 1 : net.routing_facts.classes;
  u32 best = first;
  int most = -1;
  for (u32 vc = first; vc < net.vcs; vc += step) {
    const OutputVc& out = s.output_vcs[net.vc_id(port, vc)];
    const int room = out.owner == kNone ? int{out.credits} - int{out.count} + 65536 : 0;
    if (room > most) {
      most = room;
      best = vc;
    }
  }
  return best;
}

}  // namespace

void route_requests(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  Batch& b = f.w.batch;
  const std::size_t n = f.w.routes.size();
  b.count = static_cast<u32>(n);
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

// The routings of this house choose what exists, from packets that came here by its rules and from tables that they filled
// themselves. Where one of the two is somebody else's, nobody can know.
void verify_routes(const Frame& f) {
  const Network& net = f.net;
  const Batch& b = f.w.batch;
  const bool answers = net.learns && net.table.rows > 0;
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
    if (detail.value >= 0 && detail.row >= net.table.rows)
      refuse("it answers for row " + std::to_string(detail.row) + " of " + std::to_string(net.table.rows));
  }
}

void apply_routes(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  const Batch& b = f.w.batch;
  const bool one_to_one = net.vcs == net.routing_facts.classes;
  const u32 shift = net.radix_shift + net.vc_shift, words = net.request_words, count = b.count;
  const bool by_age = net.router.arbiter == Arbiter::kAge;
  const bool prefetch_ports = net.router.multi_cycle_switch;
  const u32* const ids = b.input_vc.data();
  const u16* const out_ports = b.out_port.data();
  const u16* const out_classes = b.out_class.data();
  InputVc* const input_vcs = s.input_vcs.data();
  u64* const requests = s.requests.data();
  u64* const asked = s.outputs_asked.data();
  u64* const active = s.active_routers.data();
  for (u32 i = 0; i < count; i++) {
    const u32 v = ids[i], router = v >> shift, bit = v & ((1u << shift) - 1), out_port = out_ports[i], output = net.port(router, out_port);
    InputVc& in = input_vcs[v];
    in.out_port = static_cast<u16>(out_port);
    in.out_vc = one_to_one && out_classes[i] != kAnyClass ? out_classes[i] : static_cast<u16>(pick_vc(net, s, output, out_classes[i]));
    in.routed = 1;
    if (net.accounted_jobs) account_routed(f, v, output);
    if (by_age) in.served = s.packets[b.packet[i]].generated;
    // Switch allocation comes next and looks at both ports and at the output VC.
    if (prefetch_ports) {
      __builtin_prefetch(&s.ports[output], 1);
      __builtin_prefetch(&s.output_vcs[net.vc_id(output, in.out_vc)], 1);
      __builtin_prefetch(&s.ports[net.port_of_vc(v)], 1);
    }
    // set_request() with its arrays at hand
    requests[std::size_t{output} * words + bit / 64] |= u64{1} << (bit % 64);
    asked[router] |= u64{1} << out_port;
    active[router / 64] |= u64{1} << (router % 64);
    if (in.front & kWatched) [[unlikely]] watch(f, in.front | kHead | (net.most_packet_flits == 1 ? kTail : 0), "is routed to", output, in.out_vc);
  }
  f.w.routes.clear();
}

}  // namespace flitgym
