// Ejection: a flit reaches its terminal, which accepts it at once. The tail completes the packet.
#include "core/demand.hpp"
#include "core/hosts/engine.hpp"
#include "core/stage/acknowledgement.hpp"
#include "core/stage/stage.hpp"
#include "simcore/learning.hpp"
#include "simcore/stats.hpp"
#include "simcore/traffic_classes.hpp"

namespace flitgym {

static void count(Frame& f, u32 id) {
  State& s = f.s;
  const Packet& p = s.packets[id];
  Window& w = f.part.window;
  const u32 from_nic = f.now - p.injected, from_generation = f.now - p.generated;
  if (w.open) {
    w.delivered++;
    w.hops += p.hops;
    w.nonminimal += p.nonminimal;
    w.latency_nic += from_nic;
    w.latency_generation += from_generation;
    if (from_nic > w.max_nic) w.max_nic = from_nic;
    if (from_generation > w.max_generation) w.max_generation = from_generation;
    f.part.histogram_nic[histogram_bin(from_nic)]++;
    f.part.histogram_generation[histogram_bin(from_generation)]++;
    if (f.net.classes) count_class(f.net, s, f.k, p, f.net.router.latency_from_nic ? from_nic : from_generation);
  }
  if (const u32 interval = s.series_interval[0]) {
    const std::size_t k = f.now / interval;
    if (k >= f.part.series.size()) f.part.series.resize(k + 1);
    SeriesPoint& point = f.part.series[k];
    point.packets++;
    point.flits += p.flits;
    point.hops += p.hops;
    point.latency += f.net.router.latency_from_nic ? from_nic : from_generation;
  }
  if (f.net.workload) workload::packet_delivered(f, id);
  else learning::count_delivered(f, p.source, 1);
}

void eject(Frame& f, u32 terminal, Flit flit) {
  State& s = f.s;
  const u32 id = packet_of(flit);
  const u32 flits = f.net.whole_packets ? s.packets[id].flits : 1;
  f.part.totals.flits_in_network -= flits;
  f.part.totals.flits_ejected += flits;
  const bool data = !f.net.control || !control::carried(f.net, s, id);
  if (f.part.window.open && data) f.part.window.flits += flits;
  if (!(flit & kTail)) return;

  if (const Packet& p = s.packets[id]; p.destination != terminal)
    throw CoreError("routing.", f.net.routing_name, " delivered packet ", p.sequence, " of terminal ", p.source,
                    " to terminal ", terminal, " instead of ", p.destination);
  Observers(f).log(flit, "is delivered to", f.net.nic(terminal), 0);
  if (data) count(f, id);
  if (f.net.delivered) f.net.delivered(f.net, s, id);
  if (f.net.seam && f.net.seam->capacity) close_on_delivery(f.net, s, id);
  f.part.totals.packets_in_network--;
  if (!f.net.control || control::delivered(f, id)) f.part.free_packets.push_back(id);
}

}  // namespace flitgym
