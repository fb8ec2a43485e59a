// Flowlets. A flow keeps its minimal port at a router until the router sees no packet of the flow for `gap_ns`. The
// next packet begins a new flowlet and draws a port with equal probability. Congested paths delay their packets, which
// makes gaps, so flows leave congested paths without any measurement.
//
// Sources: Sinha, Kandula, Katabi, "Harnessing TCP's burstiness with flowlet switching", HotNets 2004. Vanini, Pan,
// Alizadeh, Taheri, Edsall, "Let it flow: resilient asymmetric load balancing with flowlet switching", NSDI 2017.
//
// A router has a table of `entries` entries, indexed by a hash of the flow. Flows that share an entry share their gaps,
// as in LetFlow's switches. A flow draws a port if the port of a shared entry is not minimal for it.
//
// Differences from LetFlow: every router has a table, not only the leaf switches. LetFlow tests an age bit
// periodically, while the table here has the exact time of the last packet.
#include "routing/graph/flows.hpp"

namespace flitgym::routing::graph::flowlet {

constexpr u16 kNoPort = 0xffff;

struct Flowlet : MinimalPorts {
  struct Rule : ComponentData {
    Flows flows;
    u32 entries = 0, gap_cycles = 0;
    Kept<u32> last;  // cycle of the last packet
    Kept<u16> port;  // kNoPort: unused entry
  };
  static u32 select(const Head& at, const Rule& rule, const Congestion&, const Offered<>& offered) {
    if (offered.count == 1) return 0;
    const u64 flow = rule.flows.name(at.net, at.s, at.id);
    const std::size_t entry =
        std::size_t{at.router} * rule.entries + rule.flows.index(at.net, flow, at.router, rule.entries);
    u16& port = rule.port.of(at.s)[entry];
    u32 &last = rule.last.of(at.s)[entry], k = offered.find(port);
    if (port == kNoPort || at.now - last > rule.gap_cycles || k == offered.count)
      k = below(route_draw(at.net, at.packet, 0), offered.count);
    port = static_cast<u16>(offered[k]);
    last = at.now;
    return k;
  }
};

static RoutingFacts setup(const Params& params, Network& net, Flowlet::Rule& rule) {
  rule.flows = flows_of(params);
  rule.entries = params.count("entries");
  rule.gap_cycles = static_cast<u32>(params.real("gap_ns") / net.cycle_ns);
  rule.last = declare<u32>(net, {.name = "flowlet_last",
                                 .meaning = "cycle of the last packet of each entry of the flowlet table",
                                 .per = Per::kRouter,
                                 .columns = rule.entries});
  rule.port = declare<u16>(net, {.name = "flowlet_port",
                                 .meaning = "router-local port of each entry of the flowlet table; 65535: unused",
                                 .per = Per::kRouter,
                                 .columns = rule.entries,
                                 .fill = kNoPort,
                                 .highest = kNoPort});
  return facts_of_minimal_paths(net);
}

const Register<RoutingSpec> entry(minimal_paths<Flowlet>({
    .name = "flowlet",
    .summary = "a shortest path per flow, drawn again after each gap between its packets (LetFlow)",
    .params = {flow_param(), hash_param(),
               real("gap_ns", 500, 0, 1e9, "ns",
                    "least time without a packet that ends a flowlet at a router; LetFlow recommends about the "
                    "round-trip time"),
               integer("entries", 1024, 1, 1 << 16, "", "size of the flowlet table of a router")},
    .setup = with_rule<setup>,
}));

}  // namespace flitgym::routing::graph::flowlet
