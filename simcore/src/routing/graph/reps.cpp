// Recycled entropies (Bonato, Kabbani, Ghalayini, Papamichael, Dohadwala, Gianinazzi, Khalilov, Achermann, De Sensi,
// Hoefler, "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation", 2024). A packet
// carries an entropy, from which each router hashes its minimal port. A packet that meets a queue of `mark_flits` or
// more is marked. The acknowledgement of an unmarked packet returns the entropy to the sender, which uses it once for a
// later packet of the same connection. Without a returned entropy the sender draws a new one.
//
// A sender keeps a ring of `ring` entropies for each of `connections` connections. Connections that share a ring by
// their hash replace each other.
//
// Differences from REPS: the network is lossless, so there is no trimming and no freezing mode, which reacts to losses.
// Each packet is acknowledged. The acknowledgement takes the time of a minimal path without queueing, and no bandwidth.
// The queue is the one of the port that the packet takes, measured when the packet is routed. Senders are not paced by
// acknowledgements. Routers know about failed links, because their minimal ports avoid them.
#include "routing/graph/flows.hpp"

namespace flitgym::routing::graph::reps {

constexpr u32 kHeader = 2;  // columns before the ring: the connection's destination, and entropies returned so far
constexpr u32 kEntropies = 1 << 16;  // the UDP source port, 16 bits

struct Rule : ComponentData {
  CongestionMeasure measure;
  u32 connections = 0, ring = 0, mark_flits = 0;
  std::vector<u32> place;  // [terminals] index of a terminal among those of its router
  Kept<u32> rings;         // [routers] terminals of the router x connections, each: header, then pairs (entropy, cycle)
  u32 row = 0;             // cells of a connection
  u32 per_router = 0;      // cells of a router
  Kept<u16> entropy;
  Kept<u8> marked;

  u32* connection(const Network& net, State& s, const Packet& p) const {
    const u32 hashed = below(mix64(u64{p.destination} + 1), connections);
    return rings.of(s) + std::size_t{net.terminal_router[p.source]} * per_router +
           (std::size_t{place[p.source]} * connections + hashed) * row;
  }
};

// The oldest entropy that has returned to the sender and was not used, or a random one.
u16 next_entropy(const Network& net, State& s, const Rule& rule, const Packet& p, Cycle now) {
  u32* const c = rule.connection(net, s, p);
  if (c[0] == p.destination)
    for (u32 k = 0; k < rule.ring; k++) {
      u32* const entry = c + kHeader + 2 * ((c[1] + k) % rule.ring);  // the next to be overwritten is the oldest
      if (entry[0] == kNone || entry[1] > now) continue;
      const u32 entropy = entry[0];
      entry[0] = kNone;
      return static_cast<u16>(entropy);
    }
  return static_cast<u16>(below(route_draw(net, p, 0), kEntropies));
}

static void acknowledge(const Network& net, State& s, const Rule& rule, const Graph& g, const Packet& p, u16 entropy,
                        Cycle now) {
  u32* const c = rule.connection(net, s, p);
  if (c[0] != p.destination) {
    std::fill(c, c + rule.row, kNone);
    c[0] = p.destination;
    c[1] = 0;
  }
  const float back = flight(net, g, net.terminal_router[p.destination], net.terminal_router[p.source]);
  u32* const entry = c + kHeader + 2 * (c[1] % rule.ring);  // a snapshot may hold any position
  entry[0] = entropy;
  entry[1] = now + static_cast<Cycle>(back / net.cycle_ns);
  c[1] = (c[1] + 1) % rule.ring;
}

struct Reps : MinimalPorts {
  using Rule = reps::Rule;
  static void begin(const Head& at, const Rule& rule) {
    u16& entropy = rule.entropy.of(at.s)[at.id];
    if (!at.arrived() && at.packet.hops == 0) entropy = next_entropy(at.net, at.s, rule, at.packet, at.now);
    if (at.arrived() && at.packet.hops > 0 && !rule.marked.of(at.s)[at.id])
      acknowledge(at.net, at.s, rule, graph_now(at.net, at.s), at.packet, entropy, at.now);
  }
  static u32 select(const Head& at, const Rule& rule, const Congestion& congestion, const Offered<>& offered) {
    const Packet& p = at.packet;
    const u64 flow = mix64(u64{p.source} << 32 | p.destination) + rule.entropy.of(at.s)[at.id];
    const u32 k = Flows{}.index(at.net, flow, at.router, offered.count);
    if (congestion.of(at.router, offered[k], offered.hop[k].vc_class) >= rule.mark_flits)
      rule.marked.of(at.s)[at.id] = 1;
    return k;
  }
};

static void declare_rings(Network& net, Rule& rule) {
  rule.place = places_at_routers(net);
  const u32 most = std::ranges::max(rule.place) + 1;
  rule.row = kHeader + 2 * rule.ring;
  rule.per_router = most * rule.connections * rule.row;
  rule.rings = declare<u32>(net, {.name = "reps_rings",
                                  .meaning = "terminal and connection x destination, next position, then entropy and "
                                             "cycle of its return for each position",
                                  .per = Per::kRouter,
                                  .rows = most * rule.connections,
                                  .columns = rule.row,
                                  .fill = kNone,
                                  .or_none = true});
  rule.entropy = declare<u16>(
      net,
      {.name = "reps_entropy", .meaning = "entropy of the packet", .per = Per::kPacket, .highest = kEntropies - 1});
  rule.marked = declare<u8>(
      net, {.name = "reps_marked", .meaning = "1: the packet met a long queue", .per = Per::kPacket, .highest = 1});
}

static RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  rule.measure = measure_of(params, net);
  rule.connections = params.count("connections");
  rule.ring = params.count("ring");
  rule.mark_flits = params.count("mark_flits");
  declare_rings(net, rule);
  need_flights(net);
  RoutingFacts facts = facts_of_minimal_paths(net);
  facts.spreads = true;  // a router of the destination writes to the rings of the sender
  return facts;
}

const Register<RoutingSpec> entry(minimal_paths<Reps>({
    .name = "reps",
    .summary = "a shortest path per packet; senders reuse the paths of packets that met no long queue (REPS)",
    .params = {integer("ring", 8, 1, 64, "", "entropies that a sender keeps per connection"),
               integer("connections", 64, 1, 4096, "", "connections of a terminal with rings of their own"),
               integer("mark_flits", 20, 1, 1 << 20, "flits",
                       "a packet is marked if it takes a port with at least this congestion"),
               congestion_param("both"), congestion_scope_param("port")},
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::graph::reps
