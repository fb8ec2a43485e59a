// Baselines that balance load over minimal paths (ecmp, packet_spray, flowlet, reps), polarized routing, and the
// relation of detours.
#include "simcore/rng.hpp"
#include "support/crafted.hpp"
#include "support/links.hpp"
#include "support/tables.hpp"

namespace routing_graph_balancing_test {

using namespace scenes;

// Leaves with 4 terminals each, and as many spines as `spines`. Every pair of leaves has one path per spine.
Section leaf_spine(double leaves, double spines) { return tree({4, leaves}, {1, spines}); }

std::vector<u32> path(Lone& x, u32 source, u32 destination, u32 sequence) {
  std::vector<u32> routers;
  x.walk(source, destination, sequence, [&](u32 router, const Step&) { routers.push_back(router); });
  return routers;
}

// The packets of a pair share a path. Over many pairs each of 8 spines gets an eighth.
TEST(ecmp_keeps_a_flow_on_one_path_and_spreads_flows) {
  Lone x = lone(leaf_spine(8, 8), {"ecmp", {}});
  std::map<u32, u32> uses;
  u32 flows = 0;
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 to = 0; to < x.net.terminals; to++) {
      if (x.net.terminal_router[source] == x.net.terminal_router[to]) continue;
      const auto first = path(x, source, to, 0);
      for (const u32 sequence : {1u, 2u, 77u}) CHECK(path(x, source, to, sequence) == first);
      uses[first[1]]++;
      flows++;
    }
  CHECK_EQ(uses.size(), 8u);
  double chi = 0;
  for (const auto& [spine, n] : uses) chi += (n - flows / 8.0) * (n - flows / 8.0) / (flows / 8.0);
  CHECK(chi < 24.3);  // 0.999 quantile of the chi-square distribution with 7 degrees of freedom
}

// Three levels. With a shared hash the second switch of a path repeats the choice of the first. A flow that went to
// parent k of its leaf goes to parent k again, so it uses only a part of the paths.
TEST(a_shared_hash_polarises) {
  std::map<std::string, std::size_t> tops;
  for (const std::string hash : {"per_router", "shared"}) {
    Lone x = lone(tree({4, 4, 4}, {1, 4, 4}), {"ecmp", {{"hash", hash}}});
    std::set<u32> used;
    for (u32 source = 0; source < 16; source++)
      for (u32 to = 16; to < x.net.terminals; to++) used.insert(path(x, source, to, 0)[2]);
    tops[hash] = used.size();
  }
  CHECK_EQ(tops["per_router"], 16u);
  CHECK_EQ(tops["shared"], 4u);
}

TEST(ecmp_by_message_separates_messages) {
  Lone x = lone(leaf_spine(4, 8), {"ecmp", {{"flow", "message"}}});
  std::set<u32> spines;
  for (u32 sequence = 0; sequence < 100; sequence++) spines.insert(path(x, 0, 9, sequence)[1]);
  CHECK_EQ(spines.size(), 8u);  // without a workload every packet is a message
}

TEST(packet_spray_uses_all_minimal_paths_equally) {
  Lone x = lone(leaf_spine(4, 8), {"packet_spray", {}});
  std::map<u32, u32> uses;
  constexpr u32 kPackets = 8000;
  for (u32 sequence = 0; sequence < kPackets; sequence++) uses[path(x, 0, 9, sequence)[1]]++;
  CHECK_EQ(uses.size(), 8u);
  double chi = 0;
  for (const auto& [spine, n] : uses) chi += (n - 1000.0) * (n - 1000.0) / 1000.0;
  CHECK(chi < 24.3);
}

