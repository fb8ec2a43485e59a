#include "simcore/workload.hpp"

namespace flitgym {

// Terminals, node after node, so that the NICs of a node are at different routers. The routers with terminals are
// divided into sets of `nics` consecutive ones. Node i of a set has terminal i of each router of the set.
static std::vector<u32> rails(const std::vector<u32>& router, u32 nics) {
  std::vector<std::vector<u32>> leaves;  // the terminals of each router that has some
  std::vector<u32> leaf(router.empty() ? 0 : *std::max_element(router.begin(), router.end()) + 1, kNone);
  for (u32 t = 0; t < router.size(); t++) {
    u32& k = leaf[router[t]];
    if (k == kNone) {
      k = static_cast<u32>(leaves.size());
      leaves.emplace_back();
    }
    leaves[k].push_back(t);
  }
  const std::string where =
      "workload.node_terminals: rails takes the " + std::to_string(nics) + " NICs of a node from as many routers; ";
  if (leaves.size() % nics != 0)
    throw ConfigError(where, leaves.size(),
                      " routers with terminals are no multiple of this; choose workload.nics_per_node accordingly, or "
                      "workload.node_terminals=consecutive");
  std::vector<u32> order;
  for (std::size_t first = 0; first < leaves.size(); first += nics) {
    for (u32 j = 1; j < nics; j++)
      if (leaves[first + j].size() != leaves[first].size())
        throw ConfigError(where, "two routers of a set have different numbers of terminals, ", leaves[first].size(),
                          " and ", leaves[first + j].size(), "; use workload.node_terminals=consecutive");
    for (u32 i = 0; i < leaves[first].size(); i++)
      for (u32 j = 0; j < nics; j++) order.push_back(leaves[first + j][i]);
  }
  return order;
}

std::vector<ParamSpec> node_params() {
  return {
      integer("ranks_per_node", 1, 1, 1024, "",
              "accelerators of a node, which run one rank each; messages between ranks of a node take the intra-node "
              "link instead of the network"),
      integer("nics_per_node", 0, 0, 1024, "",
              "NICs of a node, which are terminals of the network and divide ranks_per_node; 0 = a NIC per rank; "
              "consecutive ranks share a NIC"),
      choice("node_terminals", "consecutive", {"consecutive", "rails"},
             "terminals that form a node: consecutive = consecutive numbers; rails = one terminal of each of "
             "nics_per_node consecutive routers"),
      // NVLink 4 (NVIDIA H100 Tensor Core GPU Architecture, 2022): 18 links of 25 GB/s in each direction.
      real("intra_node_gb_per_s", 450, 1e-3, 1e6, "GB/s",
           "bandwidth of each direction of a rank's port at the intra-node link"),
      // NCCL, src/graph/tuning.cc, hwLat: 0.6 us over NVLink with the protocol LL.
      real("intra_node_latency_ns", 600, 0, 1e9, "ns", "latency of the intra-node link"),
      flag("share_nodes", false, "several jobs may have ranks on a node, but never on the same NIC"),
  };
}

Nodes make_nodes(const Params& params, const Network& net) {
  Nodes nodes;
  nodes.ranks = params.count("ranks_per_node");
  const u32 given = params.count("nics_per_node");
  nodes.nics = given == 0 ? nodes.ranks : given;
  if (nodes.ranks % nodes.nics != 0)
    throw ConfigError("workload.nics_per_node: ", nodes.nics,
                      " does not divide workload.ranks_per_node = ", nodes.ranks,
                      "; give a divisor, or 0 for a NIC per rank");
  nodes.link_gb_per_s = params.real("intra_node_gb_per_s");
  nodes.link_latency = static_cast<u64>(params.real("intra_node_latency_ns") * 1000 + 0.5);

  const bool failed = !net.terminal_number.empty();
  const std::vector<u32>& router = failed ? net.router_before : net.terminal_router;
  const auto total = static_cast<u32>(router.size());
  std::vector<u32> now(total, kNone);  // the present number of each terminal
  for (u32 t = 0; t < net.terminals; t++) now[failed ? net.terminal_number[t] : t] = t;
  // Numbers that the terminals have if none fails, node after node. A node of a machine does not change if another node
  // fails.
  std::vector<u32> order(total / nodes.nics * nodes.nics);
  std::iota(order.begin(), order.end(), 0u);
  if (params.text("node_terminals") == "rails") order = rails(router, nodes.nics);
  nodes.of_terminal.assign(net.terminals, kNone);
  for (std::size_t first = 0; first < order.size(); first += nodes.nics) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first), end = begin + nodes.nics;
    if (std::any_of(begin, end, [&](u32 t) { return now[t] == kNone; })) continue;
    for (auto t = begin; t != end; ++t) {
      nodes.of_terminal[now[*t]] = nodes.count;
      nodes.terminals.push_back(now[*t]);
    }
    nodes.count++;
  }
  if (nodes.count == 0)
    throw ConfigError("workload.nics_per_node: no node with ", nodes.nics, " NICs fits the ", net.terminals,
                      " working terminals of the network; give fewer NICs per node");
  return nodes;
}

}  // namespace flitgym
