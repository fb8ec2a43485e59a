// The intra-node link, e.g. NVLink with an NVSwitch. Messages between ranks of a node take it instead of the network.
//
// Each rank has a port with a bandwidth per direction. The switch between the ports never blocks and has a buffer at
// each output. A transfer of b bytes (payload and header) with bandwidth B holds the sender's port for b / B. Its first
// byte is at the receiver's port after the latency, and the transfer holds that port for b / B, too. Each port serves
// transfers in the order of their arrival. Fetches consist only of a header, so they wait for no port and hold none.
// A transfer alone therefore takes latency + b / B. n equal transfers to one rank end after latency + n b / B.
#include "core/hosts/engine.hpp"

namespace flitgym::workload {

constexpr double kLongest = 1e18;  // ps, so that sums stay within 64 bits

// Time for which a transfer holds a port, ps.
static u64 port_time(const Workload& w, const Message& m) {
  const double bytes = static_cast<double>(wire_bytes(w, m.bytes, transfer_of(m)));
  return static_cast<u64>(std::llround(std::min(kLongest, bytes * 1000 / w.nodes.link_gb_per_s)));
}

void count_within_node(Frame& f, u32 id, bool received) {
  const Message& m = f.hosts().messages[id];
  if (!carries_data(transfer_of(m))) return;
  NodePort& port = f.s.node_ports[received ? m.destination : m.source];
  (received ? port.bytes_received : port.bytes_sent) += m.bytes;
  (received ? port.messages_received : port.messages_sent)++;
}

void enter_link(Frame& f, u32 id) {
  const Workload& w = *f.net.workload;
  Hosts& hosts = f.hosts();
  const Message& m = hosts.messages[id];
  const u64 now = hosts.totals.now, time = port_time(w, m), latency = w.nodes.link_latency;
  if (transfer_of(m) == Transfer::kFetch) return push_event(hosts, now + latency + time, HostAction::kLinkTail, id);
  u64& free = f.s.node_ports[sender(m)].out_free;
  const u64 from = std::max(now, free);
  free = from + time;
  push_event(hosts, from + latency, HostAction::kLinkHead, id);
}

void link_head(Frame& f, u32 id) {
  Hosts& hosts = f.hosts();
  const Message& m = hosts.messages[id];
  u64& free = f.s.node_ports[receiver(m)].in_free;
  free = std::max(hosts.totals.now, free) + port_time(*f.net.workload, m);
  push_event(hosts, free, HostAction::kLinkTail, id);
}

void link_tail(Frame& f, u32 id) {
  const Message& m = f.hosts().messages[id];
  count_within_node(f, id, true);
  if (carries_data(transfer_of(m)))
    if (JobPoint* point = job_point(f, f.net.workload->rank_job[m.source])) point->bytes_received += m.bytes;
  hand_on(f, id, f.hosts().totals.now, false);
}

}  // namespace flitgym::workload
