// A forwarding table, simulated flit by flit: one output port per switch and destination, or a whole route per source
// and destination. The table's layers or lanes determine the VC class of a packet. A table with a cycle in its channel
// dependencies is refused, unless allow_cycles is set.
//
// Links that fail or recover during the run (failures.events): the engine computes a table for each state of the links,
// and all switches change to it at once. Packets of earlier tables remain in the network, and the dependencies of two
// tables together may have a cycle. Therefore each table has an order of its channels and layers that its dependencies
// follow, layer by layer. A packet takes the present table's next hop in its own layer if this hop follows the present
// order, or else in the next layer. After the last layer it escapes to one more VC class, of up*/down* paths along
// links that never fail (simcore/routing/escape.hpp), and stays there. A packet also escapes after as many hops as the
// longest route of any table has.
//
// This is free of deadlock for any number of changes. After each change, all heads that have not begun to leave are
// routed again (RoutingFacts::asks_again). So each head waits for the escape class, or for a channel that comes later
// in the present order, regardless of the tables that led it there. The escape class waits only for itself, in its own
// order. With wormhole flow control, the flits of a packet that has begun to leave span two channels of an earlier
// table. So wormhole is refused for packets of several flits (src/core/router_setup.cpp).
#include "simcore/routing/choice.hpp"
#include "simcore/routing/escape.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/tables/engine.hpp"
#include "simcore/tables/walk.hpp"
#include "simcore/workload.hpp"
#include "tables/dependencies.hpp"

namespace flitgym::routing::any::table {

constexpr u32 kPortBits = 9, kHere = 0x7f, kAhead = 6;
static_assert(kMaxRadix <= 1u << kPortBits && kMaxVcs < kHere);

// The table of one state of the links.
struct Sweep {
  std::shared_ptr<const tables::ForwardingTable> table;
  // One word per switch and destination, in the simple case (pack_hops): the port, and above it the layer in which
  // packets start here. The layer is kHere if the destination is attached to this switch. A hop then takes one cache
  // miss instead of three.
  std::vector<u16> hop;
  u16 layer_of_vc[kMaxVcs] = {};
  // [switches, terminals] addresses with the shortest, and with the longest routes; one bit per address
  std::vector<u8> nearest, farthest;
  // [router_ports, classes of the table] if links change: place of a class of a channel in the table's order. 0: the
  // channel is down. Empty: the table has a cycle, which allow_cycles permits.
  std::vector<u32> place;

