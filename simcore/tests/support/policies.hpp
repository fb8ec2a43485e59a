// Shared by the tests of policies: networks of weights, and the configuration of the routing that uses them.
#pragma once

#include <cmath>

#include "support/seam.hpp"

namespace scenes {

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