// A flow keeps its port while gaps are at most gap_ns, and afterwards takes each of 8 ports with equal probability.
TEST(flowlets_change_ports_only_after_a_gap) {
  Lone x = lone(leaf_spine(4, 8), {"flowlet", {{"gap_ns", 100.0}}});
  const auto port_at = [&](Cycle now, u32 sequence) {
    x.batch.now = now;
    const Place at = x.send(0, 9, sequence);
    return x.ask(at).port;
  };
  u32 changes = 0;
  Cycle now = 0;
  const u32 gap = static_cast<u32>(100 / x.net.cycle_ns);
  u32 port = port_at(now, 0);
  for (u32 n = 1; n < 2000; n++) {
    const bool short_gap = n % 2 == 0;
    now += short_gap ? gap : gap + 1;
    const u32 next = port_at(now, n);
    if (short_gap) CHECK_EQ(next, port);
    changes += next != port;
    port = next;
  }
  CHECK_NEAR(changes, 1000 * 7 / 8., 60);  // 6 standard deviations
}

// Two flows share the only entry of the table, and each has the other's port as a minimal port or draws again.
TEST(flowlets_that_share_an_entry_stay_on_minimal_paths) {
  Lone x = lone(torus({4, 4}), {"flowlet", {{"entries", 1}}});
  for (u32 n = 0; n < 500; n++) {
    const u32 source = below(draw(3, n, 0), x.net.terminals), to = below(draw(3, n, 1), x.net.terminals);
    if (x.net.terminal_router[source] == x.net.terminal_router[to]) continue;
    const u32 minimal = distance(x.net, *x.net.graphs[0], x.net.terminal_router[source], x.net.terminal_router[to]);
    CHECK_EQ(path(x, source, to, n).size(), minimal);
  }
}

// The ring of a connection, by hand: entropies return after the flight back, the oldest is used first, each once.
TEST(reps_recycles_entropies_of_unmarked_packets) {
  Lone x = lone(leaf_spine(4, 8), {"reps", {{"mark_flits", 10}}});
  u16* const entropy = kept<u16>(x.net, x.state, "reps_entropy");
  u8* const marked = kept<u8>(x.net, x.state, "reps_marked");
  const u32 from = x.net.terminal_router[0], to = x.net.terminal_router[9];
  const Place arrival{to, x.net.first_link[to], 0};
  const auto acknowledge = [&](u16 value, u8 mark, Cycle now) {
    x.send(0, 9);
    x.packet().hops = 2;
    entropy[0] = value;
    marked[0] = mark;
    x.batch.now = now;
    x.ask(arrival);
  };
  const auto next = [&](Cycle now, u32 sequence) {
    const Place at = x.send(0, 9, sequence);
    x.batch.now = now;
    x.ask(at);
    return u32{entropy[0]};
  };
  const auto back = static_cast<Cycle>(flight(x.net, *x.net.graphs[0], to, from) / x.net.cycle_ns);
  CHECK(back > 0);
  const u32 fresh = next(100, 7);
  acknowledge(11, 0, 100), acknowledge(22, 1, 100), acknowledge(33, 0, 101);
  CHECK_EQ(next(100 + back - 1, 7), fresh);  // nothing is back: the draw of packet 7
  CHECK_EQ(next(101 + back, 1), 11u);
  CHECK_EQ(next(101 + back, 2), 33u);  // 22 was marked
  CHECK_EQ(next(101 + back, 7), fresh);
}

// A queue at the chosen port marks a packet. So does the only port down to a leaf.
TEST(reps_marks_packets_at_long_queues) {
  Lone x = lone(leaf_spine(4, 2), {"reps", {{"mark_flits", 3}}});
  u8* const marked = kept<u8>(x.net, x.state, "reps_marked");
  for (const u32 flits : {2u, 3u}) {
    const Place at = x.send(0, 9);
    for (u32 k = 0; k < 2; k++) congest(x, at.router, x.net.first_link[at.router] + k, 0, 0, flits);
    x.ask(at);
    CHECK_EQ(u32{marked[0]}, flits == 3u ? 1u : 0u);
  }
  Lone idle = lone(leaf_spine(4, 2), {"reps", {{"mark_flits", 3}}});
  Place at = idle.send(0, 9);
  at = idle.behind(at.router, idle.ask(at));  // a spine
  idle.packet().hops = 1;
  congest(idle, at.router, idle.candidates(at).at(0).port, 0, 0, 3);
  idle.ask(at);
  CHECK_EQ(u32{kept<u8>(idle.net, idle.state, "reps_marked")[0]}, 1u);
}

