// Torus and mesh: every shape checked link by link against the rule, closed forms against a search, and dimension
// order.
#include "simcore/topology/torus.hpp"
#include "simcore/registry.hpp"
#include "support/exploration.hpp"
#include "support/links.hpp"

namespace topology_torus_test {

using namespace scenes;

struct Shape {
  std::string name;  // torus or mesh
  std::vector<double> sizes, links = {1}, wrap = {};
  i64 terminals = 1, local = -1;
};

Section torus_section(const Shape& shape) {
  Values values = {{"sizes", shape.sizes},
                   {"links", shape.links},
                   {"terminals_per_router", shape.terminals},
                   {"local_dimensions", shape.local}};
  if (!shape.wrap.empty()) values["wrap"] = shape.wrap;
  return {shape.name, values};
}

const std::vector<Shape>& small_shapes() {
  static const std::vector<Shape> shapes = {
      {"torus", {8}},
      {"torus", {7}, {2}, {}, 2},
      {"torus", {4, 4}},
      {"torus", {5, 4}, {1, 3}, {}, 1, 1},
      {"torus", {3, 2, 4}, {1}, {}, 2, 0},
      {"torus", {6, 5}, {1}, {1, 0}},  // a cylinder
      {"torus", {4, 2, 2, 2}, {1}},    // Angara, 32 nodes
      {"torus", {2, 2, 2, 2, 2}},      // a hypercube
      {"mesh", {2}},
      {"mesh", {9}},
      {"mesh", {4, 3, 2}, {2, 1, 2}, {}, 3, 2},
      {"mesh", {5, 4}, {1}, {0, 1}},
  };
  return shapes;
}

std::shared_ptr<const Network> network(const Shape& shape) {
  return network_of(torus_section(shape), "dimension_order");
}

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

// minimal_port is one of the minimal ports, and the first estimate is the flight on a minimal path.
void check_minimal_ports(const Shape& shape) {
  const auto built = network(shape);
  const Network& net = *built;
  const Graph& graph = *net.graphs[0];
  for (u32 to = 0; to < net.routers; to++)
    for (u32 r = 0; r < net.routers; r++) {
      double least = 1e9;
      each_minimal(net, graph, r, to, [&](u32 port) {
        least = std::min(least, double{net.topology->first_estimate_ns(net, r, port, to)});
      });
      Packet p{};
      p.destination = to * find_lattice(net)->terminals;
      for (p.sequence = 0; p.sequence < 6; p.sequence++) {
        const u32 port = net.topology->minimal_port(net, graph, r, p);
        CHECK_FOR(
            r == to ? port == net.terminal_port[p.destination] : net.topology->is_minimal(net, graph, r, port, to),
            net.fingerprint);
      }
      if (r != to && shape.local < 0)  // link 10 and output 1 ns
        CHECK_NEAR(least, net.topology->hops_between(net, r, to) * 11.0, 1e-3);
    }
  CHECK_FOR(net.topology->diameter == net.routing_facts.max_hops, net.fingerprint);
}

TEST(torus_and_mesh_of_every_shape) {
  for (const Shape& shape : small_shapes()) {
    check_wiring(shape);
    check_closed_forms(*network(shape));
    check_minimal_ports(shape);
  }
  check_wiring({"torus", {8, 8, 8}, {1}, {}, 4});
  check_wiring({"torus", {46, 3, 47}});
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

// ---- Dimension order: the dateline and the bubble ----

Section routing(const std::string& avoidance, const std::vector<double>& order = {},
                const std::string& name = "dimension_order") {
  return {name, {{"deadlock_avoidance", avoidance}, {"order", order}}};
}
Lone lone(const Shape& shape, const Section& section) {
  return Lone(build(config(torus_section(shape), input_queued(), section, {"uniform", {}})));
}

// The routing without the bubble condition: one VC on a ring and no other protection.
const RoutingSpec& guarded() {
  const auto [first, last] = registry<RoutingSpec>().equal_range("dimension_order");
  return std::find_if(first, last, [](const auto& entry) { return entry.second.topologies[0] == "torus"; })->second;
}
const Register<RoutingSpec> unguarded(
    {"test_without_bubble",
     "dimension order on one VC",
     {"torus"},
     {integer_list("order", {}, 0, 25, "", ""), choice("deadlock_avoidance", "bubble", {"bubble"}, "")},
     [](const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
       RoutingFacts facts = guarded().setup(params, net, data);
       facts.bubble = false;
       return facts;
     },
     [](const Network& net, State& s, Batch& b) { guarded().route(net, s, b); }});

Values tight(i64 flits, i64 output = 0) {
  return merge(input_queued(), {{"input_buffer_flits", output ? flits : 2 * flits},
                                {"output_buffer_flits", output * flits},
                                {"link_latency_ns_local", 2.0},
                                {"watchdog_ns", 3000.0}});
}
Section saturating(const std::string& pattern, i64 flits = 1) {
  return {pattern, {{"load", 1.0}, {"packet_bytes", bytes_of(flits)}}};
}

// Runs into saturation and then drains.
u64 run_dry(const Config& given) {
  Simulation sim(given);
  sim.run(2500);
  sim.check_conservation();
  const u64 moves = sim.state().part.totals.moves;
  sim.run(500);
  CHECK_FOR(sim.state().part.totals.moves > moves, "nothing moves any more");
  CHECK(sim.drain(200000));
  sim.check_conservation();
  return sim.state().part.totals.moves;
}

// By hand, on a ring of 8 without the channels of terminals. Class 0 upwards has the channels 0-1 ... 6-7, each waits
// for the next: 6 dependencies. Class 1 upwards has 4-5 (its packets end at 0), ..., 7-0, ..., 2-3 (begun at 7): 7
// channels, 6 dependencies. Downwards is the same.
TEST(dateline_leaves_no_cycle) {
  Lone ring = lone({"torus", {8}}, routing("dateline"));
  const Edges edges = explore(ring, listed);
  CHECK_EQ(edge_count(edges), 24u);
  CHECK_EQ(ring.net.routing_facts.classes, 2u);
  std::vector<Shape> shapes = small_shapes();
  shapes.push_back({"torus", {4, 5, 6}});
  for (const Shape& shape : shapes) {
    std::vector<double> reversed;
    for (std::size_t k = shape.sizes.size(); k-- > 0;) reversed.push_back(static_cast<double>(k));
    for (const auto& order : {std::vector<double>{}, reversed}) {
      Lone x = lone(shape, routing("dateline", order));
      CHECK_FOR(acyclic(explore(x, listed)), x.net.fingerprint);
    }
  }
  // Without the classes there is a cycle exactly where a ring has four routers or more.
  for (const Shape& shape : shapes) {
    Lone x = lone(shape, routing("dateline"));
    const Torus& t = as_torus(x.net);
    bool long_ring = false;
    for (u32 k = 0; k < t.dimensions; k++) long_ring |= t.ring[k] && t.widths[k] > 3;
    CHECK_FOR(x.net.routing_facts.classes == (long_ring ? 2 : 1), x.net.fingerprint);
    CHECK_FOR(acyclic(in_one_class(explore(x, listed))) != long_ring, x.net.fingerprint);
  }
}

// One VC with room for two packets, the minimum: with every arbiter, both kinds of router, and VC allocation before the
// switch.
DEEP_TEST(bubble_drains_from_saturation) {
  for (const Shape& shape :
       {Shape{"torus", {8}}, {"torus", {4, 4}, {1}, {}, 2}, {"torus", {5, 4}, {2, 1}}, {"torus", {4, 3, 2}}})
    for (const std::string arbiter : {"round_robin", "least_recently_served", "age"})
      for (const i64 flits : {1, 3})
        for (const std::string allocation : {"with_switch", "before_switch"})
          for (const std::string crossbar : {"input_queued", "per_port", "per_vc"}) {
            if (crossbar == "per_vc" && arbiter == "round_robin") continue;  // not offered
            const i64 output = crossbar == "input_queued" ? 0 : 2;
            Values router = merge(tight(flits, output), {{"arbiter", arbiter}, {"vc_allocation", allocation}});
            if (output > 0) router["crossbar_ports"] = crossbar;
            Lone x = lone(shape, routing("bubble"));
            CHECK(x.net.routing_facts.bubble && x.net.routing_facts.classes == 1 && x.net.vcs == 1);
            run_dry(config(torus_section(shape), router, routing("bubble"),
                           saturating(arbiter == "age" ? "tornado" : "uniform", flits)));
          }
}

// The same scenes deadlock without the condition. One VC on a ring is not enough.
TEST(without_the_bubble_rings_lock_up) {
  for (const Shape& shape : {Shape{"torus", {8}}, {"torus", {4, 4}, {1}, {}, 2}})
    for (const i64 flits : {1, 3})
      for (const i64 output : {0, 2}) {
        Simulation sim(config(torus_section(shape), tight(flits, output), routing("bubble", {}, "test_without_bubble"),
                              saturating("uniform", flits)));
        CHECK_THROWS(CoreError, sim.run(100000), "deadlock", "test_without_bubble", "1 VCs");
      }
  Lone x = lone({"torus", {8}}, routing("bubble"));
  CHECK(!acyclic(explore(x, listed)));  // a cycle that only the bubble makes safe
}

// After every cycle each ring has room for a packet, whatever traffic enters and leaves. Without the condition a ring
// fills up.
TEST(bubble_keeps_room_in_every_ring) {
  const auto least_room = [](const std::string& name) {
    Simulation sim(config(torus_section({"torus", {8}}), tight(1), routing("bubble", {}, name), saturating("uniform")));
    const Network& net = sim.network();
    u32 least = 16;
    for (u32 cycle = 0; cycle < 2000; cycle++) {
      sim.run(1);
      for (const u32 port : {1u, 2u}) {  // upwards and downwards: 8 buffers of 2 flits each
        u32 free = 0;
        for (u32 r = 0; r < 8; r++) free += sim.state().output_vcs[net.vc_id(net.port(r, port), 0)].credits;
        for (const auto& line : sim.state().part.credit_lines.lines)  // room whose credits are on their way
          for (u32 n = line.first; n != line.end; n++)
            if (const u32 p = net.port_of_vc(line.at(n).vc); !net.is_nic(p) && net.local_port(p) == port)
              free += line.at(n).flits;
        least = std::min(least, free);
      }
    }
    return least;
  };
  CHECK(least_room("dimension_order") >= 1);
  CHECK_EQ(least_room("test_without_bubble"), 0u);
}

}  // namespace topology_torus_test
