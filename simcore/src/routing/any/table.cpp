// A forwarding table, simulated flit by flit: one output port per switch and destination, or a whole route per source
// and destination. The table's layers or lanes determine the VC class of a packet. A table with a cycle in its channel
// dependencies is refused, unless allow_cycles is set.
#include "routing/choice.hpp"
#include "routing/relation.hpp"
#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/workload.hpp"
#include "tables/dependencies.hpp"
#include "tables/engine.hpp"
#include "tables/walk.hpp"

namespace flitgym::routing::any::table {

namespace {

constexpr u32 kPortBits = 9, kHere = 0x7f, kAhead = 6;
static_assert(kMaxRadix <= 1u << kPortBits && kMaxVcs < kHere);

struct Rule : ComponentData {
  std::shared_ptr<const tables::ForwardingTable> table;
  Kept<u8> address;        // [packets] which of the destination's addresses the packet goes to
  double small_bytes = 0;  // messages below this size take one of the shortest routes
  double flit_bytes = 0;
  // One word per switch and destination, in the simple case (pack_hops): the port, and above it the layer in which
  // packets start here. The layer is kHere if the destination is attached to this switch. A hop then takes one cache
  // miss instead of three.
  std::vector<u16> hop;
  u16 layer_of_vc[kMaxVcs] = {};
  // [switches, terminals] addresses with the shortest, and with the longest routes; one bit per address
  std::vector<u8> nearest, farthest;
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
u32 destination_of(const Network& net, State& s, const Rule& rule, u32 packet, u32 router) {
  const Packet& p = s.packets[packet];
  const tables::ForwardingTable& table = *rule.table;
  if (!table.lmc) return p.destination;
  u8& address = rule.address.of(s)[packet];
  if (p.hops == 0) {
    const std::size_t pair = std::size_t{router} * net.terminals + p.destination;
    const u32 all = (1u << (1u << table.lmc)) - 1;
    u32 set = rule.small_bytes <= 0                                    ? all
              : message_bytes(net, s, rule, packet) < rule.small_bytes ? rule.nearest[pair]
                                                                       : rule.farthest[pair];
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

void route(const Network& net, State& s, Batch& b) {
  const auto& rule = static_cast<const Rule&>(*net.relation);
  const tables::ForwardingTable& table = *rule.table;
  const u32 destinations = table.destinations();
  if (!rule.hop.empty()) {
    const u32 count = b.count;
    const u32 *const ids = b.packet.data(), *const routers = b.router.data();
    const Packet* const packets = s.packets.data();
    const u16 *const hops = rule.hop.data(), *const in_vc = b.in_vc.data();
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
                                    : rule.layer_of_vc[in_vc[i]];
    }
    return;
  }
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i];
    if (net.terminal_router[p.destination] == router) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const u32 d = destination_of(net, s, rule, b.packet[i], router), source = net.terminal_router[p.source];
    const u32 port = port_of(table, source, router, d, p.hops);
    // A packet keeps its layer. The VC gives it without a lookup in the table of layers.
    u32 vc_class = table.lanes || p.hops == 0 ? table.layer_of(source, p.source, d) : b.in_vc[i] % table.layers;
    if (table.lanes)
      vc_class =
          table
              .lane[((std::size_t{router} * table.lane_ports + b.in_port[i]) * table.lane_ports + port) * table.layers +
                    vc_class];
    choose(b, i, {port, vc_class});
  }
}

// Finds the addresses with the shortest and with the longest routes, for every pair of a switch and a terminal.
void sort_addresses(const tables::ChannelGraph& g, Rule& rule) {
  const tables::ForwardingTable& table = *rule.table;
  const u32 addresses = 1u << table.lmc;
  const std::size_t pairs = std::size_t{g.switches} * g.terminals;
  claim_memory(pairs * 2, "routing.table", "the addresses of " + std::to_string(pairs) + " pairs");
  rule.nearest.assign(pairs, 0);
  rule.farthest.assign(pairs, 0);
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
        if (length[a] == least) rule.nearest[std::size_t{s} * g.terminals + t] |= static_cast<u8>(1u << a);
        if (length[a] == most) rule.farthest[std::size_t{s} * g.terminals + t] |= static_cast<u8>(1u << a);
      }
    }
}

