// The policy in the core: its arithmetic against a plain reference, and its draws against their formula.
#include <cstring>

#include "learning/perceptron.hpp"
#include "simcore/routing/choice.hpp"
#include "support/seam.hpp"
#include "support/trace.hpp"

namespace learning_policy_test {

using namespace scenes;

const std::vector<std::vector<double>> kHidden = {{}, {1}, {7}, {16}, {33}, {33, 7, 1}, {17, 64}};

// ---- The perceptron ----

TEST(policy_scores_equal_a_plain_reference) {
  for (const std::string network : {"slots", "flat"})
    for (const auto& hidden : kHidden)
      for (const i64 slots : {2, 5, 16, 7}) {
        const std::string activation = slots == 7 ? "tanh" : "relu";
        const auto net =
            build(seam_on_dragonfly(policy(network, hidden, {{"slots", slots}, {"activation", activation}})));
        const Seam& seam = *net->seam;
        State s;
        initialise(*net, s);
        const Weights weights(layers_of(seam, hidden), 3);
        weights.load(*net, s);
        constexpr u32 kRows = 19;
        std::vector<float> rows(kRows * seam.width), scores(kRows * seam.slots);
        for (std::size_t k = 0; k < rows.size(); k++) rows[k] = 3 * weight_of(4, k);
        policy_scores(*net, s, rows.data(), kRows, scores.data());
        for (u32 j = 0; j < kRows; j++) {
          const float* const row = &rows[j * seam.width];
          std::vector<double> wanted;
          if (network == "flat") {
            wanted = weights.forward({row, row + seam.width}, slots == 7);
          } else {
            for (u32 k = 0; k < seam.slots; k++) {
              std::vector<double> x(row, row + seam.general);
              x.insert(x.end(), row + seam.general + k * seam.per_slot, row + seam.general + (k + 1) * seam.per_slot);
              wanted.push_back(weights.forward(x, slots == 7)[0]);
            }
          }
          for (u32 k = 0; k < seam.slots; k++) CHECK_NEAR(scores[j * seam.slots + k], wanted[k], 1e-5);
        }
      }
}

// The loops of every vector width give the bits of the loops for 4 floats.
TEST(vectors_of_every_length_give_the_same_bits) {
  const auto& all = learning::perceptron_loops();
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2");
  CHECK_EQ(all.size(), std::size_t{1} + avx2 + (avx2 && __builtin_cpu_supports("avx512f")));
#endif
  CHECK(all.back() == &learning::perceptron_loops_4);
  constexpr u32 kBlock = learning::kUnitBlock;
  for (u32 n = 0; n < 160; n++) {
    const u32 rows = 1 + n % 17, inputs = 1 + n * 7 % 70, width = (1 + n % 5) * kBlock, hidden = n % 4;
    const u32 most = std::max((inputs + kBlock - 1) / kBlock * kBlock, width), general = inputs / 2,
              per_slot = inputs - general;
    u32 k = 0;
    const auto random = [&](std::size_t count) {
      std::vector<float> x(count);
      for (float& value : x) value = k++ % 5 == 0 ? 0.0f : 2 * weight_of(n, k);
      return x;
    };
    const std::vector<float> in = random(std::size_t{rows} * inputs), weight = random((most + 1) * std::size_t{width}),
                             last_weight = random(width), row = random(general + std::size_t{rows} * per_slot);
    std::vector<u32> sizes = {inputs};
    for (u32 l = 0; l < hidden; l++) sizes.push_back(width - l);
    sizes.push_back(1);
    const std::vector<std::size_t> offsets(hidden + 1, 0);  // parts of the same matrix
    const auto activation = n % 3 == 0 ? learning::Units::kTanh : learning::Units::kRectified;
    const auto results = [&](const learning::PerceptronLoops& loops) {
      std::vector<float> out(std::size_t{rows} * width), scores(rows), scratch(std::size_t{2} * rows * most);
      std::vector<u32> lists(2 * most);
      loops.block(in.data(), inputs, rows, inputs, weight.data(), width, last_weight.data(), out.data(), width,
                  n % 4 == 0 ? learning::Units::kLinear : activation);
      loops.score_slots({.weights = weight.data(),
                         .offsets = offsets.data(),
                         .sizes = sizes.data(),
                         .hidden = hidden,
                         .last_weight = last_weight.data(),
                         .general = general,
                         .per_slot = per_slot,
                         .activation = activation,
                         .scratch = {scratch.data(), &scratch[std::size_t{rows} * most]},
                         .lists = {lists.data(), &lists[most]},
                         .worked = [](u64) {}},
                        row.data(), rows, scores.data());
      out.insert(out.end(), scores.begin(), scores.end());
      return out;
    };
    const std::vector<float> wanted = results(*all.back());
    CHECK(std::ranges::all_of(wanted, [](float x) { return std::isfinite(x); }));
    CHECK(std::ranges::any_of(wanted, [](float x) { return x != 0; }) || rows * inputs < 4);
    for (const learning::PerceptronLoops* loops : all) {
      const std::vector<float> got = results(*loops);
      CHECK_FOR(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(float)) == 0, loops->name);
    }
  }
}

