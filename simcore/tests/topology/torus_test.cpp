// Torus and mesh: every shape checked link by link against the rule, closed forms against a search and against the
// textbook, and refusals.
#include "support/torus.hpp"
#include "simcore/graph.hpp"
#include "support/crafted.hpp"
#include "support/links.hpp"

namespace topology_torus_test {

using namespace scenes;

std::shared_ptr<const Network> network(const Section& topology, const Section& traffic = {"uniform", {}},
                                       const Values& router = input_queued()) {
  return build(config(topology, router, {"dimension_order", {}}, traffic));
}
std::shared_ptr<const Network> network(const Shape& shape) { return network(torus_section(shape)); }

u32 entry(const std::vector<double>& list, u32 k) { return static_cast<u32>(list[list.size() == 1 ? 0 : k]); }

// Rule: router = x + S_0 (y + S_1 (z + ...)). Ports: terminals, then for each dimension the links to the next router
// and those to the previous router. A dimension of two routers has one set of links.
void check_wiring(const Shape& shape) {
  const auto built = network(shape);
  const Network& net = *built;
  const Lattice& grid = *find_lattice(net);
  const u32 dimensions = static_cast<u32>(shape.sizes.size()), terminals = static_cast<u32>(shape.terminals);
  const std::vector<double> wrap =
      shape.wrap.empty() ? std::vector<double>{shape.name == "torus" ? 1.0 : 0.0} : shape.wrap;
  u32 routers = 1, radix = terminals, used = 0;
  for (u32 k = 0; k < dimensions; k++) {
    routers *= entry(shape.sizes, k);
    radix += (entry(shape.sizes, k) == 2 ? 1 : 2) * entry(shape.links, k);
  }
  CHECK_FOR(net.routers == routers && net.terminals == routers * terminals && net.radix == radix, net.fingerprint);
  CHECK_FOR(net.groups == static_cast<u32>(shape.sizes.back()), net.fingerprint);
  const auto joined = [&](u32 r, u32 port, u32 to, u32 back, u32 k) {
    const std::string at = net.fingerprint + " router " + std::to_string(r) + " port " + std::to_string(port);
    CHECK_FOR(net.channels[net.port(r, port)].peer == net.port(to, back) &&
                  net.channels[net.port(to, back)].peer == net.port(r, port),
              at);
    CHECK_FOR(net.channels[net.port(r, port)].kind ==
                  (shape.local < 0 || k < shape.local ? PortKind::kLocal : PortKind::kGlobal),
              at);
    used += 2;
  };
  for (u32 r = 0; r < routers; r++) {
    for (u32 t = 0; t < terminals; t++) {
      const u32 terminal = r * terminals + t;
      CHECK_FOR(net.channels[net.port(r, t)].peer == net.nic(terminal) && net.terminal_router[terminal] == r &&
                    net.terminal_port[terminal] == t,
                net.fingerprint);
    }
    u32 port = terminals, stride = 1;
    for (u32 k = 0; k < dimensions; k++) {
      const u32 size = entry(shape.sizes, k), links = entry(shape.links, k), c = r / stride % size;
      CHECK_FOR(grid.coordinate(r, k) == c && (k + 1 < dimensions || net.router_group[r] == c), net.fingerprint);
      for (u32 link = 0; link < links; link++) {
        if (size == 2 && c == 0) joined(r, port + link, r + stride, port + link, k);
        if (size > 2 && c + 1 < size) joined(r, port + link, r + stride, port + links + link, k);
        if (size > 2 && c + 1 == size && entry(wrap, k)) joined(r, port + link, r - c * stride, port + links + link, k);
      }
      port += (size == 2 ? 1 : 2) * links;
      stride *= size;
    }
  }
  // There are no other links.
  u32 links = 0;
  for (u32 p = 0; p < net.router_ports; p++) links += net.is_link(p);
  CHECK_FOR(links == used, net.fingerprint);
}

// hops_between, is_minimal and the diameter agree with a breadth-first search. minimal_port is one of the minimal
// ports.
void check_closed_forms(const Shape& shape) {
  const auto built = network(shape);
  const Network& net = *built;
  const Graph& graph = *net.graphs[0];
  CHECK(graph.hops.empty() && graph.flight_ns.empty());  // no table of quadratic size
  u32 farthest = 0;
  for (u32 to = 0; to < net.routers; to++) {
    const std::vector<u32> hops = hops_from(neighbors_of(net), to);
    for (u32 r = 0; r < net.routers; r++) {
      farthest = std::max(farthest, hops[r]);
      CHECK_FOR(net.topology->hops_between(net, r, to) == hops[r], net.fingerprint);
      double least = 1e9;
      each_link(net, graph, r, [&](u32 port) {
        const u32 next = net.next_router(net.port(r, port));
        CHECK_FOR(net.topology->is_minimal(net, graph, r, port, to) == (hops[next] < hops[r]),
                  net.fingerprint + " router " + std::to_string(r) + " port " + std::to_string(port));
        if (hops[next] < hops[r]) least = std::min(least, double{net.topology->first_estimate_ns(net, r, port, to)});
      });
      Packet p{};
      p.destination = to * find_lattice(net)->terminals;
      for (p.sequence = 0; p.sequence < 6; p.sequence++) {
        const u32 port = net.topology->minimal_port(net, graph, r, p);
        CHECK_FOR(
            r == to ? port == net.terminal_port[p.destination] : net.topology->is_minimal(net, graph, r, port, to),
            net.fingerprint);
      }
      if (r != to && shape.local < 0) CHECK_NEAR(least, hops[r] * 11.0, 1e-3);  // link 10 and output 1 ns
    }
  }
  CHECK_FOR(farthest == net.topology->diameter && farthest == net.routing_facts.max_hops, net.fingerprint);
}

double mean_hops(const Shape& shape) {  // including the own router
  const auto net = network(shape);
  double sum = 0;
  for (u32 a = 0; a < net->routers; a++)
    for (u32 b = 0; b < net->routers; b++) sum += net->topology->hops_between(*net, a, b);
  return sum / net->routers / net->routers;
}

// Routes of dimension order on each channel, [port], if every router sends to every other. With `one_source` only
// router 0 sends. If both directions of a ring are equally long, each gets half, or with `split` false all goes in the
// direction +.
std::vector<double> routes_per_channel(const Shape& shape, bool split, bool one_source) {
  Lone x(network(shape));
  std::vector<double> load(x.net.router_ports, 0.0);
  const auto follow = [&](auto&& self, const Place& at, double weight) -> void {
    std::vector<Step> steps;  // in any class
    for (const Step& step : x.candidates(at))
      if (steps.empty() || steps.back().port != step.port) steps.push_back(step);
    if (x.ejects(at.router, steps[0])) return;
    if (!split) steps.resize(1);
    for (const Step& step : steps) {
      load[x.net.port(at.router, step.port)] += weight / static_cast<double>(steps.size());
      self(self, x.behind(at.router, step), weight / static_cast<double>(steps.size()));
    }
  };
  for (u32 from = 0; from < (one_source ? 1 : x.net.routers); from++)
    for (u32 to = 0; to < x.net.routers; to++) follow(follow, x.send(from, to), 1);
  return load;
}
void check_even(const Shape& shape, double wanted) {
  const std::vector<double> load = routes_per_channel(shape, true, false);
  const auto net = network(shape);
  for (u32 p = 0; p < net->router_ports; p++)
    if (net->is_link(p)) CHECK_NEAR(load[p], wanted, 1e-9);
}

TEST(torus_and_mesh_of_every_shape) {
  for (const Shape& shape : small_shapes()) {
    check_wiring(shape);
    check_closed_forms(shape);
  }
  check_wiring({"torus", {8, 8, 8}, {1}, {}, 4});
  check_wiring({"torus", {46, 3, 47}});
}

// Means of D&T 5.2.2 over all pairs, including the own router. Torus: k/4 per dimension, or (k - 1/k)/4 for odd k.
// Mesh: (k - 1/k)/3. Hypercube: 1/2.
TEST(torus_and_mesh_mean_hops) {
  CHECK_NEAR(mean_hops({"torus", {8, 8, 8}}), 6, 1e-12);
  CHECK_NEAR(mean_hops({"torus", {5, 5, 5}}), 3 * (5 - 0.2) / 4, 1e-12);
  CHECK_NEAR(mean_hops({"torus", {8, 5}}), 2 + 1.2, 1e-12);
  CHECK_NEAR(mean_hops({"mesh", {8, 8}}), 2 * (8 - 1 / 8.0) / 3, 1e-12);
  CHECK_NEAR(mean_hops({"torus", {2, 2, 2, 2, 2, 2, 2, 2}}), 4, 1e-12);
  CHECK_NEAR(mean_hops({"mesh", {2, 2, 2, 2, 2, 2, 2, 2}}), 4, 1e-12);
  CHECK_EQ(network(Shape{"torus", {4, 2, 2, 2}})->topology->diameter, 5u);  // the 32 nodes of the Angara study
}

// Routes on each channel if every router sends to every router. k-ary n-cube of N routers: N k / 8 for even k with
// split ties, N (k^2 - 1) / (8 k) for odd k. A dimension of two routers: N / 2. With all ties in the direction +: N/k
// (k/2)(k/2 + 1)/2 in that direction and N/k (k/2)(k/2 - 1)/2 in the other.
TEST(torus_routes_per_channel) {
  check_even({"torus", {4, 4, 4}}, 32);
  check_even({"torus", {5, 5, 5}}, 75);
  check_even({"torus", {4, 2, 2, 2}}, 16);
  check_even({"torus", {2, 2, 2, 2, 2}}, 16);
  check_even({"torus", {4, 4}, {2}}, 4);  // 8, over two links
  for (const auto& [k, wanted, ahead, back] : {std::tuple{8.0, 512.0, 640.0, 384.0}, {16.0, 8192.0, 9216.0, 7168.0}}) {
    const Shape shape{"torus", {k, k, k}};
    const auto net = network(shape);
    for (const bool split : {true, false}) {
      const std::vector<double> load = routes_per_channel(shape, split, true);
      // By symmetry, a channel carries from all routers what all channels of its port carry from router 0.
      double sums[6] = {};  // [port]
      for (u32 p = 0; p < net->router_ports; p++)
        if (net->is_link(p)) sums[net->local_port(p) - 1] += load[p];
      for (u32 n = 0; n < 6; n++) CHECK_EQ(sums[n], split ? wanted : n % 2 == 0 ? ahead : back);
    }
  }
}

// A packet keeps its choice at a tie, and over many packets the choices are even.
TEST(torus_ties_are_even) {
  Lone x(network(Shape{"torus", {8, 4}}));
  u32 up[2] = {};
  const u32 packets = 4000;
  for (u32 n = 0; n < packets; n++) {
    u32 first[2] = {kNone, kNone};
    CHECK_EQ(x.walk(1, 21, n,
                    [&](u32, const Step& step) {  // (1, 0) to (5, 2): 4 of 8, and 2 of 4
                      const u32 k = (step.port - 1) / 2;
                      if (first[k] == kNone) first[k] = step.port;
                      CHECK_EQ(first[k], step.port);
                    }),
             6u);
    for (u32 k = 0; k < 2; k++) up[k] += (first[k] - 1) % 2 == 0;
  }
  for (const u32 n : up) CHECK_NEAR(n, packets / 2.0, 5 * std::sqrt(packets / 4.0));
}

TEST(patterns_on_a_torus) {
  // Tornado: x + ceil(k/2) - 1 in the given dimensions (D&T, table 3.1).
  const Section grid = torus_section({"torus", {8, 5}, {1}, {}, 2});
  const auto to = [](const Network& net, u32 terminal) { return net.destination(net.seed, terminal, 0, 0, 0); };
  // 6 + 3 mod 8.
  CHECK_EQ(to(*network(grid, {"tornado", {}}), 2 * 6 + 1), 2u * 1 + 1);
  // 4 + 2 mod 5.
  CHECK_EQ(to(*network(grid, {"tornado", {{"dimensions", std::vector<double>{1}}}}), 2 * (6 + 8 * 4)),
           2u * (6 + 8 * 1));
  CHECK_EQ(to(*network(grid, {"tornado", {{"dimensions", std::vector<double>{0, 1}}}}), 0), 2u * (3 + 8 * 2));
  const Section square = torus_section({"mesh", {4, 4}, {1}, {}, 2});
  CHECK_EQ(to(*network(square, {"transpose", {}}), 2 * (1 + 4 * 3) + 1), 2u * (3 + 4 * 1) + 1);
  CHECK_EQ(to(*network(square, {"swap2", {}}), 2 * (1 + 4 * 3) + 1), 2u * (1 + 4 * 1) + 1);
  CHECK_EQ(to(*network(square, {"dimension_complement_reverse", {}}), 2 * (1 + 4 * 3)), 2u * (0 + 4 * 2));
  const u32 across =
      to(*network(square, {"uniform_random_bisection", {{"dimension", std::string("y")}}}), 2 * (1 + 4 * 3));
  CHECK_EQ(across / 2 / 4, 0u);
  CHECK_EQ(across % 2, 1u);
}

TEST(impossible_tori_are_refused) {
  const auto refuse = [](const Shape& shape, const std::vector<std::string>& parts) {
    testing::thrown<ConfigError>(__FILE__, __LINE__, "network", [&] { network(shape); }, parts);
  };
  refuse({"torus", {8, 1, 8}}, {"topology.torus.sizes", "[8, 1, 8]", "2", "1024"});
  refuse({"torus", {4, 4}, {1, 1, 1}}, {"topology.torus.links", "3 numbers", "2 dimensions"});
  refuse({"torus", {4, 4}, {128}, {}, 1}, {"topology.torus", "513 ports", "512"});
  refuse({"torus", {512}}, {"topology.torus.sizes", "256 hops", "254"});
}

}  // namespace topology_torus_test
