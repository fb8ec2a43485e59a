// Checks that the counts of flits, credits and buffer slots are consistent.
#include "core/stage/credit_queue.hpp"
#include "simcore/simulation.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym {

// Checks that the occupancies kept for routings agree with the queues and credits.
static void check_sensed(const Network& net, const State& s) {
  if (!net.sensed.kept()) return;
  const Sensed& sensed = net.sensed;
  const auto& bytes = s.memory[sensed.memory.memory];
  if (bytes.size() != sensed.row(net.routers, 0) * sizeof(u16)) throw CoreError("the memory 'sensed' has a wrong size");
  const u16* const kept = sensed.memory.of(s);
  for (u32 r = 0; r < net.routers; r++)
    for (u32 vc = 0; vc < net.vcs; vc++)
      for (u32 k = 0; k < 1u << sensed.column_shift; k++) {
        const bool there = k < net.radix && net.channels[net.port(r, k)].peer != kNone;
        u32 flits = 0;
        if (there) {  // slots of terminals are never in use
          const OutputVc& out = s.output_vcs[net.vc_id(net.port(r, k), vc)];
          flits = sensed.queue() * out.count +
                  (net.accepts_all(net.port(r, k)) ? 0 : sensed.slots() * (net.router.input_depth - out.credits));
        }
        if (kept[sensed.row(r, vc) + k] != flits)
          throw CoreError("sensed at router ", r, " port ", k, " vc ", vc, ": ", kept[sensed.row(r, vc) + k],
                          ", but there are ", flits, " flits");
      }
}

void check_conservation(const Network& net, const State& s) {
  const auto fail = [&](const auto&... what) {
    throw CoreError("conservation, cycle ", s.part.totals.now, ": ", what...);
  };

  // Flits on the way to each buffer, and credits on the way to each output VC.
  std::vector<u32> flits(std::size_t{net.port_count} << net.vc_shift), returning(flits.size());
  u64 buffered = 0, on_channels = 0;
  for (u32 k = 0; k < net.partitions(); k++) {
    for (const auto& line : partition(s, k).flit_lines.lines)
      for (u32 n = line.first; n != line.end; n++) {
        const FlitEvent& e = line.at(n);
        const u32 weight = net.whole_packets ? s.packets[packet_of(e.flit)].flits : 1;
        flits[e.vc] += weight;
        on_channels += weight;
      }
    for (const auto& chunk : partition(s, k).tails_due.chunks)
      for (u32 n = 0; n < chunk.count; n++) on_channels += s.packets[packet_of(chunk.items[n].flit)].flits;
    for (const auto& line : partition(s, k).credit_lines.lines)
      for (u32 n = line.first; n != line.end; n++) returning[line.at(n).vc] += line.at(n).flits;
  }
  if (net.islip.kept())
    for (u32 p = 0; p < net.router_ports; p++) {
      const IslipPort port = islip_port(net, const_cast<u16*>(net.islip.of(s)), p);  // only reads
      for (u32 k = 0; k < port.credits(); k++) returning[net.vc_id(net.channels[p].peer, port.credit(k) % kMaxVcs)]++;
    }
  const Totals sums = totals(s);
  for (const InputVc& in : s.input_vcs) buffered += in.count;
  for (const OutputVc& out : s.output_vcs) buffered += out.count;
  if (buffered + on_channels != sums.flits_in_network)
    fail(buffered, " flits buffered + ", on_channels, " on channels, but ", sums.flits_in_network,
         " were accepted and not ejected");
  if (sums.flits_accepted != sums.flits_ejected + sums.flits_in_network)
    fail("flits in differ from flits out plus flits in flight");

  for (std::size_t v = 0; net.classes && v < s.output_vcs.size(); v++)  // packets stay in the VCs of their class
    for (const Flit front : {s.output_vcs[v].front, v < s.input_vcs.size() ? s.input_vcs[v].front : kNone})
      if (front != kNone &&
          s.packets[packet_of(front)].traffic_class != class_of_vc(net, net.vc_of(static_cast<u32>(v))))
        fail("a packet is in a VC of another traffic class");

  for (u32 p = 0; p < net.port_count; p++) {
    if (net.channels[p].peer == kNone || net.accepts_all(p)) continue;
    u32 load = 0;
    for (u32 vc = 0; vc < net.vcs; vc++) {
      const u32 out = net.vc_id(p, vc), in = net.vc_id(net.channels[p].peer, vc);
      const OutputVc& o = s.output_vcs[out];
      const u32 held = in < s.input_vcs.size() ? s.input_vcs[in].count : 0,
                total = o.credits + flits[in] + held + returning[out];
      // With packet credits, the slots of flits that left ahead of their tail are not yet on the way back.
      const bool packets = net.router.packet_credits && net.most_packet_flits > 1 && !net.whole_packets;
      if (packets ? total > net.router.input_depth || total + net.most_packet_flits <= net.router.input_depth
                  : total != net.router.input_depth)
        fail("port ", p, " vc ", vc, ": ", o.credits, " credits + ", flits[in], " flits on the channel + ", held,
             " buffered + ", returning[out], " credits returning differ from the buffer's ", net.router.input_depth);
      load += o.count + net.router.input_depth - o.credits;
    }
    if (load != s.ports[p].load) fail("port ", p, ": load ", s.ports[p].load, " is not ", load);
  }
  check_sensed(net, s);
}

}  // namespace flitgym
