// Converts the wiring of a topology to the ids of a network.
#include "core/router_setup.hpp"

namespace flitgym {

// The wiring counts ports without gaps; the network pads each router to a power of two.
void lay_out(const Wiring& wiring, Network& net) {
  for (u32 r = 0; r < net.routers; r++) net.radix = std::max(net.radix, wiring.first[r + 1] - wiring.first[r]);
  net.terminals = static_cast<u32>(wiring.terminal_port.size());
  if (net.terminals == 0) throw ConfigError("topology.", net.topology_name, ": there are no terminals");
  while ((1u << net.radix_shift) < net.radix) net.radix_shift++;
  if (u64{net.routers} << net.radix_shift >= (u64{1} << 26))
    throw ConfigError("topology.", net.topology_name, ": ", net.routers, " routers of up to ", net.radix,
                      " ports exceed the core's limit of 2^26 ports");
  net.router_ports = net.routers << net.radix_shift;
  net.port_count = net.router_ports + net.terminals;
  net.asked_words = (net.radix + 63) / 64;
  claim_memory(net.port_count * u64{sizeof(Channel)} + net.terminals * u64{8}, "topology." + net.topology_name,
               net.port_count, " channels");
  net.channels.resize(net.port_count);
  std::vector<u32> id(wiring.peer.size());
  for (u32 r = 0; r < net.routers; r++)
    for (u32 p = wiring.first[r]; p < wiring.first[r + 1]; p++) id[p] = net.port(r, p - wiring.first[r]);
  for (u32 p = 0; p < id.size(); p++) {
    worked();
    net.channels[id[p]].peer = wiring.peer[p] == kNone ? kNone : id[wiring.peer[p]];
    net.channels[id[p]].kind = wiring.kind[p];
  }
  for (u32 t = 0; t < net.terminals; t++) {
    worked();
    const u32 p = id[wiring.terminal_port[t]];
    net.channels[p].peer = net.nic(t);
    net.channels[net.nic(t)].peer = p;
    net.channels[net.nic(t)].kind = PortKind::kTerminal;
    net.terminal_router.push_back(net.router_of_port(p));
    net.terminal_port.push_back(net.local_port(p));
  }
  for (u32 p = 0; p < net.port_count; p++) {
    worked();
    const Channel& c = net.channels[p];
    if ((c.peer == kNone) != (c.kind == PortKind::kUnused))
      throw CoreError("topology ", net.topology_name, ": port without a peer");
    if (c.peer != kNone && (net.channels[c.peer].peer != p || net.channels[c.peer].kind != c.kind))
      throw CoreError("topology ", net.topology_name, ": port ", p, " does not lead back over its link");
  }
  for (const auto& [p, link] : wiring.own) net.own_links[id[p]] = link;
  net.first_link.assign(net.routers, 0);
  for (u32 r = 0; r < net.routers; r++) {
    u32 first = kNone, last = 0;
    for (u32 k = 0; k < net.radix; k++)
      if (net.is_link(net.port(r, k))) {
        if (first == kNone) first = k;
        last = k;
      }
    if (first == kNone) continue;
    net.first_link[r] = static_cast<u16>(first);
    net.link_span = std::max(net.link_span, last + 1 - first);
  }
}

void Wiring::resize(u32 router_count, u32 ports) {
  if (u64{router_count} * std::bit_ceil(std::max(u64{ports}, u64{1})) >= (u64{1} << 26))
    throw ConfigError("topology: ", router_count, " routers of ", ports,
                      " ports exceed the core's limit of 2^26 ports");
  resize(std::vector<u32>(router_count, ports));
}

void Wiring::resize(const std::vector<u32>& ports) {
  u64 all = 0;
  for (std::size_t r = 0; r < ports.size(); r++) {
    if (ports[r] > kMaxRadix)
      throw ConfigError("topology: router ", router_name(r), " would have ", ports[r],
                        " ports; the core supports at most ", kMaxRadix);
    all += ports[r];
  }
  if (all >= (u64{1} << 26)) throw ConfigError("topology: ", all, " ports exceed the core's limit of 2^26");
  claim_memory(all * 9 + ports.size() * 12, "topology", ports.size(), " routers");
  routers = static_cast<u32>(ports.size());
  first.assign(1, 0);
  for (const u32 n : ports) first.push_back(first.back() + n);
  peer.assign(all, kNone);
  kind.assign(all, PortKind::kUnused);
  router_group.assign(routers, 0);
}

Wiring::End Wiring::end_of(u32 port) const {
  const auto router = static_cast<u32>(std::ranges::upper_bound(first, port) - first.begin()) - 1;
  return {router, port - first[router]};
}

u32 Wiring::free_port(End end) const {
  if (end.router >= routers || port(end) >= first[end.router + 1] || kind[port(end)] != PortKind::kUnused)
    throw CoreError("topology: port ", end.port, " of router ", end.router, " does not exist, or is taken");
  return port(end);
}

void Wiring::connect(End end_a, End end_b, const Link& link) {
  const u32 a = free_port(end_a);
  kind[a] = link.kind;
  const u32 b = free_port(end_b);
  kind[b] = link.kind;
  peer[a] = b;
  peer[b] = a;
  if (link.latency_ns >= 0 || link.bandwidth_gb_per_s != -1) own[a] = link;
}

void Wiring::attach_terminal(End at, const Link& link) {
  const u32 p = free_port(at);
  kind[p] = PortKind::kTerminal;
  peer[p] = 0;  // build() replaces it by the NIC's id when the terminals are counted
  if (link.latency_ns >= 0 || link.bandwidth_gb_per_s != -1)
    own[p] = {PortKind::kTerminal, link.latency_ns, link.bandwidth_gb_per_s};
  terminal_port.push_back(p);
}

}  // namespace flitgym