  u32 place_of(u32 port, u32 vc_class) const {
    const u32 classes = table->classes();  // another table may have more; packets then follow the order of class 0
    return place[std::size_t{port} * classes + (vc_class < classes ? vc_class : 0)];
  }
};

struct Rule : ComponentData {
  std::vector<std::shared_ptr<const Sweep>> sweeps;  // by epoch
  Kept<u8> address;        // [packets] which of the destination's addresses the packet goes to
  double small_bytes = 0;  // messages below this size take one of the shortest routes
  double flit_bytes = 0;
  u32 longest = 0;       // hops of the longest route of all tables
  graph::Escape escape;  // if links change
  bool escapes() const { return !escape.place.empty(); }
};

u32 bit_of(u32 set, u32 n) {
  while (n--) set &= set - 1;
  return static_cast<u32>(__builtin_ctz(set));
}

u32 message_bytes(const Network& net, const State& s, const Rule& rule, u32 packet) {
  if (net.workload) return static_cast<u32>(std::min<u64>(s.payloads[packet].bytes, 0xffffffffu));
  return static_cast<u32>(s.packets[packet].flits * rule.flit_bytes);
}

// Destination address of the packet, drawn at every request until the packet has left its first switch.
u32 destination_of(const Network& net, State& s, const Rule& rule, const Sweep& sweep, u32 packet, u32 router) {
  const Packet& p = s.packets[packet];
  const tables::ForwardingTable& table = *sweep.table;
  if (!table.lmc) return p.destination;
  u8& address = rule.address.of(s)[packet];
  if (p.hops == 0) {
    const std::size_t pair = std::size_t{router} * net.terminals + p.destination;
    const u32 all = (1u << (1u << table.lmc)) - 1;
    u32 set = rule.small_bytes <= 0                                    ? all
              : message_bytes(net, s, rule, packet) < rule.small_bytes ? sweep.nearest[pair]
                                                                       : sweep.farthest[pair];
    if (!set) set = all;  // the switch has no terminals
    address = static_cast<u8>(bit_of(set, below(route_draw(net, p, 0), static_cast<u32>(__builtin_popcount(set)))));
  }
  return p.destination << table.lmc | address;
}

// Output port of the packet. A snapshot may place a packet where the table has no route. It gets port 0, and the user
// of that snapshot must judge the result.
u32 port_of(const tables::ForwardingTable& table, u32 source, u32 router, u32 d, u32 hops) {
  if (!table.source_routed()) {
    const u16 port = table.at(router, d);
    return port == tables::kNoPort ? 0 : port;
  }
  const u64* const first = &table.route_first[std::size_t{source} * table.destinations() + d];
  return first[0] + hops < first[1] ? table.route_port[first[0] + hops] : 0;
}

// The first class from `vc_class` on in which a hop of the present table follows the order of this table. kNone: the
// packet must escape.
u32 class_in_order(const Network& net, const Rule& rule, const Sweep& sweep, const Packet& p, u32 input, u32 in_class,
                   u32 output, u32 vc_class) {
  if (!net.is_link(input)) return vc_class;
  if (p.hops >= rule.longest) return kNone;
  if (sweep.place.empty()) return vc_class;
  const u32 place = sweep.place_of(net.channels[input].peer, in_class);
  do
    if (place < sweep.place_of(output, vc_class)) return vc_class;
  while (++vc_class < sweep.table->classes());
  return kNone;
}

Hop escape(const Network& net, const Rule& rule, const Packet& p, u32 router, u32 input, bool escaped) {
  u16 ports[kMaxRadix];
  const u32 n = rule.escape.ports(net, router, escaped ? input : kNone, net.terminal_router[p.destination], ports);
  return {ports[(p.source + p.sequence + router) % n], net.routing_facts.classes - 1};
}

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  const bool escapes = rule.escapes();
  const Sweep& sweep = *rule.sweeps[escapes ? s.part.totals.epoch : 0];
  const tables::ForwardingTable& table = *sweep.table;
  const u32 destinations = table.destinations();
  if (!sweep.hop.empty()) {
    const u32 count = b.count;
    const u32 *const ids = b.packet.data(), *const routers = b.router.data();
    const Packet* const packets = s.packets.data();
    const u16 *const hops = sweep.hop.data(), *const in_vc = b.in_vc.data();
    u16 *const out_port = b.out_port.data(), *const out_class = b.out_class.data();
    for (u32 i = 0; i < count; i++) {
      if (i + kAhead < count)
        __builtin_prefetch(
            &hops[std::size_t{routers[i + kAhead]} * destinations + packets[ids[i + kAhead]].destination]);
      const Packet& p = packets[ids[i]];
      const u32 hop = hops[std::size_t{routers[i]} * destinations + p.destination], layer = hop >> kPortBits;
      out_port[i] = static_cast<u16>(hop & ((1u << kPortBits) - 1));
      // A packet keeps its layer, which its VC determines.
      out_class[i] = layer == kHere ? static_cast<u16>(kAnyClass)
                     : p.hops == 0  ? static_cast<u16>(layer)
                                    : sweep.layer_of_vc[in_vc[i]];
    }
    return;
  }
  route_heads(net, s, b, [&](const Head& at) {
    const Packet& p = at.packet;
    const u32 input = net.port(at.router, at.in_port), in_class = at.in_vc % net.routing_facts.classes;
    if (escapes && in_class + 1 == net.routing_facts.classes && net.is_link(input))
      return escape(net, rule, p, at.router, input, true);
    const u32 d = destination_of(net, s, rule, sweep, at.id, at.router), source = net.terminal_router[p.source];
    const u32 port = port_of(table, source, at.router, d, p.hops);
    // A packet keeps its layer. The VC gives it without a lookup in the table of layers.
    u32 vc_class = table.lanes || p.hops == 0 ? table.layer_of(source, p.source, d) : in_class;
    if (table.lanes) {
      const std::size_t turn = (std::size_t{at.router} * table.lane_ports + at.in_port) * table.lane_ports + port;
      vc_class = table.lane[turn * table.layers + vc_class];
    }
    if (escapes) vc_class = class_in_order(net, rule, sweep, p, input, in_class, net.port(at.router, port), vc_class);
    return vc_class == kNone ? escape(net, rule, p, at.router, input, false) : Hop{port, vc_class};
  });
}

