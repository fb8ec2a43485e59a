// The learning seam: the candidates in an agent's slots, and their features.

#include "support/seam.hpp"
#include "simcore/graph.hpp"
#include "simcore/topology/dragonfly.hpp"
#include "simcore/topology/hyperx.hpp"

namespace learning_seam_test {

using namespace scenes;

// ---- Slots ----

// A packet alone at its source: terminal 2 (router 1) to group 1 has the minimal port 2, local ports 3, 4 and global
// ports 5, 6.
TEST(all_candidates_in_order_where_they_fit) {
  Lone x = lone(small_network(), {"agent", {{"slots", 8}}});
  const Shown shown = show(x, x.send(2, 10));
  CHECK_EQ(shown.count, 5u);
  for (u32 k = 0; k < 5; k++) CHECK(shown.slots[k] == (Step{2 + k, 0}));
  CHECK(shown.mask == (std::vector<u8>{1, 1, 1, 1, 1, 0, 0, 0}));
  for (u32 k = 5; k < 8; k++)
    for (const auto& [name, value] : shown.per_slot[k]) CHECK_EQ(value, 0.0f);
  // A single candidate is no decision: ejection, and a hop within the last group.
  CHECK_EQ(show(x, x.send(2, 3)).count, 0u);
  CHECK(x.batch.out_port[0] == 1 && x.batch.out_class[0] == 0);
  CHECK_EQ(show(x, x.send(2, 0)).count, 0u);
  CHECK(x.batch.out_port[0] == 2 && x.batch.out_class[0] == 0);

  // At most 3 + 2 * 2 and 5 candidates.
  for (const auto& [name, loaded_config] : loaded({"agent", {{"slots", 16}}})) {
    Simulation sim(loaded_config);
    u64 seen = 0;
    for (u32 cycle = 0; cycle < 300; cycle++)
      advance(sim, [&](u32 j) {
        const Batch& b = sim.batch();
        const u32 i = b.decisions.request[j], first = b.offsets[i], n = b.offsets[i + 1] - first;
        CHECK_EQ(b.decisions.slot_count[j], n);
        for (u32 k = 0; k < n; k++)
          CHECK(b.decisions.ports[j * 16 + k] == b.candidate_port[first + k] &&
                b.decisions.classes[j * 16 + k] == b.candidate_class[first + k]);
        seen++;
        return any_slot(sim, b, j);
      });
    CHECK(seen > 100);
  }
}

// 3 slots of 5 candidates: the minimal candidate, and each ordered pair of the other four with probability 1/12.
TEST(slots_are_drawn_equally) {
  Lone x = lone(small_network(), {"agent", {{"slots", 3}}});
  constexpr u32 kDraws = 12000;
  std::map<std::pair<u32, u32>, u32> pairs;
  for (u32 n = 0; n < kDraws; n++) {
    const Shown shown = show(x, x.send(2, 10, n));
    CHECK(shown.count == 3 && shown.slots[0] == (Step{2, 0}));
    pairs[{shown.slots[1].port, shown.slots[2].port}]++;
  }
  CHECK_EQ(pairs.size(), 12u);
  double squares = 0;
  for (const auto& [pair, n] : pairs) {
    CHECK(pair.first != pair.second);
    squares += (n - kDraws / 12.0) * (n - kDraws / 12.0) / (kDraws / 12.0);
  }
  CHECK_FOR(squares < 40, std::to_string(squares));  // 11 degrees of freedom: 1 in 30,000
}

TEST(the_seam_refuses_impossible_choices) {
  Simulation sim(seam_on_dragonfly({"agent", {}}));
  CHECK_THROWS(CoreError, sim.run(1), "collect");
  u32 n = 0;
  while ((n = sim.collect()) == 0) sim.apply(nullptr, 0);
  std::vector<u32> choices(n, 0);
  CHECK_THROWS(ConfigError, sim.apply(choices.data(), n - 1), "choices");
  choices[n - 1] = sim.batch().decisions.slot_count[n - 1];
  CHECK_THROWS(ConfigError, sim.apply(choices.data(), n), "masked out");
  CHECK_EQ(sim.state().part.learning.decisions, 0u);
  choices[n - 1]--;
  sim.apply(choices.data(), n);
  CHECK_EQ(sim.state().part.learning.decisions, u64{n});
}

// ---- Observations ----

// input_queued: a buffer of 256 flits. A local hop takes 11 ns, a global hop 101. From router 1 to router 5 (group 1):
// 1 -> 0 -> 4 -> 5.
TEST(observation_by_hand) {
  Lone x = lone(small_network(), {"agent", {{"slots", 6}}});
  CHECK_EQ(x.net.seam->general, 8u);
  CHECK_EQ(x.net.seam->per_slot, 7u);
  CHECK_EQ(x.net.seam->width, 8u + 6 * 7);
  const Place at = x.send(2, 10);
  x.packet().injected = 100;
  x.packet().flits = 4;
  x.batch.now = x.state.part.totals.now = 500;
  congest(x, 1, 3, 0, 0, 64);  // class 0, the packet's class
  congest(x, 1, 3, 2, 0, 96);  // another class
  congest(x, 1, 6, 0, 0, 256);
  x.state.input_vcs[x.net.vc_id(x.net.port(1, 0), 0)].count = 32;
  x.net.feedback.row(x.state, 1, 1)[2] = 250;  // router 1, group 1, third column: port 4
  Shown shown = show(x, at);
  const std::map<std::string, float> general = {
      {"hops", 0},     {"age", 0.4f},     {"size", 0.25f},       {"load_mean", (64 + 96 + 256) / 256.0f / 5},
      {"load_max", 1}, {"queue", 0.125f}, {"hops_left", 0.375f}, {"time_left", 0.123f}};
  CHECK_EQ(shown.general.size(), general.size());
  for (const auto& [name, value] : general)
    CHECK_FOR(std::abs(shown.general.at(name) - value) < 1e-6f, name + " = " + std::to_string(shown.general.at(name)));
  struct Slot {
    float link, vc_class, more_time, more_hops, hop_time, minimal, lost;
  };
  // Slots 1 and 2, by router 2 or 3: another local hop. Slots 3 and 4, by a global link to group 3 or 4. There router 0
  // has the links to groups 0 and 1 (q = 0, 1). In group 1, router 1 has the links to groups 3 and 4 (q = 2, 3). So
  // this path has two hops and takes 101 + 101 = 202 ns.
  const Slot slots[] = {{0, 0, 0, 0, 0.011f, 1, 0},
                        {0.625f, 0.25f, 0.011f, 0.5f, 0.011f, 0, 0},
                        {0, 0, 0.011f, 0.5f, 0.011f, 0, 0.25f},
                        {0, 0, 0.079f, -0.5f, 0.101f, 0, 0},
                        {1, 1, 0.079f, -0.5f, 0.101f, 0, 0}};
  for (u32 k = 0; k < 5; k++) {
    const auto got = [&](const char* name, float value) {
      CHECK_FOR(
          std::abs(shown.per_slot[k].at(name) - value) < 1e-6f,
          std::string(name) + " of slot " + std::to_string(k) + " = " + std::to_string(shown.per_slot[k].at(name)));
    };
    got("link", slots[k].link);
    got("class", slots[k].vc_class);
    got("more_time", slots[k].more_time);
    got("more_hops", slots[k].more_hops);
    got("hop_time", slots[k].hop_time);
    got("minimal", slots[k].minimal);
    got("lost", slots[k].lost);
  }
  for (const auto& [name, value] : shown.per_slot[5]) CHECK_FOR(value == 0, name);

  // Half-way: one hop done, at the first router of group 3 (router 12), reached by a global link (port 5).
  x.packet().hops = 1;
  shown = show(x, {12, 5, 0});
  CHECK_EQ(shown.general.at("hops"), 0.125f);
  CHECK_EQ(shown.general.at("load_max"), 0.0f);
  CHECK_EQ(shown.general.at("hops_left"), 0.125f);
}

// Output queues: hpdc21 has 20 + 20 flits per VC. A local hop takes 31 cycles, the pipeline 1 and the queue 20: 83.2
// ns. With 8 VCs for 5 classes, class 0 has VCs 0 and 5, and the emptier one counts.
TEST(observation_by_hand_with_output_queues) {
  Lone x = lone(small_network(), {"agent", {}}, merge(hpdc21(), {{"vcs", 8}}));
  const Place at = x.send(2, 10);
  congest(x, 1, 2, 0, 8, 20);
  congest(x, 1, 2, 5, 2, 6);
  congest(x, 1, 2, 1, 4, 0);
  const Shown shown = show(x, at);
  CHECK_NEAR(shown.per_slot[0].at("link"), 40 / 40.0, 1e-6);
  CHECK_NEAR(shown.per_slot[0].at("class"), 8 / 40.0, 1e-6);
  CHECK_NEAR(shown.per_slot[0].at("hop_time"), 0.0832, 1e-6);
  CHECK_NEAR(shown.general.at("time_left"), (52 * 2 + 221) * 1.6e-3, 1e-6);
  CHECK_NEAR(shown.general.at("load_mean"), 1 / 5.0, 1e-6);
}

// The first candidate is always on the minimal path, between any two terminals, and the path takes the given time.
TEST(the_first_candidate_is_on_the_minimal_path) {
  for (const Section& topology : {small_network(), dragonfly_section(1, 3, 1, 4),
                                  hyperx_section({3, 4}, 1, {{"links", std::vector<double>{2, 1}}})}) {
    Lone x = lone(topology, {"agent", {}});
    const Seam& seam = *x.net.seam;
    for (u32 from = 0; from < x.net.terminals; from++)
      for (u32 to = 0; to < x.net.terminals; to++) {
        Place at = x.send(from, to);
        const u32 end = x.net.terminal_router[to];
        CHECK_EQ(distance(x.net, *x.net.graphs[0], at.router, end),
                 x.net.topology->hops_between(x.net, at.router, end));
        float time = 0;
        const float whole = flight(x.net, *x.net.graphs[0], at.router, end);
        while (at.router != end) {
          const Shown shown = show(x, at);
          if (shown.count)
            CHECK_FOR(shown.per_slot[0].at("more_hops") == 0 && std::abs(shown.per_slot[0].at("more_time")) < 1e-6f,
                      x.net.fingerprint);
          const u32 port = shown.count ? shown.slots[0].port : x.batch.out_port[0],
                    vc_class = shown.count ? shown.slots[0].vc_class : x.batch.out_class[0];
          time += seam.hop_ns[x.net.port(at.router, port)];
          at = x.behind(at.router, {port, vc_class});
          x.packet().hops++;
        }
        CHECK_NEAR(time, whole, 1e-3);
      }
  }
}

// ---- The block remote_queues: with relation=ugal_global its least value is the choice of UGAL-G ----

Lone dragonfly(const Section& routing) {
  return Lone(build(config(small_network(), hpdc21(), routing, {"uniform", {}})));
}
const Section kSeam = {"agent", {{"observation", "remote_queues"}, {"relation", "ugal_global"}, {"slots", 2}}};

// Terminal 2 (router 1) to group 1: 5 flits wait for the global link of router 0. The path has 3 hops.
TEST(remote_queues_by_hand) {
  Lone x = dragonfly(kSeam);
  congest(x, 0, 5, 0, 3, 2);
  congest(x, 1, 2, 0, 7, 0);  // the local link does not count
  const Shown shown = show(x, x.send(2, 10));
  CHECK_EQ(shown.count, 2u);
  CHECK_EQ(shown.per_slot[0].at("congestion"), 15.0f / 64);
}

TEST(least_remote_queue_is_the_choice_of_ugal_g) {
  Lone oracle = dragonfly({"ugal_global", {{"threshold", 1.0}, {"hop_weighted", true}}}), x = dragonfly(kSeam);
  u32 detours = 0, decisions = 0;
  for (u32 n = 0; n < 400; n++) {
    const u32 source = below(draw(1, n, 0), 72), destination = below(draw(1, n, 1), 72);
    const u32 group = as_dragonfly(x.net).group(x.net.terminal_router[source]);
    for (u32 router = 4 * group; router < 4 * group + 4; router++)
      for (u32 port = 5; port < 7; port++)
        for (Lone* lone : {&oracle, &x}) congest(*lone, router, port, 0, below(draw(2, n, 8 * router + port), 6), 0);
    const Shown shown = show(x, x.send(source, destination, n));
    if (shown.count < 2) continue;
    const float minimal = shown.per_slot[0].at("congestion"), detour = shown.per_slot[1].at("congestion");
    CHECK(oracle.ask(oracle.send(source, destination, n)) == shown.slots[detour < minimal]);
    detours += detour < minimal;
    decisions++;
  }
  CHECK(detours > 50 && decisions > detours + 50);
}

}  // namespace learning_seam_test
