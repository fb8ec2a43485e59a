// The policy network. The results have the same bits for every vector width (perceptron.hpp).
#include "learning/perceptron.hpp"

#include "learning/hops.hpp"
#include "simcore/learning.hpp"
#include "simcore/routing/choice.hpp"

namespace flitgym {

using learning::kUnitBlock;
using learning::PerceptronLoops;
using learning::SlotNetwork;
using learning::Units;

namespace learning {

const std::vector<const PerceptronLoops*>& perceptron_loops() {
  static const std::vector<const PerceptronLoops*> all = [] {
    std::vector<const PerceptronLoops*> found;
#if defined(FLITGYM_X86_64)
    const bool avx2 = __builtin_cpu_supports("avx2");
    if (avx2 && __builtin_cpu_supports("avx512f")) found.push_back(&perceptron_loops_16);
    if (avx2) found.push_back(&perceptron_loops_8);
#endif
    found.push_back(&perceptron_loops_4);
    return found;
  }();
  return all;
}

}  // namespace learning

inline u32 padded(u32 outputs) { return (outputs + kUnitBlock - 1) / kUnitBlock * kUnitBlock; }

static Units activation_of(const PolicyShape& shape) {
  return shape.activation == Activation::kTanh ? Units::kTanh : Units::kRectified;
}

static void layer(const PerceptronLoops& loops, const float* in, u32 in_stride, u32 rows, u32 inputs,
                  const float* weight, u32 outputs, float* out, Units activation) {
  const u32 width = padded(outputs);
  const float* const bias = weight + std::size_t{inputs} * width;
  for (u32 o = 0; o < width; o += kUnitBlock) {
    worked(u64{rows} * inputs);  // even a few rows take long in a wide network
    loops.block(in, in_stride, rows, inputs, weight + o, width, bias + o, out + o, width, activation);
  }
}

constexpr std::size_t kScratch = 1 << 22;  // floats

// Returns the scores [rows, padded outputs]. Many rows go through a wide network in parts, which bounds the scratch
// memory.
static const float* forward(const PerceptronLoops& loops, const PolicyShape& shape, const float* weights,
                            const float* in, u32 in_stride, u32 rows, std::vector<float>& a, std::vector<float>& b) {
  const u32 widest = padded(std::ranges::max(shape.layers));
  if (const u32 most = std::max<u32>(8, static_cast<u32>(kScratch / widest) / 8 * 8); rows > most) {
    const std::size_t width = padded(shape.layers.back());
    std::vector<float> scores(rows * width);
    for (u32 from = 0; from < rows; from += most) {
      const u32 part = std::min(most, rows - from);
      const float* const of_part =
          forward(loops, shape, weights, in + std::size_t{from} * in_stride, in_stride, part, a, b);
      std::copy_n(of_part, part * width, scores.begin() + static_cast<std::ptrdiff_t>(from * width));
    }
    a.swap(scores);
    return a.data();
  }
  for (auto* scratch : {&a, &b})
    if (scratch->size() < std::size_t{rows} * widest) scratch->resize(std::size_t{rows} * widest);
  const u32 last = static_cast<u32>(shape.layers.size()) - 2;
  std::vector<float>*to = &a, *other = &b;
  for (u32 l = 0; l <= last; l++) {
    layer(loops, in, in_stride, rows, shape.layers[l], weights + shape.offsets[l], shape.layers[l + 1], to->data(),
          l < last ? activation_of(shape) : Units::kLinear);
    in = to->data();
    in_stride = padded(shape.layers[l + 1]);
    std::swap(to, other);
  }
  return in;
}

// Selects the slot with the highest score (the first of equal ones), or a random slot.
static void choose_slot(const Network& net, const State& s, const Packet& p, const float* scores, u32 count,
                        u32& chosen, float& log_probability) {
  u32 best = 0;
  for (u32 k = 1; k < count; k++)
    if (scores[k] > scores[best]) best = k;
  chosen = best;
  log_probability = 0;
  const double temperature = s.part.learning.temperature, epsilon = s.part.learning.epsilon;
  if (temperature == 0 && epsilon == 0) return;
  double part[kMostSlots], sum = 0;
  for (u32 k = 0; k < count; k++)
    sum += part[k] = temperature > 0 ? std::exp((double{scores[k]} - double{scores[best]}) / temperature) : k == best;
  double left = unit(routing::select_draw(net, p, 1)) * sum;
  if (epsilon > 0 && unit(routing::select_draw(net, p, 0)) < epsilon) {
    chosen = below(routing::select_draw(net, p, 2), count);
  } else if (temperature > 0) {
    for (chosen = 0; chosen + 1 < count && left >= part[chosen]; chosen++) left -= part[chosen];
  }
  log_probability = static_cast<float>(std::log((1 - epsilon) * part[chosen] / sum + epsilon / count));
}

// Symmetric 8-bit weights with a scale per unit (Jacob et al., CVPR 2018). The scale is a power of two (Jain et al.,
// MLSys 2020), the least with which the largest weight fits. A product with a power of two is exact in floating point,
// so the sums equal those over whole numbers, shifted at the end. A rounding error is at most half the scale.
static void round_to_eight_bits(float* weight, u32 inputs, u32 width) {
  constexpr float kMost = 127;
  float largest = 0;
  for (u32 i = 0; i < inputs; i++) largest = std::max(largest, std::abs(weight[std::size_t{i} * width]));
  int exponent;
  if (std::frexp(largest / kMost, &exponent) == 0.5f) exponent--;  // largest / kMost is itself a power of two
  // A scale below 2^-126 would make the products inexact.
  const float scale = std::ldexp(1.0f, std::max(exponent, -100));
  for (u32 i = 0; i < inputs; i++) {
    float& w = weight[std::size_t{i} * width];
    w = scale * std::nearbyint(w / scale);
  }
}

void shape_policy(PolicyShape& shape, std::vector<u32> layers) {
  shape.layers = std::move(layers);
  shape.offsets.clear();
  shape.size = 0;
  for (std::size_t l = 0; l + 1 < shape.layers.size(); l++) {
    shape.offsets.push_back(shape.size);
    shape.size += std::size_t{shape.layers[l] + 1} * padded(shape.layers[l + 1]);
  }
}

void load_layer(const PolicyShape& shape, u32 l, const float* weight, const float* bias, float* weights) {
  const u32 inputs = shape.layers[l], outputs = shape.layers[l + 1], width = padded(outputs);
  float* const to = weights + shape.offsets[l];
  for (u32 i = 0; i < inputs; i++)
    for (u32 o = 0; o < outputs; o++) to[std::size_t{i} * width + o] = weight[std::size_t{o} * inputs + i];
  std::copy_n(bias, outputs, to + std::size_t{inputs} * width);
  for (u32 o = 0; shape.eight_bit && o < outputs; o++) round_to_eight_bits(to + o, inputs, width);
}

void score_row(const PolicyShape& shape, const float* weights, const float* row, float* scores) {
  std::vector<float> a, b;
  const PerceptronLoops& loops = *learning::perceptron_loops().front();
  std::copy_n(forward(loops, shape, weights, row, 0, 1, a, b), shape.layers.back(), scores);
}

void policy_scores(const Network& net, const State& s, const float* observation, u32 rows, float* scores) {
  const Seam& seam = *net.seam;
  const PolicyShape& shape = seam.policy;
  std::vector<float> a, b, row(seam.general + seam.per_slot);
  const float* const weights = s.weights.data();
  const PerceptronLoops& loops = *learning::perceptron_loops().front();
  for (u32 j = 0; j < rows; j++, observation += seam.width, scores += seam.slots) {
    if (!shape.per_slot) {
      std::copy_n(forward(loops, shape, weights, observation, seam.width, 1, a, b), seam.slots, scores);
      continue;
    }
    std::copy_n(observation, seam.general, row.begin());
    for (u32 k = 0; k < seam.slots; k++) {
      std::copy_n(observation + seam.general + k * seam.per_slot, seam.per_slot, row.begin() + seam.general);
      scores[k] = *forward(loops, shape, weights, row.data(), 0, 1, a, b);
    }
  }
}

// Sequential allocation (Kim, Dally, Abts, SC 2006): the feature `asking` of a decision also counts the heads that its
// router has routed to the link earlier in this cycle, as if they were as long as the packet. Otherwise all heads of a
// cycle take the same idle link. On routers whose crossbar has a port per VC, `asking` counts only these heads. The
// requests of a batch are in the order of their input VCs (RoutingFacts::sequential).
class EarlierHeads {
 public:
  EarlierHeads(const Network& net, Batch& b) : net_(net), b_(b) {}
  // Adds them to the row of decision j. The port of decision j - 1 is written first, before settle_decisions().
  void add_to_row(u32 j) {
    const Seam& seam = *net_.seam;
    Decisions& d = b_.decisions;
    if (j > 0) b_.out_port[d.request[j - 1]] = d.ports[std::size_t{j - 1} * seam.slots + d.chosen[j - 1]];
    for (; next_ < d.request[j]; next_++) {
      begin(b_.router[next_]);
      heads_[b_.out_port[next_]]++;
    }
    begin(b_.router[next_]);
    float* const row = d.observation.data() + std::size_t{j} * seam.width;
    float* asking = row + seam.general + seam.asking;
    for (u32 k = 0; k < d.slot_count[j]; k++, asking += seam.per_slot)
      *asking = learning::bounded(*asking + heads_[d.ports[std::size_t{j} * seam.slots + k]] * row[seam.packet_time]);
  }

