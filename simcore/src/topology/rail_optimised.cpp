// The rail-optimised fat tree of GPU clusters. A node has R network interfaces (rails). Interface j of every node of a
// pod leads to leaf j of that pod, so accelerators of equal rank in their nodes are one switch apart. Spines join the
// leaves, and optional cores join the spines.
//
// Sources: NVIDIA, DGX SuperPOD reference architectures RA-11333 (H100) and B200, "Compute fabric", where a pod is a
// scalable unit; Wang, Ghobadi, Shakeri, Zhang, Hasani, "Rail-only: A Low-Cost High-Performance Network for Training
// LLMs with Trillion Parameters" (arXiv:2307.12169), which describes rail-optimised networks in section II.
//
// Terminal  rail + R (node + nodes_per_pod pod), so consecutive terminals form a node.
// Leaf      rail + R pod with leaf_order=pod, pod + pods rail with leaf_order=rail.
//
// The switches form a fat tree (fat_tree.hpp). Only the terminals have another order.
#include "simcore/registry.hpp"
#include "simcore/topology/fat_tree.hpp"

namespace flitgym::topology::rail_optimised {

const std::string kName = "rail_optimised";

// Leaves that share their spines.
u32 block_of(const Params& params, u32 leaves) {
  const u32 block = params.count("leaves_per_spine"), cores = params.count("cores");
  const std::string given = std::to_string(block), all = std::to_string(leaves);
  if (leaves < 2) refuse(kName + ".pods", "one pod with one rail has a single leaf; set pods or rails to 2 or more");
  if (cores == 0) {
    if (block != 0 && block != leaves)
      refuse(kName + ".leaves_per_spine", given, " of the ", all,
             " leaves share their spines, but without cores nothing joins the others; set cores, or leaves_per_spine "
             "to 0");
    return leaves;
  }
  if (block < 2 || block >= leaves || leaves % block)
    refuse(kName + ".leaves_per_spine", given, "; with cores it must be a divisor of the ", all,
           " leaves (pods x rails), at least 2 and below ", all);
  return block;
}

void wire(const Params& params, Wiring& w) {
  const u32 nodes = params.count("nodes_per_pod"), rails = params.count("rails"), pods = params.count("pods");
  const u32 leaves = rails * pods, block = block_of(params, leaves), cores = params.count("cores");
  const bool by_rail = params.text("leaf_order") == "rail";
  TreeNumbers numbers{.children = {nodes, block},
                      .parents = {1, params.count("spines")},
                      .links = {1, params.count("spine_links")},
                      .local_levels = params.integer("local_levels")};
  if (cores > 0) {
    numbers.children.push_back(leaves / block);
    numbers.parents.push_back(cores);
    numbers.links.push_back(params.count("core_links"));
  }
  const auto tree = wire_tree(kName, numbers, w);

  claim_memory(u64{leaves} * nodes * 4, "topology.rail_optimised", "the order of ", u64{leaves} * nodes, " terminals");
  for (u32 pod = 0; pod < pods; pod++)
    for (u32 node = 0; node < nodes; node++, worked(rails))
      for (u32 rail = 0; rail < rails; rail++) {
        const u32 leaf = by_rail ? pod + pods * rail : rail + rails * pod;
        w.attach_terminal({leaf, node});
        tree->at_leaves.push_back(leaf * nodes + node);
      }

  // A group is a pod. The spines and the cores are divided among the pods.
  group_switches(*tree, pods, w);
  for (u32 leaf = 0; leaf < leaves; leaf++) w.router_group[leaf] = by_rail ? leaf % pods : leaf / rails;
  w.data = tree;
}

const Register<TopologySpec> entry({
    .name = kName,
    .summary =
        "fat tree in which the interfaces of a node lead to different leaves, one per rail (NVIDIA DGX SuperPOD)",
    .params =
        {
            integer("nodes_per_pod", 8, 1, kMaxRadix, "", "nodes below the leaves of a pod (scalable unit)"),
            integer("rails", 4, 1, kMaxRadix, "per node", "network interfaces of a node, and leaves of a pod"),
            integer("pods", 2, 1, 65536, "", "pods (scalable units)"),
            integer("spines", 4, 1, kMaxRadix, "per leaf", "spines above a leaf"),
            integer("spine_links", 1, 1, kMaxRadix, "per leaf and spine", "parallel cables"),
            integer("leaves_per_spine", 0, 0, kMaxRadix, "per spine",
                    "leaves that share their spines; 0 = all leaves; with cores: a divisor of pods x rails"),
            integer("cores", 0, 0, kMaxRadix, "per spine", "switches of a third level above a spine; 0 = two levels"),
            integer("core_links", 1, 1, kMaxRadix, "per spine and core", "parallel cables"),
            choice(
                "leaf_order", "pod", {"pod", "rail"},
                "order of the leaves, of which leaves_per_spine consecutive ones share their spines: pod = the leaves "
                "of a pod follow each other; rail = those of a rail"),
            integer("local_levels", -1, -1, 2, "",
                    "number of lower levels of cables between switches that are local; higher levels are global; -1 = "
                    "all local"),
        },
    .wire = wire,
    .small = {{"nodes_per_pod", 2},
              {"rails", 2},
              {"spines", 2},
              {"leaves_per_spine", 2},
              {"cores", 1},
              {"leaf_order", "rail"}},
});

}  // namespace flitgym::topology::rail_optimised
