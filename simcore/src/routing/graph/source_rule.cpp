#include "routing/graph/source_rule.hpp"

namespace flitgym::routing::graph {

u32 SourceRule::target(const Network& net, const State& s, u32 packet, u32 router) const {
  const Packet& p = s.packets[packet];
  const u32 to = net.terminal_router[p.destination], middle = intermediate.of(s)[packet];
  if (p.phase != kToIntermediate || router == middle) return to;
  const Graph& graph = graph_now(net, s);
  return net.damaged && distance(net, graph, router, middle) > graph.diameter ? to : middle;
}

SourceRule::Usable SourceRule::usable(const Network& net, State& s, const Packet& p, u32 router, Cycle now) const {
  const u32 to = net.terminal_router[p.destination];
  const PathList list = paths.of(net, router, to);
  const Graph& graph = graph_now(net, s);
  Usable all;
  for (u32 k = 0; k < list.count; k++) {
    if (!graph.usable(net.port(router, list.port[k]))) continue;
    all.path[all.count] = static_cast<u8>(k);
    all.port[all.count] = list.port[k];
    all.middle[all.count++] = list.middle[k];
  }
  if (gap_cycles == 0) return all;
  const SourceMemory::Row row = memory.row(net, s, p.source, to);
  if (!row.holds(to) || now - row.keys[1] > gap_cycles) return all;
  const u32 k = all.find(row.keys[2]);
  if (k == all.count) return all;
  Usable one;
  one.count = 1;
  one.path[0] = all.path[k];
  one.port[0] = all.port[k];
  one.middle[0] = all.middle[k];
  return one;
}

u32 SourceRule::waypoint(const Network& net, const State& s, u32 packet, u32 router, u32 port) const {
  const Packet& p = s.packets[packet];
  const u32 to = net.terminal_router[p.destination];
  if (p.phase == kToIntermediate) return intermediate.of(s)[packet];
  if (p.phase != kUndecided || router == to) return kNone;
  const PathList list = paths.of(net, router, to);
  const u32 k = list.find(port);
  return k < list.count ? list.middle[k] : kNone;
}

u32 SourceRule::next_port(const Network& net, const State& s, const Graph& graph, u32 packet, u32 router,
                          u32 target) const {
  const Packet& p = s.packets[packet];
  const u64 name =
      SourcePaths::name(net, net.terminal_router[p.source], net.terminal_router[p.destination], path.of(s)[packet]);
  return SourcePaths::next_port(net, graph, name, router, target);
}

float SourceRule::idle_ns(const Network& net, const Packet& p, u32 router, u32 first_port, u32 middle) {
  const u32 to = net.terminal_router[p.destination], port = net.port(to, net.terminal_port[p.destination]);
  return SourcePaths::flight_ns(net, net.port(router, first_port), to, middle) + static_cast<float>(hop_ns(net, port)) +
         static_cast<float>((p.flits - 1) * net.channels[port].flit_cycles * net.cycle_ns);
}

void SourceRule::settle(const Network& net, State& s, const Batch& b, u32 i) const {
  const u32 id = b.packet[i], router = b.router[i], port = net.port(router, b.out_port[i]);
  Packet& p = s.packets[id];
  if (p.phase == kUndecided) {
    p.phase = kMinimal;
    const u32 to = net.terminal_router[p.destination];
    if (router == to) return;
    decided.of(s)[id] = b.now;
    const PathList list = paths.of(net, router, to);
    if (const u32 k = list.find(b.out_port[i]); k < list.count) {
      path.of(s)[id] = static_cast<u8>(k);
      if (list.middle[k] != kNone) {
        intermediate.of(s)[id] = list.middle[k];
        p.phase = kToIntermediate;
      }
      const SourceMemory::Row row = memory.open(net, s, p.source, to);
      row.keys[1] = b.now;
      row.keys[2] = k;
      if (row.waits[2 * k]++ == 0) row.waits[2 * k + 1] = b.now;
    }
  } else if (p.phase == kToIntermediate && target(net, s, id, router) == net.terminal_router[p.destination]) {
    p.phase = kFromIntermediate;
  }
  if (net.is_link(port) && measure.of(net, s, port, b.out_class[i]) >= mark_flits) marked.of(s)[id] = 1;
}

void SourceRule::acknowledge(const Network& net, State& s, u32 packet) const {
  const u32 number = path.of(s)[packet];
  if (number == kNoPath) return;
  const Packet& p = s.packets[packet];
  const u32 from = net.terminal_router[p.source], to = net.terminal_router[p.destination];
  const Cycle now = s.part.totals.now;
  hear(net, s, now);
  const auto back = static_cast<Cycle>(flight(net, graph_now(net, s), to, from) / net.cycle_ns);
  returns.send(s, now, now + back, p.destination,
               {kNone, p.source, number * 2 + marked.of(s)[packet], now - decided.of(s)[packet], to});
}

void SourceRule::hear(const Network& net, State& s, Cycle now) const {
  returns.take(net, s, now, [&](const Returns::Ack& ack) {
    const u32 k = ack.path / 2;
    if (ack.source >= net.terminals || ack.to >= net.routers || k >= memory.paths) return;  // a damaged snapshot
    const SourceMemory::Row row = memory.row(net, s, ack.source, ack.to);
    if (!row.holds(ack.to)) return;
    const auto delay = static_cast<float>(ack.delay * net.cycle_ns), mark = static_cast<float>(ack.path % 2);
    if (row.delay[k] == 0) {
      row.delay[k] = delay;
      row.mark[k] = mark;
    } else {
      row.delay[k] += memory.rate * (delay - row.delay[k]);
      row.mark[k] += memory.rate * (mark - row.mark[k]);
    }
    if (row.waits[2 * k] > 0) row.waits[2 * k]--;
    row.waits[2 * k + 1] = now;
    if (ack.path % 2) return;
    row.good[row.keys[3] % SourceMemory::kGood] = static_cast<u8>(k);
    row.keys[3] = (row.keys[3] + 1) % SourceMemory::kGood;
  });
}

std::vector<ParamSpec> source_params() {
  return {integer("most_paths", 8, 2, kMostPaths, "", "most paths of a pair of routers; each leaves by another port"),
          integer("minimal_paths", 4, 1, kMostPaths, "",
                  "most minimal paths among them; the others lead through an intermediate router"),
          real("flowlet_gap_ns", 0, 0, 1e9, "ns",
               "least time without a packet from a source to a router after which the source chooses again; 0 = for "
               "each packet"),
          real("rate", 0.1, 0, 1, "", "weight of a returned packet in the running means of its path"),
          integer("mark_flits", 20, 1, 1 << 20, "flits",
                  "a packet is marked if it takes a port with at least this congestion"),
          integer("connections", 0, 0, 1 << 20, "",
                  "destination routers of which a terminal keeps means; 0 = all. Others replace each other by a hash"),
          congestion_param("both"),
          congestion_scope_param("port")};
}

RoutingFacts setup_source_rule(const Params& params, Network& net, SourceRule& rule) {
  need_distances(net);
  rule.paths = build_source_paths(net, params.count("most_paths"), params.count("minimal_paths"));
  rule.memory.paths = params.count("most_paths");
  rule.memory.connections = params.count("connections");
  rule.memory.rate = static_cast<float>(params.real("rate"));
  rule.gap_cycles = static_cast<u32>(params.real("flowlet_gap_ns") / net.cycle_ns);
  rule.mark_flits = params.count("mark_flits");
  rule.measure = measure_of(params, net);
  rule.returns.setup(net);
  rule.memory.setup(net);
  rule.intermediate = declare_intermediate(net);
  rule.decided = declare<u32>(net, {.name = "source_decided",
                                    .meaning = "cycle in which the source chose the path of the packet",
                                    .per = Per::kPacket});
  rule.marked = declare<u8>(
      net, {.name = "source_marked", .meaning = "1: the packet met a long queue", .per = Per::kPacket, .highest = 1});
  rule.path = declare<u8>(net, {.name = "source_path",
                                .meaning = "number of the packet's path; 255: none",
                                .per = Per::kPacket,
                                .fill = kNoPath,
                                .highest = kNoPath});
  // After a failure, the first hop of a path may lead away from its next router.
  const u32 hops = hops_in_all(net, longest_path(net) + (net.graphs.size() > 1));
  // A terminal of the destination writes to the memory of the source.
  return {.classes = hops, .max_hops = hops, .spreads = true};
}

}  // namespace flitgym::routing::graph
