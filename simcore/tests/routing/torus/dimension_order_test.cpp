// Dimension order on tori and meshes: zero-load latency to the cycle, freedom from deadlock with the dateline by
// exhaustion, and the bubble. The same runs drain with the bubble and deadlock without it.
#include <set>

#include "simcore/registry.hpp"
#include "support/crafted.hpp"
#include "support/dependencies.hpp"
#include "support/links.hpp"
#include "support/torus.hpp"

namespace routing_torus_dimension_order_test {

using namespace scenes;

Section routing(const std::string& avoidance, const std::vector<double>& order = {},
                const std::string& name = "dimension_order") {
  return {name, {{"deadlock_avoidance", avoidance}, {"order", order}}};
}
Lone lone(const Shape& shape, const Section& section) {
  return Lone(build(config(torus_section(shape), input_queued(), section, {"uniform", {}})));
}

// Every state of a packet (router, input port, class, destination), over all its candidates, and so every possible
// dependency. `one_class`: all classes count as one.
Edges explore(Lone& x, bool one_class = false) {
  Edges edges;
  std::vector<std::pair<Place, u32>> states;
  std::set<std::tuple<u32, u32, u32, u32>> seen;
  const u32 classes = x.net.routing_facts.classes, terminals = find_lattice(x.net)->terminals;
  for (u32 from = 0; from < x.net.routers; from++)
    for (u32 to = 0; to < x.net.terminals; to += terminals)
      for (u32 c = 0; c < classes; c++) states.push_back({{from, 0, c}, to});
  for (std::size_t n = 0; n < states.size(); n++) {
    const auto [at, to] = states[n];
    x.packet().destination = to;
    const std::vector<Step> steps = x.candidates(at);
    CHECK(!steps.empty());
    // The routing's own choice is one of the candidates, for both directions of every tie.
    for (x.packet().sequence = 0; x.packet().sequence < 4; x.packet().sequence++) {
      const Step own = x.ask(at);
      CHECK(std::any_of(steps.begin(), steps.end(), [&](const Step& s) {
        return s.port == own.port && (own.vc_class == kAnyClass || s.vc_class == own.vc_class);
      }));
    }
    for (const Step& step : steps) {
      if (x.ejects(at.router, step)) {
        CHECK_EQ(at.router, x.net.terminal_router[to]);
        continue;
      }
      CHECK(step.vc_class < classes &&
            x.net.topology->is_minimal(x.net, *x.net.graphs[0], at.router, step.port, x.net.terminal_router[to]));
      add(edges, x.net, at.router, at.in_port, one_class ? 0 : at.in_class, step.port, one_class ? 0 : step.vc_class);
      const Place next = x.behind(at.router, step);
      if (seen.insert({next.router, next.in_port, next.in_class, to}).second) states.push_back({next, to});
    }
  }
  return edges;
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

// The router of input_queued() (stage/zero_load_test.cpp): 3 + 11 cycles per hop, and one per flit after the first.
TEST(torus_zero_load_of_every_path) {
  for (const Shape& shape : {Shape{"torus", {4, 4}},
                             {"torus", {5, 2}, {2, 1}},
                             {"torus", {3, 2, 2}},
                             {"mesh", {4, 3}},
                             {"torus", {6, 2}, {1}, {0, 1}}})
    for (const std::string avoidance : {"dateline", "bubble"}) {
      const auto net = build(config(torus_section(shape), input_queued(), routing(avoidance), {"uniform", {}}));
      const auto next = neighbors_of(*net);
      for (u32 from = 0; from < net->terminals; from++)
        for (u32 to = from % 2; to < net->terminals; to += 2) {
          const u32 hops = hops_from(next, from)[to];
          const i64 flits = 1 + (from + to) % 3;
          Simulation sim(
              config(torus_section(shape), input_queued(), routing(avoidance), planned({{from, to}}, flits)));
          sim.begin_window();
          sim.run(1);
          CHECK(sim.drain(1000));
          const auto result = statistics(sim.network(), sim.state());
          CHECK_EQ(result.at("hops_mean"), hops);
          CHECK_EQ(result.at("network_latency_mean_ns"), 3 + 11.0 * hops + static_cast<double>(flits) - 1);
          CHECK_EQ(result.at("nonminimal_fraction"), 0);
        }
    }
}

// By hand, on a ring of 8 without the channels of terminals. Class 0 upwards has the channels 0-1 ... 6-7, each waits
// for the next: 6 dependencies. Class 1 upwards has 4-5 (its packets end at 0), ..., 7-0, ..., 2-3 (begun at 7): 7
// channels, 6 dependencies. Downwards is the same.
TEST(dateline_leaves_no_cycle) {
  Lone ring = lone({"torus", {8}}, routing("dateline"));
  const Edges edges = explore(ring);
  CHECK_EQ(edge_count(edges), 24u);
  CHECK_EQ(ring.net.routing_facts.classes, 2u);
  std::vector<Shape> shapes = small_shapes();
  shapes.push_back({"torus", {4, 5, 6}});
  for (const Shape& shape : shapes) {
    std::vector<double> reversed;
    for (std::size_t k = shape.sizes.size(); k-- > 0;) reversed.push_back(static_cast<double>(k));
    for (const auto& order : {std::vector<double>{}, reversed}) {
      Lone x = lone(shape, routing("dateline", order));
      CHECK_FOR(acyclic(explore(x)), x.net.fingerprint);
    }
  }
  // Without the classes there is a cycle exactly where a ring has four routers or more.
  for (const Shape& shape : shapes) {
    Lone x = lone(shape, routing("dateline"));
    const Torus& t = as_torus(x.net);
    bool long_ring = false;
    for (u32 k = 0; k < t.dimensions; k++) long_ring |= t.ring[k] && t.widths[k] > 3;
    CHECK_FOR(x.net.routing_facts.classes == (long_ring ? 2 : 1), x.net.fingerprint);
    CHECK_FOR(acyclic(explore(x, true)) != long_ring, x.net.fingerprint);
  }
}

// One VC with room for two packets, the minimum: with every arbiter, both kinds of router, and VC allocation before the
// switch.
DEEP_TEST(bubble_drains_from_saturation) {
  const auto word = [](const char* text) { return std::string(text); };
  for (const Shape& shape :
       {Shape{"torus", {8}}, {"torus", {4, 4}, {1}, {}, 2}, {"torus", {5, 4}, {2, 1}}, {"torus", {4, 3, 2}}})
    for (const std::string arbiter : {"round_robin", "least_recently_served", "age"})
      for (const i64 flits : {1, 3})
        for (const std::string& allocation : {word("with_switch"), word("before_switch")})
          for (const i64 output : {0, 2}) {
            const Values router = merge(tight(flits, output), {{"arbiter", arbiter}, {"vc_allocation", allocation}});
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
  CHECK(!acyclic(explore(x)));  // a cycle that only the bubble makes safe
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

}  // namespace routing_torus_dimension_order_test