// Many rows at once in a run: the choice is the best score of the row computed alone, to the last bit, and never a
// masked slot.
TEST(policy_takes_the_best_slot) {
  for (const std::string network : {"slots", "flat"})
    for (const std::vector<double>& hidden : {std::vector<double>{}, {33, 7}, {17, 64}})
      for (const bool on_hyperx : {false, true}) {
        const bool wide = hidden.size() == 2 && hidden[0] == 17;
        const std::string activation = wide == on_hyperx ? "tanh" : "relu";
        const Section routing =
            policy(network, hidden, {{"slots", wide ? i64{16} : i64{6}}, {"activation", activation}});
        Simulation sim(on_hyperx ? seam_on_hyperx(routing, input_queued())
                                 : seam_on_dragonfly(routing, input_queued()));
        const Network& net = sim.network();
        const Seam& seam = *net.seam;
        std::map<u32, u32> taken;
        std::vector<float> scores(seam.slots);
        u32 together = 0;
        for (u32 cycle = 0; cycle < 500; cycle++) {
          if (cycle % 50 == 0) Weights(layers_of(seam, hidden), cycle).load(net, sim.state());
          sim.collect();
          sim.apply(nullptr, 0);
          const Decisions& d = sim.batch().decisions;
          if (sim.batch().count == 0) continue;
          together = std::max(together, d.count);
          for (u32 j = 0; j < d.count; j++) {
            policy_scores(net, sim.state(), d.observation.data() + std::size_t{j} * seam.width, 1, scores.data());
            u32 best = 0;
            for (u32 k = 1; k < d.slot_count[j]; k++)
              if (scores[k] > scores[best]) best = k;
            CHECK_EQ(d.chosen[j], best);
            CHECK_EQ(d.log_probability[j], 0.0f);
            taken[best]++;
          }
        }
        CHECK_FOR(taken.size() > 1 && together > 8, network + " " + net.topology_name + ": " +
                                                        std::to_string(taken.size()) + ", " + std::to_string(together));
      }
}

TEST(policy_takes_the_first_of_equals) {
  // Slots 2 and 4 are equal and better than slot 0: the first of them wins.
  Lone x(build(seam_on_dragonfly(policy("flat", {}))));
  const u32 width = x.net.seam->width;
  for (const u32 slot : {2u, 4u}) x.state.weights[std::size_t{width} * 16 + slot] = 1;
  x.ask(x.send(2, 10));
  CHECK(x.batch.decisions.slot_count[0] == 5 && x.batch.decisions.chosen[0] == 2);
}