// A permutation on a leaf-spine network: hashed flows collide on some spines, sprayed packets do not. Recycling leaves
// the paths that collide.
TEST(spraying_and_recycling_carry_a_permutation_that_collides_under_ecmp) {
  const Section network = leaf_spine(8, 4), pattern{"bit_complement", {{"load", 0.9}}};
  std::map<std::string, double> load;
  for (const std::string routing : {"ecmp", "packet_spray", "reps"})
    load[routing] = accepted_output_queued(network, {routing, {}}, pattern);
  CHECK(load["ecmp"] < 0.75);
  CHECK(load["packet_spray"] > 0.87);
  CHECK(load["reps"] > 0.87);
}

namespace {

// The published rule as a table of the changes of both distances: (away from the source, towards the destination).
bool allowed(i32 from_source, i32 to_destination, bool first_half) {
  static const std::set<std::pair<i32, i32>> rising{{1, -1}, {1, 0}, {0, -1}};
  if (rising.contains({from_source, to_destination})) return true;
  return first_half ? from_source == 1 && to_destination == 1 : from_source == -1 && to_destination == -1;
}

}  // namespace

// Walks all paths that the relation offers and compares each hop with the table of the paper.
TEST(polarized_offers_the_published_hops) {
  for (const Section& topology :
       {hyperx_section({4, 4}, 1), random_regular(20, 4, 3, 1), Section{"slim_fly", {{"q", 5}}}, torus({5, 4})}) {
    Lone x = lone(topology, {"external", {{"relation", "polarized"}}});
    const u32 diameter = x.net.graphs[0]->diameter, budget = std::min(2 * diameter, 4 * diameter - 3);
    CHECK_EQ(x.net.routing_facts.max_hops, budget);
    const auto neighbors = neighbors_of(x.net);
    u32 longer = 0;
    for (u32 t = 1; t < x.net.terminals; t += 5) {
      const u32 from = x.net.terminal_router[0], to = x.net.terminal_router[t];
      if (from == to) continue;
      const auto source = hops_from(neighbors, from), destination = hops_from(neighbors, to);
      x.send(0, t);
      for (u32 router = 0; router < x.net.routers; router++)
        for (u32 hops = source[router]; hops + destination[router] <= budget && router != to; hops++) {
          x.packet().hops = static_cast<u8>(hops);
          std::set<u32> wanted, offered;
          for (u32 k = 0; k < x.net.radix; k++) {
            const u32 port = x.net.port(router, k);
            if (!x.net.is_link(port)) continue;
            const u32 next = x.net.next_router(port);
            const i32 ds = static_cast<i32>(source[next]) - static_cast<i32>(source[router]),
                      dt = static_cast<i32>(destination[next]) - static_cast<i32>(destination[router]);
            if (allowed(ds, dt, source[router] < destination[router]) && hops + 1 + destination[next] <= budget)
              wanted.insert(k);
          }
          const auto steps = x.candidates({router, 0, 0});
          CHECK_EQ(destination[x.net.next_router(x.net.port(router, steps[0].port))] + 1, destination[router]);
          for (const Step& step : steps) {
            CHECK_EQ(step.vc_class, hops);
            offered.insert(step.port);
            longer += destination[x.net.next_router(x.net.port(router, step.port))] >= destination[router];
          }
          const auto nearer = [&](u32 k) {
            return destination[x.net.next_router(x.net.port(router, k))] < destination[router];
          };
          if (!wanted.empty() && std::ranges::none_of(wanted, nearer)) wanted.insert(steps[0].port);
          if (wanted.empty()) {
            for (const u32 k : offered)
              CHECK_EQ(destination[x.net.next_router(x.net.port(router, k))] + 1, destination[router]);
          } else {
            CHECK(offered == wanted);
          }
        }
    }
    CHECK(longer > 0);
  }
}