// Finds the addresses with the shortest and with the longest routes, for every pair of a switch and a terminal.
void sort_addresses(const tables::ChannelGraph& g, Sweep& sweep) {
  const tables::ForwardingTable& table = *sweep.table;
  const u32 addresses = 1u << table.lmc;
  const std::size_t pairs = std::size_t{g.switches} * g.terminals;
  claim_memory(pairs * 2, "routing.table", "the addresses of ", pairs, " pairs");
  sweep.nearest.assign(pairs, 0);
  sweep.farthest.assign(pairs, 0);
  for (u32 s = 0; s < g.switches; s++)
    for (u32 t = 0; g.terminals_at(s) && t < g.terminals; t++) {
      u32 least = kNone, most = 0, length[8];
      for (u32 a = 0; a < addresses; a++) {
        length[a] = 0;
        tables::each_channel(g, table, s, t << table.lmc | a, [&](u32) { length[a]++; });
        least = std::min(least, length[a]);
        most = std::max(most, length[a]);
      }
      for (u32 a = 0; a < addresses; a++) {
        if (length[a] == least) sweep.nearest[std::size_t{s} * g.terminals + t] |= static_cast<u8>(1u << a);
        if (length[a] == most) sweep.farthest[std::size_t{s} * g.terminals + t] |= static_cast<u8>(1u << a);
      }
    }
}

void pack_hops(const tables::ChannelGraph& g, Sweep& sweep) {
  const tables::ForwardingTable& table = *sweep.table;
  if (table.lmc || table.source_routed() || table.lanes || table.layer_by == tables::LayerBy::kTerminal ||
      table.layers > kMaxVcs)
    return;
  claim_memory(table.port.size() * sizeof(u16), "routing.table", "a table of ", g.switches, " switches x ",
               table.destinations(), " destinations");
  sweep.hop.resize(table.port.size());
  for (u32 s = 0; s < g.switches; s++)
    for (u32 d = 0; d < table.destinations(); d++) {
      const u16 port = table.at(s, d);  // kNoPort: no packet to d passes this switch
      const u32 layer = g.terminal_switch[d] == s ? kHere : table.layer_of(s, 0, d);
      sweep.hop[std::size_t{s} * table.destinations() + d] =
          port == tables::kNoPort ? u16{0} : static_cast<u16>(layer << kPortBits | port);
    }
  for (u32 vc = 0; vc < kMaxVcs; vc++) sweep.layer_of_vc[vc] = static_cast<u16>(vc % table.layers);
}

std::shared_ptr<const tables::ForwardingTable> table_of(const Params& params, const Network& net,
                                                        const tables::ChannelGraph& g) {
  if (net.given_table) {
    tables::check_table(g, *net.given_table);
    return net.given_table;
  }
  if (!params.text("file").empty())
    throw ConfigError(
        "routing.table.file: '", params.text("file"),
        "' cannot be read by the core; flitgym.simcore.Simulation reads the file and hands the table to the core");
  tables::EngineChoice choice{params.text("engine"), {}, net.given_demand, net.seed};
  if (!params.text("demand").empty() && !choice.demand)
    throw ConfigError(
        "routing.table.demand: '", params.text("demand"),
        "' cannot be read by the core; flitgym.simcore.Simulation reads it and hands the matrix to the core");
  for (const ParamSpec& p : tables::all_engine_params()) choice.values[p.key] = params.value(p.key);
  return std::make_shared<const tables::ForwardingTable>(tables::make_table("routing.table", choice, g));
}

// The table of the links of `g`. Throws ConfigError if it can deadlock.
std::shared_ptr<const Sweep> make_sweep(const Params& params, const Network& net, const tables::ChannelGraph& g) {
  auto sweep = std::make_shared<Sweep>();
  sweep->table = table_of(params, net, g);
  const tables::ForwardingTable& table = *sweep->table;
  const bool changes = net.graphs.size() > 1, checks = !params.boolean("allow_cycles");
  if (table.lmc > 3) throw ConfigError("routing.table: 2^", table.lmc, " addresses per terminal; valid are up to 2^3");
  if (changes && (table.bubble || table.source_routed()))
    throw ConfigError("routing.table: packets keep the whole route of engine ", table.engine,
                      ", or rely on bubble flow control, so they cannot change to another table when links fail "
                      "(failures.events); use another engine, such as dfsssp");
  if (std::vector<u32> place; checks || changes) {
    const auto cycle = find_cycle(g, table, changes ? &place : nullptr);
    if (checks && !cycle.empty())
      throw ConfigError("routing.table: the table of engine ", table.engine,
                        " can deadlock: these channels wait for each other in a cycle: ", tables::cycle_name(g, cycle),
                        "; use an engine with virtual layers (dfsssp, lash, nue), or set routing.allow_cycles=true to "
                        "run the table anyway");
    if (changes && cycle.empty()) {
      const u32 classes = table.classes();
      const u64 places = u64{net.router_ports} * classes;
      claim_memory(places * sizeof(u32), "routing.table", "the order of ", places, " channels");
      sweep->place.assign(places, 0);
      for (u32 c = 0; c < g.channels; c++)
        std::copy_n(&place[std::size_t{c} * classes], classes,
                    &sweep->place[std::size_t{net.port(g.from[c], g.port[c])} * classes]);
    }
  }
  if (table.lmc && params.text("addresses") == "by_size") sort_addresses(g, *sweep);
  if (!changes) pack_hops(g, *sweep);
  return sweep;
}

RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  if (net.graphs.size() > 1) {
    if (net.given_table)
      throw ConfigError(
          "routing.table: a table from a file or from Python does not change during a run, so it cannot follow "
          "failures.events; set routing.engine instead, which computes a table for each state of the links");
    rule.escape = graph::make_escape(net, "routing.table");
  }
  RoutingFacts facts{0, 0};
  facts.minimal = !rule.escapes();
  for (u32 e = 0; e < net.graphs.size(); e++) {
    const Graph& present = *net.graphs[e];
    if (const u32 same = first_alike(net, e); same < e) {
      rule.sweeps.push_back(rule.sweeps[same]);
      continue;
    }
    const tables::ChannelGraph g = tables::channel_graph(net, present);
    try {
      rule.sweeps.push_back(make_sweep(params, net, g));
    } catch (const ConfigError& error) {
      if (present.down.empty()) throw;
      throw ConfigError(error.what(), " (with the links from ", present.from * net.cycle_ns,
                        " ns on, by failures.events)");
    }
    const tables::ForwardingTable& table = *rule.sweeps.back()->table;
    if (table.lmc != rule.sweeps[0]->table->lmc)
      throw ConfigError("routing.table: engine ", table.engine,
                        " gives terminals another number of addresses when links fail (failures.events)");
    const tables::Lengths lengths = tables::route_lengths(g, table);
    facts.classes = std::max(facts.classes, table.classes());
    facts.max_hops = std::max(facts.max_hops, lengths.longest);
    facts.minimal &= lengths.minimal;
    facts.bubble = table.bubble;
    if (!table.bubble) continue;
    net.ring_of_output.assign(net.radix, kNoRing);
    net.ring_of_input.assign(net.radix, kNoRing);
    for (u32 c = 0; c < g.channels; c++)
      if (g.ring[c] != kNoRing) {
        net.ring_of_output[g.port[c]] = g.ring[c];
        net.ring_of_input[g.port[g.reverse[c]]] = g.ring[c];
      }
  }
  rule.longest = facts.max_hops;
  if (rule.escapes()) {
    facts.classes++;
    facts.max_hops += rule.escape.longest;
    facts.escapes = facts.asks_again = true;
  }
  if (const u32 lmc = rule.sweeps[0]->table->lmc) {
    rule.address = declare<u8>(net, {.name = "address",
                                     .meaning = "which of its destination's addresses a packet goes to",
                                     .per = Per::kPacket,
                                     .highest = (1u << lmc) - 1.0});
    rule.flit_bytes = net.flit_bytes;
    if (params.text("addresses") == "by_size") rule.small_bytes = params.real("small_message_bytes");
  }
  return facts;
}

std::vector<ParamSpec> params_of_engines() {
  const std::vector<ParamSpec> own{
      choice("engine", "dfsssp", {}, "engine that computes the table: " + join(registered_names<tables::EngineSpec>())),
      choice("file", "", {},
             "file with a table, instead of an engine: .npz of ForwardingTable.save(), or a dump of a subnet manager's "
             "linear forwarding tables"),
      choice("demand", "", {},
             "traffic matrix that the engine balances, instead of all-to-all: .npz or MatrixMarket, terminals x "
             "terminals; or motif:NAME"),
      flag("allow_cycles", false,
           "run a table with a cycle in its channel dependencies; if it deadlocks, the watchdog reports where"),
      choice("addresses", "by_size", {"by_size", "any"},
             "choice among several addresses of a destination: by_size = small messages take the shortest routes, "
             "others the longest (PARX); any = drawn for each packet"),
      real("small_message_bytes", 512, 0, 1e12, "bytes",
           "with addresses=by_size: messages of fewer bytes are small; without a workload, each packet is a message"),
  };
  return joined(own, tables::all_engine_params());
}

const Register<RoutingSpec> entry({
    .name = "table",
    .summary = "a forwarding table, made by an engine or read from a file",
    .setup = with_rule<setup>,
    .route = route,
    .candidates = only_candidate<route>,
    .graph = true,
    .more_params = params_of_engines,
});

}  // namespace flitgym::routing::any::table
