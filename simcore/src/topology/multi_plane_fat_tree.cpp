// The multi-plane fat tree of GPU clusters: P separate fat trees (planes), each of which reaches every host. A packet
// changes planes only inside a host.
//
// A host is a router. It stands for the switch inside the host (NVSwitch, PCIe switch, or the chip of a network
// interface with several ports). Its accelerators are its terminals, and it has cables to a leaf of each plane. No
// minimal path passes through a third host. If spines join the leaves of all planes, the network is rail_optimised.
//
// Sources: Zhao et al., "Insights into DeepSeek-V3", ISCA 2025 (arXiv:2505.09343), section 5.1: eight planes of two
// levels, one interface per accelerator and plane. Qian et al., "Alibaba HPN: A Data Center Network for Large Language
// Model Training", SIGCOMM 2024: two planes, one per port of an interface (here: accelerators 1, planes 2).
//
// Terminal  accelerator + accelerators host, so consecutive terminals form a host
// Router    the hosts, then the leaves, spines and cores. Switch k of a level belongs to plane k mod P.
//
// This is an XGFT (fat_tree.hpp) whose lowest level holds the hosts, each with one parent per plane.
#include "simcore/registry.hpp"
#include "simcore/topology/fat_tree.hpp"

namespace flitgym::topology::multi_plane_fat_tree {

const std::string kName = "multi_plane_fat_tree";

TreeNumbers read_numbers(const Params& params) {
  const u32 leaves = params.count("leaves"), spines = params.count("spines");
  const u32 pods = params.count("pods"), cores = params.count("cores");
  TreeNumbers numbers{.children = {params.count("accelerators"), params.count("hosts_per_leaf")},
                      .parents = {1, params.count("planes")},
                      .links = {1, params.count("host_links")},
                      .local_levels = params.integer("local_levels")};
  const auto add_level = [&](u32 children, u32 parents, const char* links) {
    numbers.children.push_back(children);
    numbers.parents.push_back(parents);
    numbers.links.push_back(params.count(links));
  };
  if ((leaves > 1) != (spines > 0))
    refuse(kName + ".spines", spines, " spines for ", leaves,
           " leaves; a plane has 1 leaf and 0 spines, or 2 or more leaves and 1 or more spines");
  if ((pods > 1) != (cores > 0) || (cores > 0 && spines == 0))
    refuse(kName + ".cores", cores, " cores for ", pods, " pods and ", spines,
           " spines; a plane has 1 pod and 0 cores, or 2 or more pods, 1 or more spines and 1 or more cores");
  if (spines > 0) add_level(leaves, spines, "spine_links");
  if (cores > 0) add_level(pods, cores, "core_links");
  return numbers;
}

void wire(const Params& params, Wiring& w) {
  const auto tree = wire_tree(kName, read_numbers(params), w);
  const double latency = params.real("accelerator_latency_ns");
  const double given = params.real("accelerator_bandwidth_gb_per_s"), bandwidth = given > 0 ? given : -1;
  const u32 accelerators = tree->children[1];
  for (u32 host = 0; host < tree->first[2]; host++, worked(accelerators))
    for (u32 k = 0; k < accelerators; k++) w.attach_terminal({host, k}, {PortKind::kTerminal, latency, bandwidth});
  w.data = tree;
}

const Register<TopologySpec> entry({
    .name = kName,
    .summary = "separate fat trees (planes) that reach every host; a host is a router with accelerators as terminals "
               "(DeepSeek-V3, ISCA 2025)",
    .params =
        {
            integer("accelerators", 4, 1, 256, "per host", "terminals of a host"),
            integer("planes", 4, 1, 256, "", "separate fat trees"),
            integer("host_links", 1, 1, 256, "per host and plane", "parallel cables from a host to its leaf"),
            integer("hosts_per_leaf", 4, 2, kMaxRadix, "per leaf", "hosts below a leaf, in each plane"),
            integer("leaves", 4, 1, kMaxRadix, "per plane and pod", "1 = a plane is a single switch"),
            integer("spines", 2, 0, kMaxRadix, "per leaf", "spines above a leaf, in each plane"),
            integer("spine_links", 1, 1, kMaxRadix, "per leaf and spine", "parallel cables"),
            integer("pods", 1, 1, kMaxRadix, "", "parts of a plane that cores join"),
            integer("cores", 0, 0, kMaxRadix, "per spine", "switches of a third level above a spine; 0 = none"),
            integer("core_links", 1, 1, kMaxRadix, "per spine and core", "parallel cables"),
            real("accelerator_latency_ns", -1, -1, 1e6, "ns",
                 "latency of the link from an accelerator to its host router; -1 = link_latency_ns_host"),
            real("accelerator_bandwidth_gb_per_s", 0, 0, 1e6, "GB/s",
                 "bandwidth of that link; 0 = link_bandwidth_gb_per_s_host. A load of 1 is still the latter"),
            integer("local_levels", -1, -1, 3, "",
                    "number of lower levels of cables between routers that are local, from the cables of hosts on; "
                    "higher levels are global; -1 = all local"),
        },
    .wire = wire,
    .small = {{"accelerators", 1}, {"planes", 2}, {"hosts_per_leaf", 2}, {"leaves", 2}, {"spines", 1}},
});

}  // namespace flitgym::topology::multi_plane_fat_tree
