#include "mapping/quality.hpp"

#include "simcore/graph.hpp"
#include "simcore/mapping/problem.hpp"
#include "simcore/tables/walk.hpp"

namespace flitgym::mapping {

// visit(port) for each port of a shortest path to router `to`, given the hops to it.
template <class Visit>
static void each_nearer(const Network& net, u32 router, u32 to, const std::vector<u32>& hops, Visit&& visit) {
  const auto nearer = [&](u32 k) {
    if (const u32 port = net.port(router, k); hops[net.next_router(port)] < hops[router]) visit(port);
  };
  // With parallel links between groups, a minimal port may lead to a router as far away as this one.
  if (knows_hops(net)) each_minimal(net, *net.graphs[0], router, to, nearer);
  else each_link(net, *net.graphs[0], router, nearer);
}

// Computes the congestion from the bytes on each port.
static void weigh(const Network& net, const std::vector<double>& load, MappingQuality& q) {
  u32 links = 0;
  for (u32 port = 0; port < net.router_ports; port++) {
    if (!net.is_link(port) || !net.graphs[0]->usable(port)) continue;
    links++;
    const double congestion = load[port] * net.channels[port].flit_cycles / net.flit_cycles_host;
    q.mean_congestion += congestion;
    if (congestion <= q.worst_congestion) continue;
    q.worst_congestion = congestion;
    q.worst_port = port;
  }
  if (links) q.mean_congestion /= links;
}

workload::CommunicationMatrix between_nodes(const workload::CommunicationMatrix& matrix, const Nodes& nodes,
                                            const std::vector<u32>& rank_terminal) {
  workload::CommunicationMatrix kept;
  kept.ranks = matrix.ranks;
  const auto node = [&](u32 rank) { return nodes.of_terminal[rank_terminal[rank]]; };
  for (u32 r = 0; r < matrix.ranks; r++) {
    for (u64 e = matrix.first[r]; e < matrix.first[r + 1]; e++)
      if (node(r) != node(matrix.peer[e])) {
        kept.peer.push_back(matrix.peer[e]);
        kept.bytes.push_back(matrix.bytes[e]);
      }
    kept.first.push_back(kept.peer.size());
  }
  return kept;
}

MappingQuality quality_on_minimal_paths(const Network& net, const workload::CommunicationMatrix& matrix,
                                        const std::vector<u32>& rank_terminal) {
  MappingQuality q;
  weigh(net, load_on_minimal_paths(net, matrix, rank_terminal, q), q);
  return q;
}

std::vector<double> load_on_minimal_paths(const Network& net, const workload::CommunicationMatrix& matrix,
                                          const std::vector<u32>& rank_terminal, MappingQuality& q) {
  // The traffic between two routers, sorted by receiver.
  struct Flow {
    u32 to, from;
    double bytes;
  };
  std::vector<Flow> flows;
  claim_memory(matrix.peer.size() * sizeof(Flow) + 8 * net.router_ports, "workload.jobs",
               "the traffic between routers");
  for (u32 r = 0; r < matrix.ranks; r++)
    for (u64 e = matrix.first[r]; e < matrix.first[r + 1]; e++) {
      const u32 from = net.terminal_router[rank_terminal[r]], to = net.terminal_router[rank_terminal[matrix.peer[e]]];
      q.bytes += matrix.bytes[e];
      if (from != to) flows.push_back({to, from, matrix.bytes[e]});
    }
  std::sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
    worked();
    return a.to != b.to ? a.to < b.to : a.from < b.from;
  });

  std::vector<double> load(net.router_ports, 0.0), through(net.routers, 0.0), paths(net.routers, 0.0);
  std::vector<u32> order;
  double hop_bytes = 0;
  for (std::size_t at = 0, end; at < flows.size(); at = end) {
    const u32 to = flows[at].to;
    const std::vector<u32> hops = hops_towards(net, to);
    u32 farthest = 0;
    for (end = at; end < flows.size() && flows[end].to == to; end++) {
      const u32 from = flows[end].from;
      if (hops[from] == kNone)
        throw ConfigError("workload: there is no path from router ", net.router_name(from), " to router ",
                          net.router_name(to));
      through[from] += flows[end].bytes;
      hop_bytes += flows[end].bytes * hops[from];
      farthest = std::max(farthest, hops[from]);
    }
    // Routers in the order of their hops. Shortest paths are counted from the receiver outwards. Then the bytes are
    // divided from the senders inwards.
    order.clear();
    for (u32 r = 0; r < net.routers; r++)
      if (hops[r] <= farthest) order.push_back(r);
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return hops[a] < hops[b]; });
    paths[to] = 1;
    for (u32 k = 1; k < order.size(); k++) {
      double sum = 0;
      each_nearer(net, order[k], to, hops, [&](u32 port) { sum += paths[net.next_router(port)]; });
      paths[order[k]] = sum;
      worked(net.radix);
    }
    for (std::size_t k = order.size(); k-- > 1;) {
      const u32 r = order[k];
      if (through[r] == 0) continue;
      const double each = through[r] / paths[r];
      each_nearer(net, r, to, hops, [&](u32 port) {
        const u32 peer = net.next_router(port);
        load[port] += each * paths[peer];
        through[peer] += each * paths[peer];
      });
      through[r] = 0;
      worked(net.radix);
    }
    through[to] = 0;
  }
  if (q.bytes > 0) q.dilation = hop_bytes / q.bytes;
  return load;
}

MappingQuality quality_under_table(const Network& net, const tables::ForwardingTable& table,
                                   const workload::CommunicationMatrix& matrix, const std::vector<u32>& rank_terminal) {
  const tables::ChannelGraph g = tables::channel_graph(net);
  tables::check_table(g, table);
  MappingQuality q;
  std::vector<double> load(net.router_ports, 0.0);
  double hop_bytes = 0;
  const u32 addresses = 1u << table.lmc;
  for (u32 r = 0; r < matrix.ranks; r++)
    for (u64 e = matrix.first[r]; e < matrix.first[r + 1]; e++) {
      const u32 from = net.terminal_router[rank_terminal[r]], to = rank_terminal[matrix.peer[e]];
      q.bytes += matrix.bytes[e];
      if (from == net.terminal_router[to]) continue;
      const double each = matrix.bytes[e] / addresses;
      for (u32 k = 0; k < addresses; k++)
        tables::each_channel(g, table, from, to << table.lmc | k, [&](u32 channel) {
          load[net.port(g.from[channel], g.port[channel])] += each;
          hop_bytes += each;
          worked(4);
        });
    }
  if (q.bytes > 0) q.dilation = hop_bytes / q.bytes;
  weigh(net, load, q);
  return q;
}

}  // namespace flitgym::mapping
