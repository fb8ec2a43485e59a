// A network from a file or from arrays. Breadth-first search gives its distances.
#include <set>

#include "readers/fabric.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"

namespace flitgym::topology::file_graph {

// Routers 0 .. n-1; a link per pair of entries, a terminal per entry of `terminals`.
Fabric from_arrays(const std::vector<u32>& links, const std::vector<u32>& terminals) {
  if (links.size() % 2)
    throw ConfigError("topology.graph.links: ", links.size(), " numbers do not form pairs of routers");
  u32 routers = 0;
  for (const auto* list : {&links, &terminals})
    for (const u32 r : *list) routers = std::max(routers, r + 1);
  Fabric fabric;
  for (u32 r = 0; r < routers; r++) fabric.nodes.push_back({std::to_string(r), false, 0, 0});
  for (std::size_t k = 0; k < links.size(); k += 2) {
    worked();
    fabric.cables.push_back({links[k], kNone, links[k + 1], kNone, -1, -1, "", 0});
  }
  for (u32 t = 0; t < terminals.size(); t++) {
    fabric.nodes.push_back({std::to_string(t), true, 0, 0});
    fabric.cables.push_back({routers + t, kNone, terminals[t], kNone, -1, -1, "", 0});
  }
  return fabric;
}

// Attaches `per_router` terminals to every router, on the ports after its links.
void add_terminals(Fabric& fabric, u32 per_router) {
  const auto routers = static_cast<u32>(fabric.nodes.size());
  std::set<std::string> names;
  for (const Fabric::Node& node : fabric.nodes) names.insert(node.name);
  for (u32 r = 0; r < routers; r++)
    for (u32 k = 0; k < per_router; k++) {
      worked();
      fabric.cables.push_back({static_cast<u32>(fabric.nodes.size()), kNone, r, kNone, -1, -1, "", 0});
      std::string name = fabric.nodes[r].name + "." + std::to_string(k);
      while (!names.insert(name).second) name += "'";  // a switch has this name
      fabric.nodes.push_back({name, true, 0, 0});
      if (fabric.nodes[r].ports > 0) fabric.nodes[r].ports++;
    }
}

// Gives cables without a port number the free ports, in order.
void number_ports(Fabric& fabric) {
  std::vector<std::vector<u8>> taken(fabric.nodes.size());
  const auto take = [&](u32 node, u32 port) {
    if (taken[node].size() <= port) taken[node].resize(port + 1, 0);
    taken[node][port] = 1;
  };
  for (const Fabric::Cable& c : fabric.cables) {
    if (c.a_port != kNone) take(c.a, c.a_port);
    if (c.b_port != kNone) take(c.b, c.b_port);
  }
  std::vector<u32> next(fabric.nodes.size(), 0);
  const auto give = [&](u32 node, u32& port) {
    if (port != kNone) return;
    u32& n = next[node];
    while (n < taken[node].size() && taken[node][n]) n++;
    port = n;
    take(node, n);
  };
  for (Fabric::Cable& c : fabric.cables) {
    worked(4);
    give(c.a, c.a_port);
    give(c.b, c.b_port);
  }
  for (u32 node = 0; node < fabric.nodes.size(); node++)
    fabric.nodes[node].ports = std::max<u32>(fabric.nodes[node].ports, static_cast<u32>(taken[node].size()));
}

void wire(const Params& params, Wiring& w) {
  const std::string& path = params.text("file");
  const std::vector<u32> links = params.counts("links"), terminals = params.counts("terminals");
  const u32 per_router = params.count("terminals_per_router");
  if (path.empty() == (links.empty() && terminals.empty()))
    throw ConfigError(
        "topology.graph.file: give a file, or the arrays topology.links and topology.terminals, and not both");
  Fabric fabric = path.empty() ? from_arrays(links, terminals) : read_fabric(path, params.text("format"));
  const std::string origin = path.empty() ? "topology.graph.links" : path;
  const bool has_hosts =
      std::any_of(fabric.nodes.begin(), fabric.nodes.end(), [](const auto& node) { return node.host; });
  if (has_hosts && per_router > 0)
    throw ConfigError("topology.graph.terminals_per_router: ", per_router, ", but ", origin,
                      " names its terminals; leave it out");
  if (!has_hosts && per_router == 0)
    throw ConfigError(origin,
                      ": it names switches but no hosts; set topology.terminals_per_router, or name hosts "
                      "(topology.terminals, or the type of a node)");
  if (path.empty()) check_fabric(fabric, origin);
  if (!has_hosts) add_terminals(fabric, per_router);
  if (path.empty()) check_connected(fabric, origin);
  number_ports(fabric);

  std::vector<u32> id(fabric.nodes.size(), kNone), ports;
  for (u32 node = 0; node < fabric.nodes.size(); node++) {
    if (fabric.nodes[node].host) continue;
    id[node] = static_cast<u32>(ports.size());
    ports.push_back(fabric.nodes[node].ports);
    w.router_names.push_back(fabric.nodes[node].name);
  }
  w.resize(ports);
  // Terminals are numbered in the order in which they are named, not in that of their cables.
  std::vector<const Fabric::Cable*> cable_of(fabric.nodes.size(), nullptr);
  u64 digest = 0;
  const auto note = [&](u64 word) { digest = mix64(digest ^ word) + 0x9e3779b97f4a7c15ull; };
  for (const Fabric::Cable& c : fabric.cables) {
    worked();
    note(u64{c.a} << 32 | c.b), note(u64{c.a_port} << 32 | c.b_port), note(std::bit_cast<u64>(c.latency_ns)),
        note(std::bit_cast<u64>(c.bandwidth_gb_per_s));
    if (c.kind == "global") note(1);  // the kind decides latency and bandwidth where the file gives none
    const u32 host = fabric.nodes[c.a].host ? c.a : fabric.nodes[c.b].host ? c.b : kNone;
    if (host != kNone) cable_of[host] = &c;
    else
      w.connect({id[c.a], c.a_port}, {id[c.b], c.b_port},
                {c.kind == "global" ? PortKind::kGlobal : PortKind::kLocal, c.latency_ns, c.bandwidth_gb_per_s});
  }
  for (u32 node = 0; node < fabric.nodes.size(); node++) {
    if (!fabric.nodes[node].host) continue;
    const Fabric::Cable& c = *cable_of[node];
    w.attach_terminal(c.a == node ? Wiring::End{id[c.b], c.b_port} : Wiring::End{id[c.a], c.a_port},
                      {PortKind::kTerminal, c.latency_ns, c.bandwidth_gb_per_s});
    w.terminal_names.push_back(fabric.nodes[node].name);
  }
  if (path.empty()) w.router_names.clear(), w.terminal_names.clear();  // numbers serve as names
  w.digest = digest;
}

const Register<TopologySpec> entry({
    "graph",
    "any network, from a file or from arrays; distances by breadth-first search",
    {
        choice("file", "", {},
               "edge list (CSV, or a pair of names per line), output of ibnetdiscover, or ibsim net file"),
        choice("format", "auto", {"auto", "csv", "edges", "ibnetdiscover", "ibsim"},
               "format of the file; auto = by its name, or else by its beginning"),
        integer_list("links", {}, 0, (1 << 24) - 1, "",
                     "instead of a file: the routers that each link joins, pair after pair"),
        integer_list("terminals", {}, 0, (1 << 24) - 1, "", "with links: the router of each terminal"),
        integer("terminals_per_router", 0, 0, 511, "",
                "terminals to attach to each router, if the file or the arrays name none"),
    },
    wire,
    {{"links",
      std::vector<double>{0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 5, 1, 6, 2, 7, 3, 8, 4, 9, 5, 7, 7, 9, 9, 6, 6, 8, 8, 5}},
     {"terminals_per_router", i64{1}}},  // Petersen's graph
});

}  // namespace flitgym::topology::file_graph