// Three heads at router 0 of a line of 4 for router 3, in one cycle. The first had its detour, so it can only take the
// direct link. The score of a slot is minus `asking`. Greedy: all take the direct link. Sequential: the other heads see
// the earlier ones, and each takes another link. Heads at another router do not count, nor those of an earlier cycle.
TEST(sequential_allocation_counts_the_earlier_heads_of_a_router) {
  for (const char* network : {"slots", "flat"})
    for (const char* allocation : {"greedy", "sequential"}) {
      const bool sequential = allocation == std::string("sequential");
      Lone x = lone(
          hyperx_section({4}, 1),
          policy(network, {}, {{"relation", "dim_war"}, {"observation", "path+relative"}, {"allocation", allocation}}));
      const Seam& seam = *x.net.seam;
      const ObservationSpec& path = *seam.blocks[0];
      const std::size_t asking = path.per_slot.size() + 4, packet_time = path.general.size() + 3;  // columns
      for (u32 k = 0; k < (seam.policy.per_slot ? 1 : seam.slots); k++)
        x.state.weights[(seam.general + k * seam.per_slot + asking) * 16 + k] = -1;
      x.resize(3);
      for (Packet& p : x.state.packets) {
        p.flits = 5;
        p.destination = 3;
      }
      x.state.packets[0].hops = 1;
      const Decisions& d = x.batch.decisions;
      for (const u32 third_router : {0u, 1u, 0u}) {
        x.request(0, {0, 1, 0}, 0);
        x.request(1, {0, 0, 0}, 1);
        x.request(2, {third_router, 0, 0}, 2);
        x.net.route(x.net, x.state, x.batch);
        CHECK_EQ(d.count, 2u);
        const float* const row = d.observation.data();
        CHECK_EQ(x.batch.out_port[0], 3u);
        CHECK_EQ(x.batch.out_port[1] == 3, !sequential);
        CHECK(row[packet_time] > 0);
        CHECK_EQ(row[seam.general + asking], sequential ? row[packet_time] : 0);
        CHECK_EQ(d.chosen[1] == 0, !sequential || third_router == 1);
        CHECK(!sequential || x.batch.out_port[2] != x.batch.out_port[1] || third_router == 1);
      }
    }
  const Section without = policy("slots", {}, {{"observation", "path"}, {"allocation", "sequential"}});
  CHECK_THROWS(ConfigError, lone(hyperx_section({4}, 1), without), "use greedy");
}

// ---- Random choices ----

namespace {

// A packet alone with 5 candidates in 8 slots. The scores are the biases: 0.3 k, and far higher for masked slots.
struct Draws {
  std::vector<double> part = std::vector<double>(8);
  void operator()(double epsilon, double temperature, u32 count) {
    Lone x(build(seam_on_dragonfly(policy("flat", {}, {{"epsilon", epsilon}, {"temperature", temperature}}))));
    for (u32 k = 0; k < 8; k++)
      x.state.weights[std::size_t{x.net.seam->width} * 16 + k] = k < 5 ? 0.3f * static_cast<float>(k) : 50.0f;
    const Decisions& d = x.batch.decisions;
    double sum = 0, wanted[5];
    for (u32 k = 0; k < 5; k++) sum += wanted[k] = temperature > 0 ? std::exp(0.3 * (k - 4.0) / temperature) : k == 4;
    for (u32 k = 0; k < 5; k++) wanted[k] = (1 - epsilon) * wanted[k] / sum + epsilon / 5;
    for (u32 n = 0; n < count; n++) {
      x.ask(x.send(2, 10, n));
      CHECK(d.slot_count[0] == 5 && d.chosen[0] < 5);
      CHECK_NEAR(d.log_probability[0], std::log(wanted[d.chosen[0]]), 1e-5);
      part[d.chosen[0]]++;
    }
    for (u32 k = 0; k < 5; k++) {
      CHECK_NEAR(part[k], count * wanted[k], 5 * std::sqrt(count * wanted[k] * (1 - wanted[k])) + 1e-9);
      part[k] /= count;
    }
  }
};

}  // namespace

