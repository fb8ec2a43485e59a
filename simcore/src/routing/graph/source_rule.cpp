#include "routing/graph/source_rule.hpp"

#include "simcore/grouped.hpp"

namespace flitgym::routing::graph {

SourcePaths build_source_paths(const Network& net, u32 most, u32 most_minimal) {
  constexpr std::size_t kMostPairs = std::size_t{1} << 20;  // a table of more pairs does not fit into the cache
  SourcePaths paths;
  paths.most = most;
  paths.most_minimal = std::min(most, most_minimal);
  paths.members = grouped(net.topology->regions(net), net.routers, paths.first_member,
                          [&](std::size_t r) { return net.topology->region(static_cast<u32>(r)); });

  const std::size_t pairs = std::size_t{net.routers} * net.routers;
  std::vector<PathList> table;
  const bool keep = pairs <= kMostPairs;
  if (keep) {
    claim_memory(pairs * sizeof(PathList), "routing." + net.routing_name, "the paths of ", net.routers, " routers");
    table.resize(pairs);
  }
  u32 largest = 0;
  for (u32 from = 0; from < net.routers && (keep || largest < 2); from++) {
    worked(net.routers);
    for (u32 to = 0; to < net.routers; to++) {
      if (from == to || distance(net, *net.graphs[0], from, to) > net.graphs[0]->diameter) continue;
      const PathList list = paths.list(net, from, to);
      largest = std::max(largest, list.count);
      if (keep) table[std::size_t{from} * net.routers + to] = list;
    }
  }
  u32 links = 0;
  for (u32 port = 0; port < net.router_ports; port++) links += net.is_link(port) && net.graphs[0]->usable(port);
  if (largest < 2 || links / 2 < net.routers)
    throw ConfigError("routing.", net.routing_name, ": topology '", net.topology_name,
                      "' has one path between any two routers",
                      links / 2 < net.routers ? "" : ", with most_paths=" + std::to_string(most),
                      ", so a source has no choice; use a topology with several paths, or routing=minimal");
  paths.table = std::move(table);
  return paths;
}

void Returns::setup(Network& net) {
  need_flights(net);
  float longest = 0;
  for (const auto& g : net.graphs) longest = std::max(longest, g->longest_flight_ns);
  const u32 cycles = static_cast<u32>(longest / net.cycle_ns) + 2;
  slots = std::bit_ceil(cycles + 1);
  u32 flit_cycles = ~0u;
  for (u32 t = 0; t < net.terminals; t++)
    flit_cycles =
        std::min(flit_cycles, net.channels[net.port(net.terminal_router[t], net.terminal_port[t])].flit_cycles);
  per_terminal = cycles / std::max(flit_cycles, 1u) + 2;
  wheel = declare<u32>(net, {.name = "source_wheel",
                             .meaning = "first acknowledgement that is due in each cycle of the wheel",
                             .columns = slots,
                             .fill = kNone,
                             .or_none = true});
  acks = declare<u32>(net, {.name = "source_acks",
                            .meaning = "acknowledgements of each terminal x next one of the same cycle, source, path x "
                                       "2 + mark, delay in cycles, destination router",
                            .rows = net.terminals * per_terminal,
                            .columns = kColumns,
                            .fill = kNone,
                            .or_none = true});
  sent = declare<u32>(net, {.name = "source_acks_sent",
                            .meaning = "acknowledgements that each terminal has sent, then the last cycle whose "
                                       "acknowledgements were read",
                            .columns = net.terminals + 1});
}

void Returns::send(State& s, Cycle now, Cycle due, u32 terminal, Ack ack) const {
  const Cycle wait = std::clamp(due - now, 1u, slots - 1);
  u32& count = sent.of(s)[terminal];
  const u32 at = terminal * per_terminal + count % per_terminal;
  count = (count + 1) % per_terminal;
  u32& slot = wheel.of(s)[(now + wait) & (slots - 1)];
  ack.next = slot;
  reinterpret_cast<Ack*>(acks.of(s))[at] = ack;
  slot = at;
}

void SourceMemory::setup(Network& net) {
  place = places_at_routers(net);
  most_terminals = std::ranges::max(place) + 1;
  if (connections == 0 || connections > net.routers) connections = net.routers;
  const auto shape = [&](const std::string& name, const std::string& meaning, u32 columns, double highest,
                         u32 fill = 0) {
    return MemoryShape{.name = name,
                       .meaning = "terminal and destination x " + meaning,
                       .per = Per::kRouter,
                       .rows = most_terminals * connections,
                       .columns = columns,
                       .fill = static_cast<double>(fill),
                       .highest = highest,
                       .or_none = fill == kNone};
  };
  constexpr double kMost = std::numeric_limits<double>::max();
  delays = declare<float>(net, shape("source_delay",
                                     "path: ns from the decision to the delivery, running mean; 0: no packet has "
                                     "returned",
                                     paths, kMost));
  marks = declare<float>(
      net, shape("source_mark", "path: part of the returned packets that met a long queue, running mean", paths, 1));
  waits = declare<u32>(net, shape("source_waits",
                                  "for each path, packets that have not returned, and cycle of the last return or of "
                                  "the first of these packets",
                                  2 * paths, kMost));
  good =
      declare<u8>(net, shape("source_good", "path of an unmarked packet that has returned and was not used; 255: none",
                             kGood, kNoPath, kNoPath));
  rows = declare<u32>(net, shape("source_rows",
                                 "destination router, cycle of the last packet, its path, paths that have returned "
                                 "unmarked",
                                 kRow, kMost, kNone));
}

u32 SourceRule::target(const Network& net, const State& s, u32 packet, u32 router) const {
  const Packet& p = s.packets[packet];
  const u32 to = net.terminal_router[p.destination], middle = intermediate.of(s)[packet];
  if (p.phase != kToIntermediate || router == middle) return to;
  const Graph& graph = graph_now(net, s);
  return net.damaged && distance(net, graph, router, middle) > graph.diameter ? to : middle;
}

PathList SourceRule::usable(const Network& net, State& s, const Packet& p, u32 router, Cycle now) const {
  const u32 to = net.terminal_router[p.destination];
  const Graph& graph = graph_now(net, s);
  PathList all, one;
  const PathList list = paths.of(net, router, to);
  for (u32 k = 0; k < list.count; k++)
    if (graph.usable(net.port(router, list.port[k]))) all.add(list.port[k], list.middle[k], k);
  if (gap_cycles == 0) return all;
  const SourceMemory::Row row = memory.row(net, s, p.source, to);
  if (!row.holds(to) || now - row.keys[1] > gap_cycles) return all;
  const u32 k = all.find_number(row.keys[2]);
  if (k == all.count) return all;
  one.add(all.port[k], all.middle[k], all.number[k]);
  return one;
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
