#include "simcore/simulation.hpp"

namespace flitgym {

// The cycle of input VCs that wait for each other, as text. It follows the waits: an input VC waits for an output VC,
// which waits for room in the next router's input VC, and so on. The search starts at the first input VC that waits.
static std::string deadlock_report(const Network& net, const State& s) {
  const auto name = [&](u32 v) {
    const u32 port = net.port_of_vc(v), router = net.router_of_port(port);
    return message({"router ", router, " port ", net.local_port(port), " vc ", net.vc_of(v)});
  };
  std::string text = message({"deadlock: nothing has moved for ", net.router.watchdog_cycles, " cycles with ",
                              totals(s).flits_in_network, " flits in flight (routing.", net.routing_name, ", ", net.vcs,
                              " VCs). Input VCs that wait for each other:"});
  u32 start = kNone;
  for (u32 v = 0; v < s.input_vcs.size() && start == kNone; v++)
    if (s.input_vcs[v].count > 0 && s.input_vcs[v].routed()) start = v;
  std::vector<u32> seen;
  for (u32 v = start; v != kNone && seen.size() < 64;) {
    const InputVc& in = s.input_vcs[v];
    if (std::find(seen.begin(), seen.end(), v) != seen.end()) {
      text += "\n  and back to " + name(v);
      break;
    }
    seen.push_back(v);
    const u32 out = net.port(net.router_of_port(net.port_of_vc(v)), in.out_port), peer = net.channels[out].peer;
    text += message({"\n  ", name(v), " (", in.count, " flits) waits for port ", in.out_port, " vc ", in.out_vc, ", ",
                     s.output_vcs[net.vc_id(out, in.out_vc)].credits, " credits"});
    if (net.is_nic(peer) || !in.routed() || in.count == 0) break;
    v = net.vc_id(peer, in.out_vc);
  }
  return text;
}

void Watchdog::check(const Network& net, const State& s) {
  const Totals t = totals(s);
  if (t.moves != moves_ || t.packets_in_network == 0) {
    moves_ = t.moves;
    moved_at_ = t.now;
  } else if (t.now - moved_at_ >= net.router.watchdog_cycles) {
    throw CoreError(deadlock_report(net, s));
  }
}

}  // namespace flitgym
