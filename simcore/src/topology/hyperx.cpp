#include "simcore/topology/hyperx.hpp"

#include "simcore/registry.hpp"

namespace flitgym {

static void wire(const Params& params, Wiring& w) {
  auto hx = std::make_shared<HyperX>();
  shape_lattice(*hx, "topology.hyperx", "widths", params, [&](u32 k) { return (hx->widths[k] - 1) * hx->links[k]; }, w);
  hx->diameter = hx->dimensions;
  hx->closed = hx->estimates = true;
  hx->offset_of_port.assign(hx->dimension_of_port.size(), 0);
  u32 bit = 0;
  for (u32 k = 0; k < hx->dimensions; k++) {
    const u32 bits = static_cast<u32>(std::bit_width(hx->widths[k] - 1));
    hx->field.push_back(bit);
    hx->field_mask.push_back((u64{1} << bits) - 1);
    for (u32 b = 0; b < bits; b++) hx->dimension_of_bit[bit++] = static_cast<u8>(k);
    for (u32 p = hx->base[k]; p < hx->end_of(k); p++)
      hx->offset_of_port[p] = static_cast<u8>((p - hx->base[k]) / hx->links[k] + 1);
  }
  hx->place.assign(w.routers, 0);
  for (u32 r = 0; r < w.routers; r++, worked(hx->dimensions))
    for (u32 k = 0; k < hx->dimensions; k++) hx->place[r] |= u64{r / hx->stride[k] % hx->widths[k]} << hx->field[k];

  wire_lattice(*hx, params, w, [&](u32 r, u32 k, PortKind kind) {
    const u32 own = hx->coordinate(r, k);
    for (u32 c = own + 1; c < hx->widths[k]; c++) {
      const u32 to = r + (c - own) * hx->stride[k];
      for (u32 link = 0; link < hx->links[k]; link++)
        w.connect({r, hx->port_to(r, k, c, link)}, {to, hx->port_to(to, k, own, link)}, {kind});
    }
  });
  w.data = hx;
}

static const Register<TopologySpec> entry({
    .name = "hyperx",
    .summary = "a grid in which every pair of routers that differ in one coordinate is joined (Ahn et al., SC 2009); 1 "
               "dimension = full mesh, widths 2 = hypercube",
    .params =
        {
            integer_list("widths", {8, 8, 8}, 2, 64, "routers",
                         "S, one width per dimension, x first; L is the number of dimensions"),
            integer_list("links", {1}, 1, 63, "per pair of routers",
                         "K, parallel links (trunking) per dimension; one number = the same in all"),
            integer("terminals_per_router", 8, 1, 63, "", "T"),
            integer(
                "local_dimensions", -1, -1, 26, "",
                "number of leading dimensions with local channels; the others have global channels; -1 = all local"),
        },
    .wire = wire,
    .small = {{"widths", std::vector<double>{3, 2, 2}}, {"terminals_per_router", 1}},
});

// Link latencies alone: the first hop, and one hop per dimension that is unaligned after it.
float HyperX::first_estimate_ns(const Network& net, u32 router, u32 port, u32 to) const {
  const Channel& first = net.channels[net.port(router, port)];
  double ns = net.link_ns(net.port(router, port));
  for (u64 rest = difference(net.router_of_port(first.peer), to); rest;) {
    const u32 k = first_unaligned(rest);
    ns += net.link_ns(net.port(router, base[k]));
    rest = without(rest, k);
  }
  return static_cast<float>(ns);
}

}  // namespace flitgym