TEST(epsilon_and_temperature_by_their_formula) {
  for (const double epsilon : {0.0, 0.25, 1.0})
    for (const double temperature : {0.0, 0.2, 1.0, 50.0})
      if (epsilon > 0 || temperature > 0) Draws()(epsilon, temperature, 8000);
  Draws()(0, 1e-3, 100);  // so cold that only the best remains
}

// Relations draw intermediate routers with the same packet and hop. The choice of a slot must not depend on these
// draws: packets with a small draw explore any of the slots.
TEST(the_choice_of_a_slot_is_independent_of_the_draws_of_candidates) {
  const auto net = build(seam_on_dragonfly(policy("flat", {})));
  u32 small = 0, explored = 0;
  double sum = 0;
  for (u32 n = 0; n < 40000; n++) {
    Packet p{};
    p.source = 2;
    p.sequence = n;
    const double choice = unit(routing::select_draw(*net, p, 0));
    explored += choice < 0.05;
    if (unit(routing::route_draw(*net, p, 0)) >= 0.05) continue;
    small++;
    sum += choice;
  }
  CHECK_NEAR(explored, 2000, 5 * std::sqrt(2000));
  CHECK_NEAR(sum / small, 0.5, 5 * std::sqrt(1 / 12.0 / small));
}

// Training may change both between two runs.
TEST(epsilon_and_temperature_may_change_in_a_run) {
  Simulation sim(seam_on_dragonfly(policy("slots", {}, {{"epsilon", 1.0}, {"temperature", 2.0}})));
  CHECK(sim.state().part.learning.epsilon == 1 && sim.state().part.learning.temperature == 2);
  sim.run(50);
  sim.state().part.learning.epsilon = 0;
  sim.state().part.learning.temperature = 0;
  for (u32 cycle = 0; cycle < 300; cycle++) {
    sim.collect();
    sim.apply(nullptr, 0);
    for (u32 j = 0; sim.batch().count && j < sim.batch().decisions.count; j++)
      CHECK_EQ(sim.batch().decisions.chosen[j], 0u);
  }
}

// `random` draws every slot equally often.
TEST(random_draws_all_slots_equally) {
  Lone x(build(seam_on_dragonfly({"random", {}})));
  std::vector<u32> taken(5);
  for (u32 n = 0; n < 10000; n++) {
    x.ask(x.send(2, 10, n));
    taken.at(x.batch.decisions.chosen[0])++;
  }
  for (const u32 n : taken) CHECK_NEAR(n, 2000, 5 * std::sqrt(1600.0));
}

// State hashes as in trace_test.cpp. The scenes compute no exponential, so the hashes are the same in every build.
TEST(golden_hashes_with_a_seam) {
  const Section trained = policy("slots", {16, 7}, {{"record", 512}}),
                flat = policy("flat", {9}, {{"record", 512}, {"reward", "end_to_end_delay"}}),
                random = {"random", {{"record", 512}, {"slots", 3}}};
  const std::pair<const char*, u64> recorded[] = {{"policy, dragonfly", 0x3fd4833610ec954dull},
                                                  {"policy, hyperx", 0x526bd373cf5b2f8cull},
                                                  {"random, dragonfly", 0xb86875b4b0d37bc8ull}};
  std::vector<std::pair<std::string, u64>> found;
  for (const Config& c : {seam_on_dragonfly(trained, hpdc21(), 0.5), seam_on_hyperx(flat, sc19(), 0.5),
                          seam_on_dragonfly(random, sc22(), 0.5)}) {
    Simulation sim(c);
    for (std::size_t k = 0; k < sim.state().weights.size(); k++) sim.state().weights[k] = weight_of(1, k);
    sim.run(2000);
    CHECK(sim.state().part.learning.transitions > 512);
    found.emplace_back(recorded[found.size()].first, sim.hash());
  }
  CHECK_EQ(changed_hashes(found, recorded), "");
}

}  // namespace learning_policy_test
