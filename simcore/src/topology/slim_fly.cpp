// Slim Fly (Besta & Hoefler, SC 2014): the graphs of McKay, Miller and Siran, of diameter 2 and near the Moore bound.
// Parameter: a prime power q = 4w + delta, delta in {-1, 0, 1}. Two subgraphs have q groups of q routers each, over the
// field of q elements with the primitive element xi:
//   (0, x, y) ~ (0, x, y') if y - y' is in X;  (1, m, c) ~ (1, m, c') if c - c' is in X';
//   (0, x, y) ~ (1, m, c) if y = m x + c.
// Router (2 x + s) q + y belongs to subgraph s. The x-th groups of both subgraphs form one group, like the paper's
// racks. Ports: terminals, then the links of the own subgraph in the order of the powers of xi, then one link to each
// group of the other subgraph.
#include "simcore/registry.hpp"
#include "topology/finite_field.hpp"

namespace flitgym::topology::slim_fly {

// The generator sets X and X' (Hafner 2004 for delta = -1).
std::vector<u32> generators(const Field& field, bool primed) {
  const u32 q = field.q, w = (q + 1) / 4;
  std::vector<u32> exponents;
  if (q % 4 == 3) {
    for (u32 k = 0; k < w; k++) exponents.push_back(2 * k + primed);
    for (u32 k = 0; k < w; k++) exponents.push_back(2 * (w + k) - !primed);
  } else {
    for (u32 k = 0; k < q / 2; k++) exponents.push_back(2 * k + primed);
  }
  for (u32& e : exponents) e = field.power[e % (q - 1)];
  return exponents;
}

void wire(const Params& params, Wiring& w) {
  const u32 q = params.count("q");
  const Field field = field_of("slim_fly", q, 3, [](u32 n) { return n % 4 != 2 && is_prime_power(n); });
  const std::vector<u32> own[2] = {generators(field, false), generators(field, true)};
  const auto inside = static_cast<u32>(own[0].size());
  const u32 given = params.count("terminals_per_router"), terminals = given ? given : (inside + q + 1) / 2;
  w.resize(2 * q * q, terminals + inside + q);
  w.groups = q;
  const auto router = [&](u32 s, u32 x, u32 y) { return (2 * x + s) * q + y; };
  for (u32 r = 0; r < w.routers; r++) {
    worked(4 * (inside + q));
    w.router_group[r] = r / (2 * q);
    for (u32 t = 0; t < terminals; t++) w.attach_terminal({r, t});
    const u32 s = r / q % 2, x = r / q / 2, y = r % q;
    for (u32 k = 0; k < inside; k++) {
      const u32 to = router(s, x, field.add(y, own[s][k]));
      const auto back = std::find(own[s].begin(), own[s].end(), field.minus(own[s][k])) - own[s].begin();
      if (r < to) w.connect({r, terminals + k}, {to, terminals + static_cast<u32>(back)}, {PortKind::kLocal});
    }
    for (u32 m = 0; m < q && s == 0; m++)
      w.connect({r, terminals + inside + m},
                {router(1, m, field.add(y, field.minus(field.multiply(m, x)))), terminals + inside + x},
                {m == x ? PortKind::kLocal : PortKind::kGlobal});
  }
}

const Register<TopologySpec> entry({
    .name = "slim_fly",
    .summary = "graphs of diameter 2 with nearly the largest possible number of routers (McKay, Miller & Siran; Besta "
               "& Hoefler, SC 2014)",
    .params =
        {
            integer("q", 5, 3, 227, "",
                    "a power of a prime, q = 4 w + delta with delta = -1, 0 or 1; gives 2 q^2 routers of (3 q - delta) "
                    "/ 2 links"),
            integer("terminals_per_router", 0, 0, 256, "",
                    "p; 0 = half the links, rounded up, which balances the network"),
        },
    .wire = wire,
    .small = {{"q", 3}, {"terminals_per_router", 1}},
});

}  // namespace flitgym::topology::slim_fly
