#include "routing/graph/source_returns.hpp"

#include <bit>
#include <cmath>

#include "simcore/limits.hpp"

namespace flitgym::routing::graph {

SourcePaths build_source_paths(const Network& net, u32 most, u32 most_minimal) {
  constexpr std::size_t kMostPairs = std::size_t{1} << 20;  // a table of more pairs does not fit into the cache
  SourcePaths paths;
  paths.most = most;
  paths.most_minimal = std::min(most, most_minimal);
  const u32 regions = net.topology->regions(net);
  paths.first_member.assign(regions + 1, 0);
  for (u32 r = 0; r < net.routers; r++) paths.first_member[net.topology->region(r) + 1]++;
  for (u32 k = 0; k < regions; k++) paths.first_member[k + 1] += paths.first_member[k];
  paths.members.resize(net.routers);
  std::vector<u32> end(paths.first_member.begin(), paths.first_member.end() - 1);
  for (u32 r = 0; r < net.routers; r++) paths.members[end[net.topology->region(r)]++] = r;

  const std::size_t pairs = std::size_t{net.routers} * net.routers;
  std::vector<PathList> table;
  const bool keep = pairs <= kMostPairs;
  if (keep) {
    claim_memory(pairs * sizeof(PathList), "routing." + net.routing_name,
                 "the paths of " + std::to_string(net.routers) + " routers");
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
    throw ConfigError("routing." + net.routing_name + ": topology '" + net.topology_name +
                      "' has one path between any two routers" +
                      (links / 2 < net.routers ? "" : ", with most_paths=" + std::to_string(most)) +
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
  MemoryShape shape;
  shape.or_none = true;
  shape.name = "source_wheel";
  shape.meaning = "first acknowledgement that is due in each cycle of the wheel";
  shape.columns = slots;
  shape.fill = kNone;
  wheel = declare<u32>(net, shape);
  shape.name = "source_acks";
  shape.meaning =
      "acknowledgements of each terminal x next one of the same cycle, source, path x 2 + mark, delay in "
      "cycles, destination router";
  shape.rows = net.terminals * per_terminal;
  shape.columns = kColumns;
  acks = declare<u32>(net, shape);
  MemoryShape count;
  count.name = "source_acks_sent";
  count.meaning = "acknowledgements that each terminal has sent, then the last cycle whose acknowledgements were read";
  count.columns = net.terminals + 1;
  sent = declare<u32>(net, count);
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
  std::vector<u32> terminals(net.routers);
  place.resize(net.terminals);
  for (u32 t = 0; t < net.terminals; t++) {
    place[t] = terminals[net.terminal_router[t]]++;
    most_terminals = std::max(most_terminals, place[t] + 1);
  }
  if (connections == 0 || connections > net.routers) connections = net.routers;
  const std::string rows_of = "terminal and destination x ";
  MemoryShape shape;
  shape.per = Per::kRouter;
  shape.rows = most_terminals * connections;
  shape.columns = paths;
  shape.name = "source_delay";
  shape.meaning = rows_of + "path: ns from the decision to the delivery, running mean; 0: no packet has returned";
  delays = declare<float>(net, shape);
  shape.name = "source_mark";
  shape.meaning = rows_of + "path: part of the returned packets that met a long queue, running mean";
  shape.highest = 1;
  marks = declare<float>(net, shape);
  MemoryShape wait;
  wait.per = Per::kRouter;
  wait.rows = shape.rows;
  wait.columns = paths * 2;
  wait.name = "source_waits";
  wait.meaning = rows_of +
                 "for each path, packets that have not returned, and cycle of the last return or of the first "
                 "of these packets";
  waits = declare<u32>(net, wait);
  shape.columns = kGood;
  shape.name = "source_good";
  shape.meaning = rows_of + "path of an unmarked packet that has returned and was not used; 255: none";
  shape.fill = shape.highest = kNoPath;
  good = declare<u8>(net, shape);
  shape.columns = kRow;
  shape.name = "source_rows";
  shape.meaning = rows_of + "destination router, cycle of the last packet, its path, paths that have returned unmarked";
  shape.fill = kNone;
  shape.highest = std::numeric_limits<double>::max();
  shape.or_none = true;
  rows = declare<u32>(net, shape);
}

}  // namespace flitgym::routing::graph
