// Shared by the tests of the learning seam: runs in which the test makes the decisions, a decision on a single packet,
// and policies.
#pragma once

#include "simcore/learning.hpp"
#include "simcore/rng.hpp"
#include "support/crafted.hpp"

namespace scenes {

// The Dragonfly of 72 terminals, and a HyperX 4x3 with two links in y and T=3. The traffic of both fills queues.
inline Config seam_on_dragonfly(const Section& routing, const Values& router = hpdc21(), double load = 0.9,
                                u64 seed = 1) {
  return config(small_network(), router, routing, {"mixed", {{"load", load}}}, seed);
}
inline Config seam_on_hyperx(const Section& routing, const Values& router = sc19(), double load = 0.9, u64 seed = 1) {
  return config(hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}}), router, routing,
                {"mixed", {{"load", load}, {"packet_bytes_max", bytes_of(8)}}}, seed);
}

// Both networks at full load, each with both kinds of router.
inline std::vector<std::pair<std::string, Config>> loaded(const Section& routing) {
  return {
      {"dragonfly, input-queued", seam_on_dragonfly(routing, merge(input_queued(), {{"input_buffer_flits", 16}}), 1.0)},
      {"dragonfly, output queues", seam_on_dragonfly(routing, hpdc21(), 1.0)},
      {"hyperx, input-queued", seam_on_hyperx(routing, merge(input_queued(), {{"input_buffer_flits", 16}}), 1.0)},
      {"hyperx, output queues",
       seam_on_hyperx(routing, merge(sc19(), {{"input_buffer_flits", 24}, {"output_buffer_flits", 16}}), 1.0)}};
}

// Runs one cycle. choose(j) returns the slot of decision j.
template <class Choose>
void advance(Simulation& sim, Choose&& choose) {
  std::vector<u32> choices(sim.collect());
  for (u32 j = 0; j < choices.size(); j++) choices[j] = choose(j);
  sim.apply(choices.data(), choices.size());
}
// A random slot that depends only on cycle and decision, so two runs with the same decisions choose the same slots.
inline u32 any_slot(const Simulation& sim, const Batch& b, u32 j) {
  return below(draw(99, sim.state().part.totals.now, j), b.decisions.slot_count[j]);
}
inline void advance_at_random(Simulation& sim, u32 cycles) {
  for (u32 k = 0; k < cycles; k++) advance(sim, [&](u32 j) { return any_slot(sim, sim.batch(), j); });
}
inline void drain_at_random(Simulation& sim, u32 most = 200000) {
  sim.stop_sources();
  for (u32 k = 0; k < most && !sim.empty(); k++) advance_at_random(sim, 1);
  CHECK(sim.empty());
}

// The decision on a single packet. Its row stays in the batch.
struct Shown {
  u32 count = 0;  // 0: the agent has no decision to make
  std::vector<Step> slots;
  std::vector<u8> mask;
  std::map<std::string, float> general;
  std::vector<std::map<std::string, float>> per_slot;
};
inline Shown show(Lone& x, const Place& at) {
  const Seam& seam = *x.net.seam;
  x.request(0, at);
  make_decisions(x.net, x.state, x.batch);
  const Decisions& d = x.batch.decisions;
  Shown out;
  if (d.count == 0) return out;
  out.count = d.slot_count[0];
  for (u32 k = 0; k < out.count; k++) out.slots.push_back({d.ports[k], d.classes[k]});
  out.mask.assign(d.mask.begin(), d.mask.begin() + seam.slots);
  const float* from = d.observation.data();
  for (const ObservationSpec* block : seam.blocks)
    for (const Feature& f : block->general) out.general[f.name] = *from++;
  out.per_slot.resize(seam.slots);
  for (auto& slot : out.per_slot)
    for (const ObservationSpec* block : seam.blocks)
      for (const Feature& f : block->per_slot) slot[f.name] = *from++;
  return out;
}

// ---- Policies: networks of weights, and the routing that uses them ----

using Layers = std::vector<u32>;

inline float weight_of(u64 seed, u64 k) { return static_cast<float>(2 * unit(draw(seed, 21, k)) - 1); }

// A neural network in the layout of exported policies: per layer, weights [outputs, inputs] and biases [outputs].
struct Weights {
  Layers layers;
  std::vector<std::vector<float>> weight, bias;

  Weights(Layers units, u64 seed) : layers(std::move(units)) {
    u64 n = 0;
    for (std::size_t l = 0; l + 1 < layers.size(); l++) {
      const auto scale = static_cast<float>(1 / std::sqrt(layers[l]));
      weight.emplace_back(std::size_t{layers[l]} * layers[l + 1]);
      bias.emplace_back(layers[l + 1]);
      for (float& w : weight.back()) w = weight_of(seed, n++) * scale;
      for (float& b : bias.back()) b = weight_of(seed, n++) * 0.5f;
    }
  }
  // A plain reference, row by row in double precision.
  std::vector<double> forward(std::vector<double> x, bool tanh = false) const {
    for (std::size_t l = 0; l + 1 < layers.size(); l++) {
      std::vector<double> y(layers[l + 1]);
      for (u32 o = 0; o < layers[l + 1]; o++) {
        y[o] = double{bias[l][o]};
        for (u32 i = 0; i < layers[l]; i++) y[o] += double{weight[l][std::size_t{o} * layers[l] + i]} * x[i];
        if (l + 2 < layers.size()) y[o] = tanh ? std::tanh(y[o]) : std::max(y[o], 0.0);
      }
      x = y;
    }
    return x;
  }
  void load(const Network& net, State& s) const {
    CHECK(net.seam->policy.layers == layers);
    for (u32 l = 0; l + 1 < layers.size(); l++)
      load_layer(net.seam->policy, l, weight[l].data(), bias[l].data(), s.weights.data());
  }
};

inline Section policy(const std::string& network, const std::vector<double>& hidden, const Values& more = {}) {
  return {"policy", merge({{"network", network}, {"hidden", hidden}}, more)};
}
inline Layers layers_of(const Seam& seam, const std::vector<double>& hidden) {
  Layers layers = {seam.policy.per_slot ? seam.general + seam.per_slot : seam.width};
  for (const double units : hidden) layers.push_back(static_cast<u32>(units));
  layers.push_back(seam.policy.per_slot ? 1 : seam.slots);
  return layers;
}

}  // namespace scenes
