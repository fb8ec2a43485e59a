#include "simcore/topology/torus.hpp"

#include "simcore/graph.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

constexpr u32 kMostHops = 254;  // highest hop count of a packet

static void wire(const std::string& section, const Params& params, Wiring& w) {
  auto t = std::make_shared<Torus>();
  shape_lattice(*t, section, "sizes", params, [&](u32 k) { return t->ports_of(k); }, w);
  const std::vector<u32> wrap = per_dimension(*t, section + ".wrap", params.counts("wrap"));
  u64 diameter = 0;
  for (u32 k = 0; k < t->dimensions; k++) {
    const u32 width = t->widths[k];
    t->ring.push_back(wrap[k] && width > 2);
    diameter += t->ring[k] ? width / 2 : width - 1;
  }
  if (diameter > kMostHops)
    throw ConfigError(t->key, ": ", to_string(Value{params.reals("sizes")}), " has paths of ", diameter,
                      " hops, but the core counts at most ", kMostHops);
  t->diameter = static_cast<u32>(diameter);
  t->closed = t->estimates = true;
  const std::size_t entries = std::size_t{w.routers} * t->dimensions;
  claim_memory(entries * sizeof(u16), section, "the coordinates of ", w.routers, " routers");
  t->place.reserve(entries);
  for (u32 r = 0; r < w.routers; r++, worked(t->dimensions))
    for (u32 k = 0; k < t->dimensions; k++) t->place.push_back(static_cast<u16>(r / t->stride[k] % t->widths[k]));

  wire_lattice(*t, params, w, [&](u32 r, u32 k, PortKind kind) {
    const u32 c = t->coordinate(r, k);
    const bool last = c + 1 == t->widths[k];
    if (last && !t->ring[k]) return;
    const u32 next = last ? r - c * t->stride[k] : r + t->stride[k];
    for (u32 link = 0; link < t->links[k]; link++)
      w.connect({r, t->first_port(k, true) + link}, {next, t->first_port(k, false) + link}, {kind});
  });
  w.data = t;
}

static std::vector<ParamSpec> torus_params(double wrap) {
  return {
      integer_list("sizes", {8, 8, 8}, 2, 1024, "routers", "number along each dimension, x first"),
      integer_list("wrap", {wrap}, 0, 1, "",
                   "per dimension, 1 = the last router is joined to the first; one number = the same in all; ignored "
                   "in a dimension of two routers"),
      integer_list("links", {1}, 1, 256, "per pair of neighbours",
                   "parallel links, per dimension; one number = the same in all"),
      integer("terminals_per_router", 1, 1, 256, "per router", "T"),
      integer("local_dimensions", -1, -1, 26, "",
              "number of leading dimensions with local channels; the others have global channels; -1 = all local"),
  };
}

static const Register<TopologySpec> torus_entry({
    .name = "torus",
    .summary = "a grid of routers whose dimensions are rings (k-ary n-cube if all sizes are k); sizes 2 = hypercube",
    .params = torus_params(1),
    .wire = [](const Params& params, Wiring& w) { wire("topology.torus", params, w); },
    .small = {{"sizes", std::vector<double>{4, 3}}},
});
static const Register<TopologySpec> mesh_entry({
    .name = "mesh",
    .summary = "a grid of routers, each joined to its neighbours; a torus without wrap-around links",
    .params = torus_params(0),
    .wire = [](const Params& params, Wiring& w) { wire("topology.mesh", params, w); },
    .small = {{"sizes", std::vector<double>{4, 3}}},
});

u32 Torus::hops_between(const Network&, u32 router, u32 to) const {
  const u16 *const a = at(router), *const b = at(to);
  u32 hops = 0;
  for (u32 k = 0; k < dimensions; k++) hops += hops_along(k, a[k], b[k]);
  return hops;
}

bool Torus::is_minimal(const Network& net, const Graph& g, u32 router, u32 port, u32 to) const {
  if (net.damaged) return Topology::is_minimal(net, g, router, port, to);
  const u32 k = dimension_of_port[port], a = at(router)[k], b = at(to)[k];
  if (a == b) return false;
  if (widths[k] == 2) return true;
  const bool ascending = port < base[k] + links[k];
  if (!ring[k]) return ascending == (b > a);
  const u32 twice = 2 * forward(k, a, b);
  return ascending ? twice <= widths[k] : twice >= widths[k];
}

// Aligns the dimensions in order.
u32 Torus::minimal_port(const Network& net, const Graph& g, u32 router, const Packet& p) const {
  if (net.damaged) return Topology::minimal_port(net, g, router, p);
  const u32 to = net.terminal_router[p.destination];
  if (router == to) return net.terminal_port[p.destination];
  const u16 *const a = at(router), *const b = at(to);
  u32 k = 0;
  while (a[k] == b[k]) k++;
  return first_port(k, ascends(net, p, k, a[k], b[k])) + link_of(p, k);
}

// All hops of a dimension take the same time.
float Torus::first_estimate_ns(const Network& net, u32 router, u32 port, u32 to) const {
  const u32 out = net.port(router, port);
  const u16 *const a = at(net.next_router(out)), *const b = at(to);
  double ns = hop_ns(net, out);
  for (u32 k = 0; k < dimensions; k++) {
    const u32 hops = hops_along(k, a[k], b[k]);
    // At the edge of a mesh one of the two directions is missing.
    const u32 up = net.port(router, first_port(k, true)),
              one = net.is_link(up) ? up : net.port(router, first_port(k, false));
    if (hops) ns += hops * hop_ns(net, one);
  }
  return static_cast<float>(ns);
}

}  // namespace flitgym