 private:
  void begin(u32 router) {
    if (router != router_) std::fill_n(heads_, net_.radix, u16{0});
    router_ = router;
  }

  const Network& net_;
  Batch& b_;
  u32 router_ = kNone, next_ = 0;
  u16 heads_[kMaxRadix];  // by router-local port
};

void choose_by_policy(const Network& net, const State& s, Batch& b) {
  const Seam& seam = *net.seam;
  const PolicyShape& shape = seam.policy;
  Decisions& d = b.decisions;
  if (d.count == 0) return;
  const float* const weights = s.weights.data();
  const PerceptronLoops& loops = *learning::perceptron_loops().front();
  const bool sequential = net.routing_facts.sequential;
  EarlierHeads earlier(net, b);
  const auto choose = [&](u32 j, const float* scores) {
    choose_slot(net, s, s.packets[b.packet[d.request[j]]], scores, d.slot_count[j], d.chosen[j], d.log_probability[j]);
  };
  if (!shape.per_slot) {
    const u32 stride = padded(shape.layers.back()), rows = sequential ? 1 : d.count;
    for (u32 first = 0; first < d.count; first += rows) {
      if (sequential) earlier.add_to_row(first);
      const float* scores = forward(loops, shape, weights, d.observation.data() + std::size_t{first} * seam.width,
                                    seam.width, rows, d.rows, d.scores);
      for (u32 j = 0; j < rows; j++) choose(first + j, scores + std::size_t{j} * stride);
    }
    return;
  }
  const u32 hidden = static_cast<u32>(shape.layers.size()) - 2, last_width = padded(shape.layers[hidden]);
  const u32 widest = padded(std::ranges::max(shape.layers));
  for (auto* scratch : {&d.rows, &d.scores})
    scratch->resize(std::max(scratch->size(), std::size_t{seam.slots} * widest));
  d.lists.resize(2 * widest);
  d.gathered.assign(last_width, 0.0f);
  for (u32 i = 0; i < shape.layers[hidden]; i++)
    d.gathered[i] = weights[shape.offsets[hidden] + std::size_t{i} * padded(1)];
  const SlotNetwork network = {.weights = weights,
                               .offsets = shape.offsets.data(),
                               .sizes = shape.layers.data(),
                               .hidden = hidden,
                               .last_weight = d.gathered.data(),
                               .general = seam.general,
                               .per_slot = seam.per_slot,
                               .activation = activation_of(shape),
                               .scratch = {d.rows.data(), d.scores.data()},
                               .lists = {d.lists.data(), d.lists.data() + widest},
                               .worked = [](u64 steps) { worked(steps); }};
  float scores[kMostSlots];
  for (u32 j = 0; j < d.count; j++) {
    if (sequential) earlier.add_to_row(j);
    loops.score_slots(network, d.observation.data() + std::size_t{j} * seam.width, d.slot_count[j], scores);
    choose(j, scores);
  }
}

Operations policy_operations(const Network& net, double candidates) {
  const Seam& seam = *net.seam;
  const std::vector<u32>& layers = seam.policy.layers;
  const std::size_t hidden = layers.size() - 2;
  // The sums over the general features are shared by all slots; see score_slots().
  double products = seam.policy.per_slot ? double{1} * seam.general * layers[1] : 0, units = 0;
  const double times = seam.policy.per_slot ? candidates : 1;
  for (std::size_t l = 0; l <= hidden; l++) {
    const u32 inputs = l == 0 && seam.policy.per_slot ? seam.per_slot : layers[l];
    products += times * inputs * layers[l + 1];
    if (l < hidden) units += times * layers[l + 1];  // compared with 0
  }
  // A product is added to a sum that begins with the bias. The best of the scores takes candidates - 1 comparisons.
  // Sequential allocation adds a count of heads to the feature `asking` of each candidate.
  return {.multiplications = products,
          .additions = products + (net.routing_facts.sequential ? candidates : 0),
          .comparisons = units + std::max(candidates - 1, 0.0)};
}

}  // namespace flitgym