// ---- Detours: every path up to a bound on hops, without a hop straight back ----

constexpr u32 kDeroutes = 2;

// Neighbours may take paths of four hops: in a Slim Fly they have no other path of three.
u32 longest_of(u32 minimal) { return std::max(minimal, 2u) + kDeroutes; }

// Counts the walks of at most `hops` hops that never take a link straight back, from the wiring alone.
u64 walks(const Network& net, u32 router, u32 from, u32 to, u32 hops) {
  if (router == to) return 1;
  if (hops == 0) return 0;
  u64 count = 0;
  for (u32 k = 0; k < net.radix; k++) {
    const u32 port = net.port(router, k);
    if (!net.is_link(port)) continue;
    const u32 next = net.next_router(port);
    if (next != from) count += walks(net, next, router, to, hops - 1);
  }
  return count;
}

// Counts the paths that the relation offers. The VC class is the number of hops done, and no path is longer than
// `most`.
u64 offered(Lone& x, Place at, u32 from, u32 to, u32 hops, u32 most) {
  x.packet().hops = static_cast<u8>(hops);
  const auto steps = x.candidates(at);
  if (at.router == to) {
    CHECK(steps.size() == 1 && x.ejects(at.router, steps[0]) && hops <= most);
    return 1;
  }
  u64 count = 0;
  for (const Step& step : steps) {
    const Place next = x.behind(at.router, step);
    CHECK(step.vc_class == hops && next.router != from);
    count += offered(x, next, at.router, to, hops + 1, most);
  }
  return count;
}

TEST(detours_are_all_paths_without_a_hop_straight_back) {
  for (const Section& topology :
       {torus({8}), torus({5, 4}, 1, {1, 2}), torus({4, 4, 3}), random_regular(16, 3, 1), random_regular(24, 5, 2),
        tree({2, 2, 2}, {1, 2, 2}), Section{"slim_fly", {{"q", 5}}}})
    for (const Section& routing : {Section{"external", {{"relation", "detours"}}}, {"q_adaptive", {}}}) {
      Lone x = lone(topology, routing);
      u64 longer = 0;
      for (u32 destination = 1; destination < x.net.terminals; destination += 3) {
        const u32 from = x.net.terminal_router[0], to = x.net.terminal_router[destination];
        if (from == to) continue;
        const u32 minimal = distance(x.net, *x.net.graphs[0], from, to), most = longest_of(minimal);
        const u64 all = walks(x.net, from, kNone, to, most);
        CHECK_EQ(offered(x, x.send(0, destination), kNone, to, 0, most), all);
        longer += all - walks(x.net, from, kNone, to, minimal);
      }
      CHECK_FOR(longer > 0 || x.net.radix == 3, routing.name + " " + x.net.fingerprint);
    }
}

// A packet goes straight back if a link has failed and no other port leads closer.
TEST(detours_go_back_from_a_dead_end) {
  // 0 - 1 - 2 and 0 - 3 - 4 - 2. The link 1 - 2 fails while a packet is on its way to 1.
  Config wanted =
      config({"graph", {{"links", std::vector<double>{0, 1, 1, 2, 0, 3, 3, 4, 4, 2}}, {"terminals_per_router", 1}}},
             input_queued(), {"q_adaptive", {}}, planned({{0, 2}}));
  wanted.failures = {{"events", "1-2@5"}};
  Simulation sim(wanted);
  sim.begin_window();
  sim.run(2000);
  CHECK_EQ(sim.state().part.window.delivered, 1u);
  CHECK_EQ(sim.state().part.window.hops, 5u);  // to 1 and back, and the other path
}

}  // namespace routing_graph_balancing_test
