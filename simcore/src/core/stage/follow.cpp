#include "core/stage/follow.hpp"

#include "core/stage/stage.hpp"
#include "core/stage/train.hpp"

namespace flitgym {

namespace {

// State of a VC, as input and as output of its router.
struct Crossing {
  u32 packet;    // packet whose flits follow through the crossbar; kNone: none
  u32 output;    // output VC of that packet
  u32 crossed;   // flits of that packet that have crossed
  Cycle next;    // earliest cycle in which the next flit crosses
  u32 arriving;  // packet whose head arrived last
  u32 arrived;   // flits of that packet that have arrived
  u32 input;     // for the output VC: input VC of the last packet
};
// State of a port, as sender on its channel or as terminal.
struct Sending {
  u32 packet, vc;  // packet whose flits follow on the channel, and its VC; packet kNone: none
  u32 sent;        // flits of that packet that have been sent
  Cycle next;      // earliest cycle in which the next flit is sent
  Cycle ends;      // cycle from which the channel is free; kHeld: not known yet
  u32 awaited;     // terminal: flits of the packet that is arriving; kNone: none
};

constexpr u32 kCrossingWords = sizeof(Crossing) / sizeof(u32), kSendingWords = sizeof(Sending) / sizeof(u32);

Crossing* crossings(const Network& net, State& s) { return reinterpret_cast<Crossing*>(net.followers[0].of(s)); }
Sending* sendings(const Network& net, State& s) { return reinterpret_cast<Sending*>(net.followers[1].of(s)); }

}  // namespace

void declare_followers(Network& net) {
  const auto make = [&](const char* name, const char* meaning, u32 rows, u32 words) {
    MemoryShape shape;
    shape.name = name;
    shape.meaning = meaning;
    shape.rows = rows;
    shape.columns = words;
    shape.fill = kNone;
    shape.highest = kNone;
    return declare<u32>(net, shape);
  };
  const char* const crossing =
      "by VC: packet, output VC, flits crossed, next cycle, packet arriving, flits arrived, input VC";
  const char* const sending = "by port: packet, VC, flits sent, next cycle, end, flits awaited";
  net.followers[0] = make("flits_crossing", crossing, net.input_vc_count(), kCrossingWords);
  net.followers[1] = make("flits_sending", sending, net.port_count, kSendingWords);
}

bool follow_arrival(Frame& f, const FlitEvent& e) {
  const u32 id = packet_of(e.flit);
  if (e.vc >= f.net.input_vc_count()) {
    const u32 nic = f.net.port_of_vc(e.vc);
    u32& awaited = sendings(f.net, f.s)[nic].awaited;
    awaited = e.flit & kTail ? kNone : f.s.packets[id].flits;
    if (e.flit & kTail) eject(f, nic - f.net.router_ports, e.flit);
    return false;
  }
  Crossing& c = crossings(f.net, f.s)[e.vc];
  if (!(e.flit & kHead)) {
    c.arrived++;
    return false;
  }
  c.arriving = id;
  c.arrived = 1;
  return true;
}

void follow_on_channel(Frame& f, u32 port, u32 vc, u32 packet) {
  Sending& to = sendings(f.net, f.s)[port];
  const u32 flit_cycles = f.net.channels[port].flit_cycles;
  const bool more = f.s.packets[packet].flits > 1;
  to = {more ? packet : kNone, vc, 1, f.now + flit_cycles, more ? kHeld : f.now + flit_cycles, to.awaited};
}

void follow_through_crossbar(Frame& f, u32 input_vc, u32 output_vc, u32 packet) {
  Crossing* const all = crossings(f.net, f.s);
  const RouterParams& r = f.net.router;
  const u32 flit_cycles = f.net.channels[f.net.port_of_vc(output_vc)].flit_cycles;
  const u32 cycles = r.output_depth > 0 ? r.crossbar_cycles : std::max(r.crossbar_cycles, flit_cycles);
  Crossing& c = all[input_vc];
  c.packet = packet;
  c.output = output_vc;
  c.crossed = 1;
  c.next = f.now + cycles;
  all[output_vc].input = input_vc;
}

void follow_channels(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  const Crossing* const all = crossings(net, s);
  Sending* const sending = sendings(net, s);
  for (u32 port = 0; port < net.port_count; port++) {
    Sending& to = sending[port];
    if (to.packet == kNone || (!net.is_nic(port) && net.router.output_depth == 0) || !passed(to.next, f.now)) continue;
    const u32 flits = s.packets[to.packet].flits;
    u32 here = flits;
    if (!net.is_nic(port)) {
      const u32 u = net.vc_id(port, to.vc), v = all[u].input;
      if (v != kNone && all[v].packet == to.packet && all[v].output == u) here = all[v].crossed;
    }
    if (to.sent == here) continue;
    const Channel& channel = net.channels[port];
    const bool tail = ++to.sent == flits;
    const Flit flit = to.packet << kFlitShift | (tail ? kTail : 0);
    f.part.flit_lines.lines[channel.line].push({net.vc_id(channel.peer, to.vc), flit});
    f.part.totals.moves++;
    to.next = f.now + channel.flit_cycles;
    if (!tail) continue;
    Port& o = s.ports[port];
    o.busy_until = to.ends = to.next;
    if (o.awake) f.part.ports_due.push(o.busy_until, port);
    to.packet = kNone;
  }
}

void follow_crossbars(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  Crossing* const all = crossings(net, s);
  const u32 crossbar_cycles = net.router.crossbar_cycles;
  for (u32 v = 0; v < net.input_vc_count(); v++) {
    Crossing& c = all[v];
    if (c.packet == kNone || !passed(c.next, f.now)) continue;
    const u32 flits = s.packets[c.packet].flits, here = c.arriving == c.packet ? c.arrived : flits;
    if (c.crossed == here) continue;
    const u32 port = net.port_of_vc(c.output);
    const Channel& channel = net.channels[port];
    const bool tail = ++c.crossed == flits, buffers = net.router.output_depth > 0;
    const u32 cycles = buffers ? crossbar_cycles : std::max(crossbar_cycles, channel.flit_cycles);
    if (!buffers) {
      const u32 vc = net.vc_id(channel.peer, net.vc_of(c.output));
      f.part.flit_lines.lines[channel.line].push({vc, c.packet << kFlitShift | (tail ? kTail : 0)});
      Sending& to = sendings(net, s)[port];
      if (tail) to.packet = kNone, to.ends = f.now + channel.flit_cycles;
    }
    f.part.totals.moves++;
    c.next = f.now + cycles;
    if (!tail) continue;
    s.ports[net.port_of_vc(v)].input_busy_until = f.now + crossbar_cycles;
    s.ports[port].output_busy_until = c.next;
    c.packet = kNone;
  }
}

void follow_waits(Frame& f) {
  const Network& net = f.net;
  State& s = f.s;
  if (!f.part.window.open) return;
  const Sending* const sending = sendings(net, s);
  for (u32 port = 0; port < net.router_ports; port++) {
    if (sending[port].ends == kNone && sending[port].packet == kNone) continue;  // has never sent a flit
    if (passed(sending[port].ends, f.now)) continue;
    const std::size_t jobs = net.accounted_jobs, row = port * jobs;
    for (std::size_t v = row; v < row + jobs; v++)
      s.wait_blame[v * jobs + s.job_channels[port].job] += s.job_waiting[v];
  }
}

u64 flits_at_terminals(const Network& net, const State& s) {
  u64 flits = 0;
  const auto* const sending = reinterpret_cast<const Sending*>(net.followers[1].of(s));
  for (u32 nic = net.router_ports; nic < net.port_count; nic++)
    if (sending[nic].awaited != kNone) flits += sending[nic].awaited;
  return flits;
}

}  // namespace flitgym
