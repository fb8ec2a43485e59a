// The seam. First half: every head that became the front of an input VC is put into one batch. Something chooses
// (output port, VC class) for each. Second half: the choices become routes, and the packets ask for the switch.
#include "stage/stage.hpp"

namespace flitgym {

namespace {

// A class owns the VCs c, c + classes, ...: take the one with the most room.
u32 pick_vc(const Network& net, const State& s, u32 port, u32 vc_class) {
  u32 best = vc_class;
  int most = -1;
  for (u32 vc = vc_class; vc < net.vcs; vc += net.routing_facts.classes) {
    const OutputVc& out = s.output_vcs[std::size_t{port} * net.vcs + vc];
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
  s.routes_due.take(f.now, f.w.routes);
  Batch& b = f.w.batch;
  const std::size_t n = f.w.routes.size();
  b.count = static_cast<u32>(n);
  if (b.router.size() < n) {
    for (auto* ids : {&b.input_vc, &b.packet, &b.router}) ids->resize(2 * n);
    for (auto* ids : {&b.in_port, &b.in_vc, &b.out_port, &b.out_class}) ids->resize(2 * n);
  }
  for (std::size_t i = 0; i < n; i++) {
    const u32 v = f.w.routes[i], port = net.port_of_vc(v), router = net.router_of_port(port);
    b.input_vc[i] = v;
    b.packet[i] = packet_of(s.input_vcs[v].front);
    __builtin_prefetch(&s.packets[b.packet[i]], 1);
    b.router[i] = router;
    b.in_port[i] = static_cast<u8>(port - router * net.radix);
    b.in_vc[i] = static_cast<u8>(v - port * net.vcs);
  }
}

void apply_routes(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  const Batch& b = f.w.batch;
  const bool one_to_one = net.vcs == net.routing_facts.classes;
  for (u32 i = 0; i < b.count; i++) {
    InputVc& in = s.input_vcs[b.input_vc[i]];
    const u32 out_port = net.port(b.router[i], b.out_port[i]);
    in.out_port = b.out_port[i];
    in.out_vc = static_cast<u8>(one_to_one ? b.out_class[i] : pick_vc(net, s, out_port, b.out_class[i]));
    in.routed = 1;
    set_ready(net, s, b.router[i], b.in_port[i], b.in_vc[i]);
    if (in.front & kWatched) watch(f, in.front, "is routed to", out_port, in.out_vc);
  }
  f.w.routes.clear();
}

}  // namespace flitgym
