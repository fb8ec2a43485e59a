// PolarStar (Lakhotia, Monroe, Isham, Besta, Blach, Hoefler, Petrini, SPAA 2024, arXiv 2302.07217): the star product of
// the polarity graph ER_q and a supernode graph, of diameter 3. Every vertex of ER_q becomes a supernode, a copy of the
// supernode graph. A bijection f of the supernode's vertices determines the links between supernodes x < y that are
// neighbours in ER_q: (x, i) ~ (y, f(i)). There are two kinds of supernodes.
//
//   inductive_quad  2 d' + 2 vertices of d' links. d' is 0 or 3 mod 4. f exchanges the two vertices of a pair. A
//                   quadric x is its own neighbour in ER_q, so (x, i) ~ (x, f(i)).
//   paley           2 d' + 1 vertices of d' links. This number is a power of a prime, and 1 mod 4. Elements of the
//                   field are neighbours if their difference is a square. f multiplies by a primitive element. The
//                   links of a quadric to itself are left out (our choice), and the diameter is 3 without them.
//
// With inductive quads every router has q + 1 + d' links, with Paley graphs q + 1 + d', or q + d' in a quadric.
// Router x n + i is vertex i of supernode x. Ports: terminals, links inside the supernode, links to other supernodes.
#include "simcore/registry.hpp"
#include "topology/polarity_graph.hpp"

namespace flitgym::topology::polarstar {

struct Supernode {
  std::vector<std::vector<u32>> next;  // [vertices] neighbours
  std::vector<u32> image;              // [vertices] the bijection f
  bool loops = false;                  // a quadric's vertices are joined with their images
  u32 size() const { return static_cast<u32>(next.size()); }
};

// Pairs of vertices (2 k, 2 k + 1) that f exchanges. For every two pairs, one vertex of one pair is the neighbour of
// both vertices of the other pair. Then every two vertices, or their images, are neighbours, or they form a pair. This
// is the property R* of the paper. Pairs come in quads, after a single pair if d' = 0 mod 4. The pairs of a quad are
// joined with each other, and each earlier pair is joined with each pair of the quad, as in the paper's induction.
Supernode inductive_quad(u32 degree) {
  const u32 pairs = degree + 1;
  Supernode s;
  s.loops = true;
  s.next.resize(2 * pairs);
  for (u32 v = 0; v < 2 * pairs; v++) s.image.push_back(v ^ 1);
  const auto join = [&](u32 vertex, u32 pair) {
    for (const u32 other : {2 * pair, 2 * pair + 1}) {
      s.next[vertex].push_back(other);
      s.next[other].push_back(vertex);
    }
  };
  for (u32 quad = pairs % 4; quad < pairs; quad += 4) {
    worked(16 * quad);
    for (u32 earlier = 0; earlier < quad; earlier++)
      for (u32 k = 0; k < 4; k++) join(2 * earlier + k / 2, quad + k);
    const auto vertex = [&](u32 pair, u32 which) { return 2 * (quad + pair) + which; };
    join(vertex(1, 0), quad);
    join(vertex(2, 0), quad);
    join(vertex(3, 1), quad);
    join(vertex(1, 1), quad + 3);
    join(vertex(3, 0), quad + 2);
    join(vertex(2, 1), quad + 1);
  }
  return s;
}

Supernode paley(u32 degree) {
  Field field(2 * degree + 1);
  field.find_primitive();
  Supernode s;
  s.next.resize(field.q);
  for (u32 v = 0; v < field.q; v++) {
    worked(4 * field.q);
    for (u32 k = 0; k < field.q - 1; k += 2) s.next[v].push_back(field.add(v, field.power[k]));
    s.image.push_back(field.multiply(v, field.power[1]));
  }
  return s;
}

bool fits(const std::string& kind, u32 degree) {
  if (kind == "inductive_quad") return degree % 4 == 0 || degree % 4 == 3;
  return degree > 0 && degree % 2 == 0 && is_prime_power(2 * degree + 1);
}

Supernode supernode_of(const Params& params) {
  const std::string& kind = params.text("supernode");
  const u32 degree = params.count("supernode_degree");
  if (!fits(kind, degree))
    throw ConfigError("topology.polarstar.supernode_degree: ", degree, " is not valid for supernode=", kind,
                      ", which needs ",
                      kind == "inductive_quad" ? "0 or 3 mod 4" : "an even d' with a power of a prime 2 d' + 1",
                      "; the nearest valid values are ",
                      nearest_valid(degree, kind == "paley" ? 2 : 0, [&](u32 d) { return fits(kind, d); }));
  Supernode s = kind == "paley" ? paley(degree) : inductive_quad(degree);
  for (auto& next : s.next) std::sort(next.begin(), next.end());
  return s;
}

void wire(const Params& params, Wiring& w) {
  const u32 q = params.count("q"), degree = params.count("supernode_degree");
  const Field field = field_of("polarstar", q);
  const Supernode s = supernode_of(params);
  const PolarityGraph graph = polarity_graph(field);
  const u32 n = s.size(), supernodes = static_cast<u32>(graph.next.size()), links = q + 1 + degree;
  const u32 given = params.count("terminals_per_router"), terminals = given ? given : std::max(1u, links / 3);
  w.resize(supernodes * n, terminals + links);
  w.groups = supernodes;
  const u32 outside = terminals + degree;  // the first port to another supernode
  for (u32 r = 0; r < w.routers; r++) {
    worked(4 * links);
    const u32 x = r / n, i = r % n;
    w.router_group[r] = x;
    for (u32 t = 0; t < terminals; t++) w.attach_terminal({r, t});
    for (u32 k = 0; k < degree; k++)
      if (const u32 j = s.next[i][k]; i < j)
        w.connect({r, terminals + k}, {x * n + j, terminals + place_in(s.next[j], i)}, {PortKind::kLocal});
    for (u32 k = 0; k < graph.next[x].size(); k++)
      if (const u32 y = graph.next[x][k]; x < y)
        w.connect({r, outside + k}, {y * n + s.image[i], outside + place_in(graph.next[y], x)}, {PortKind::kGlobal});
    // A quadric has one neighbour less, so its last port is free for this link.
    if (graph.quadric[x] && s.loops && i < s.image[i])
      w.connect({r, outside + q}, {x * n + s.image[i], outside + q}, {PortKind::kLocal});
  }
}

const Register<TopologySpec> entry({
    .name = "polarstar",
    .summary = "star products of polarity graphs and supernodes, of diameter 3 (Lakhotia et al., SPAA 2024)",
    .params =
        {
            integer("q", 5, 2, 127, "", "a power of a prime; gives q^2 + q + 1 supernodes"),
            choice("supernode", "inductive_quad", {"inductive_quad", "paley"},
                   "graph of a supernode: inductive_quad has 2 d' + 2 routers, paley has 2 d' + 1"),
            integer("supernode_degree", 3, 0, 128, "links",
                    "d', links of a router inside its supernode; inductive_quad: 0 or 3 mod 4; paley: 2 d' + 1 is a "
                    "power of a prime and 1 mod 4"),
            integer("terminals_per_router", 0, 0, 256, "", "p; 0 = a third of the links q + 1 + d', rounded down"),
        },
    .wire = wire,
    .small = {{"q", 2}, {"supernode_degree", 0}, {"terminals_per_router", 1}},
});

}  // namespace flitgym::topology::polarstar