void pack_hops(const tables::ChannelGraph& g, Rule& rule) {
  const tables::ForwardingTable& table = *rule.table;
  if (table.lmc || table.source_routed() || table.lanes || table.layer_by == tables::LayerBy::kTerminal ||
      table.layers > kMaxVcs)
    return;
  claim_memory(table.port.size() * sizeof(u16), "routing.table",
               "a table of " + std::to_string(g.switches) + " switches x " + std::to_string(table.destinations()) +
                   " destinations");
  rule.hop.resize(table.port.size());
  for (u32 s = 0; s < g.switches; s++)
    for (u32 d = 0; d < table.destinations(); d++) {
      const u16 port = table.at(s, d);  // kNoPort: no packet to d passes this switch
      const u32 layer = g.terminal_switch[d] == s ? kHere : table.layer_of(s, 0, d);
      rule.hop[std::size_t{s} * table.destinations() + d] =
          port == tables::kNoPort ? u16{0} : static_cast<u16>(layer << kPortBits | port);
    }
  for (u32 vc = 0; vc < kMaxVcs; vc++) rule.layer_of_vc[vc] = static_cast<u16>(vc % table.layers);
}

std::shared_ptr<const tables::ForwardingTable> table_of(const Params& params, const Network& net,
                                                        const tables::ChannelGraph& g) {
  if (net.given_table) {
    tables::check_table(g, *net.given_table);
    return net.given_table;
  }
  if (!params.text("file").empty())
    throw ConfigError(
        "routing.table.file: '" + params.text("file") +
        "' cannot be read by the core; flitgym.simcore.Simulation reads the file and hands the table to the core");
  tables::EngineChoice choice{params.text("engine"), {}, net.given_demand};
  if (!params.text("demand").empty() && !choice.demand)
    throw ConfigError(
        "routing.table.demand: '" + params.text("demand") +
        "' cannot be read by the core; flitgym.simcore.Simulation reads it and hands the matrix to the core");
  for (const ParamSpec& p : tables::all_engine_params()) choice.values[p.key] = params.value(p.key);
  return std::make_shared<const tables::ForwardingTable>(tables::make_table("routing.table", choice, g));
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  if (net.graphs.size() > 1)
    throw ConfigError(
        "routing.table: a forwarding table does not change during a run, so failures.events needs another routing "
        "(links that are missing from the beginning are allowed)");
  const tables::ChannelGraph g = tables::channel_graph(net);
  auto rule = std::make_shared<Rule>();
  rule->table = table_of(params, net, g);
  const tables::ForwardingTable& table = *rule->table;
  if (table.lmc > 3)
    throw ConfigError("routing.table: 2^" + std::to_string(table.lmc) + " addresses per terminal; valid are up to 2^3");
  if (!params.boolean("allow_cycles"))
    if (const auto cycle = find_cycle(g, table); !cycle.empty())
      throw ConfigError(
          "routing.table: the table of engine " + table.engine +
          " can deadlock: these channels wait for each other in a cycle: " + tables::cycle_name(g, cycle) +
          "; use an engine with virtual layers (dfsssp, lash, nue), or set routing.allow_cycles=true to "
          "run the table anyway");
  if (table.lmc) {
    MemoryShape shape;
    shape.name = "address";
    shape.meaning = "which of its destination's addresses a packet goes to";
    shape.per = Per::kPacket;
    shape.highest = (1u << table.lmc) - 1;
    rule->address = declare<u8>(net, shape);
    rule->flit_bytes = net.flit_bytes;
    if (params.text("addresses") == "by_size") {
      rule->small_bytes = params.real("small_message_bytes");
      sort_addresses(g, *rule);
    }
  }
  pack_hops(g, *rule);
  if (table.bubble) {
    net.ring_of_output.assign(net.radix, kNoRing);
    net.ring_of_input.assign(net.radix, kNoRing);
    for (u32 c = 0; c < g.channels; c++)
      if (g.ring[c] != kNoRing) {
        net.ring_of_output[g.port[c]] = g.ring[c];
        net.ring_of_input[g.port[g.reverse[c]]] = g.ring[c];
      }
  }
  const tables::Lengths lengths = tables::route_lengths(g, table);
  RoutingFacts facts{table.classes(), lengths.longest};
  facts.minimal = lengths.minimal;
  facts.bubble = table.bubble;
  data = rule;
  return facts;
}

std::vector<ParamSpec> params_of_engines() {
  std::vector<ParamSpec> params{
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
  for (ParamSpec& p : tables::all_engine_params()) params.push_back(std::move(p));
  return params;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{
      .name = "table",
      .summary = "a forwarding table, made by an engine or read from a file",
      .setup = setup,
      .route = route,
  };
  spec.more_params = params_of_engines;
  spec.candidates = only_candidate<route>;
  spec.graph = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::any::table
