// The policy network. Each output is summed over the inputs in order, so results are bitwise independent of the vector
// width of the machine.
#include "learning/perceptron.hpp"

#include <algorithm>
#include <cmath>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "routing/choice.hpp"
#include "simcore/learning.hpp"
#include "simcore/limits.hpp"

namespace flitgym {

namespace {

#if defined(__AVX512F__)
constexpr u32 kLanes = 16;
#elif defined(__AVX__)
constexpr u32 kLanes = 8;
#else
constexpr u32 kLanes = 4;
#endif
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// Computes tanh by sums, products and divisions alone, which IEEE 754 defines to the last bit. The C library's tanh
// differs from machine to machine. Lambert's continued fraction, cut after 13, gives tanh(x / 2). The formula for the
// double angle follows. The absolute error is below 2e-7.
inline Lanes hyperbolic_tangent(Lanes x) {
  const Lanes zero = {};
  const Lanes most = zero + 9;  // where tanh is 1 in float32
  x = x > most ? most : x;
  x = x < -most ? -most : x;
  const Lanes half = x * 0.5f, s = half * half;
  const Lanes t =
      half * (((s + 378.0f) * s + 17325.0f) * s + 135135.0f) / (((28.0f * s + 3150.0f) * s + 62370.0f) * s + 135135.0f);
  return (t + t) / (1.0f + t * t);
}

inline Lanes activated(Lanes x, Activation activation) {
  const Lanes zero = {};
  return activation == Activation::kTanh ? hyperbolic_tangent(x) : x > zero ? x : zero;
}

constexpr u32 kPad = 16;  // the memory layout does not depend on kLanes
inline u32 padded(u32 outputs) { return (outputs + kPad - 1) / kPad * kPad; }

// Computes kRows rows by kPad outputs at a time. The sums stay in registers, and each weight is read once for all rows.
template <u32 kRows>
inline void tile(const float* in, u32 in_stride, u32 inputs, const float* weight, u32 width, const float* bias,
                 float* out, u32 out_stride, const Activation* activation) {
  constexpr u32 kParts = kPad / kLanes;
  Lanes sum[kRows][kParts];
  for (u32 part = 0; part < kParts; part++) {
    const Lanes b = *reinterpret_cast<const Lanes*>(bias + part * kLanes);
    for (u32 r = 0; r < kRows; r++) sum[r][part] = b;
  }
  for (u32 i = 0; i < inputs; i++) {
    Lanes w[kParts];
    for (u32 part = 0; part < kParts; part++)
      w[part] = *reinterpret_cast<const Lanes*>(weight + std::size_t{i} * width + part * kLanes);
    for (u32 r = 0; r < kRows; r++) {
      const float x = in[std::size_t{r} * in_stride + i];
      for (u32 part = 0; part < kParts; part++) sum[r][part] += x * w[part];
    }
  }
  for (u32 r = 0; r < kRows; r++)
    for (u32 part = 0; part < kParts; part++) {
      const Lanes y = sum[r][part];
      *reinterpret_cast<Lanes*>(out + std::size_t{r} * out_stride + part * kLanes) =
          activation ? activated(y, *activation) : y;
    }
}

void layer(const float* in, u32 in_stride, u32 rows, u32 inputs, const float* weight, u32 outputs, float* out,
           const Activation* activation) {
  const u32 width = padded(outputs);
  const float* const bias = weight + std::size_t{inputs} * width;
  for (u32 o = 0; o < width; o += kPad) {
    worked(u64{rows} * inputs);  // even a few rows take long in a wide network
    u32 r = 0;
    for (; r + 8 <= rows; r += 8)
      tile<8>(in + std::size_t{r} * in_stride, in_stride, inputs, weight + o, width, bias + o,
              out + std::size_t{r} * width + o, width, activation);
    for (; r < rows; r++)
      tile<1>(in + std::size_t{r} * in_stride, in_stride, inputs, weight + o, width, bias + o,
              out + std::size_t{r} * width + o, width, activation);
  }
}

constexpr std::size_t kScratch = 1 << 22;  // floats

// Returns the scores [rows, padded outputs]. Many rows go through a wide network in parts, which bounds the scratch
// memory.
const float* forward(const PolicyShape& shape, const float* weights, const float* in, u32 in_stride, u32 rows,
                     std::vector<float>& a, std::vector<float>& b) {
  u32 widest = 0;
  for (const u32 n : shape.layers) widest = std::max(widest, padded(n));
  if (const u32 most = std::max<u32>(8, static_cast<u32>(kScratch / widest) / 8 * 8); rows > most) {
    const std::size_t width = padded(shape.layers.back());
    std::vector<float> scores(rows * width);
    for (u32 from = 0; from < rows; from += most) {
      const u32 part = std::min(most, rows - from);
      const float* const of_part = forward(shape, weights, in + std::size_t{from} * in_stride, in_stride, part, a, b);
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
    layer(in, in_stride, rows, shape.layers[l], weights + shape.offsets[l], shape.layers[l + 1], to->data(),
          l < last ? &shape.activation : nullptr);
    in = to->data();
    in_stride = padded(shape.layers[l + 1]);
    std::swap(to, other);
  }
  return in;
}

// --- A network that scores slots ---
//
// The slots of a decision are computed together. They share their general features, so the first layer computes the
// sums over those once. The next layer reads only units that are not 0 in some slot, with rectified linear units
// typically half of them or fewer. A product with 0 does not change a finite sum. A sum of -0 may become 0, which is
// equivalent for later layers.

// Rows per tile, chosen so that its sums fit the registers.
constexpr u32 kMostRows = kLanes == 16 ? 8 : kLanes == 8 ? 6 : 2;
typedef int Bits __attribute__((vector_size(kLanes * sizeof(int)), aligned(4), may_alias));
constexpr u32 kParts = kPad / kLanes;
// Units computed at a time, in multiples of kPad, if the layer is wide enough.
constexpr u32 kWide = kLanes == 16 ? 2 : 1;

// Selects the inputs at[0 .. count-1] of each row.
struct Inputs {
  const float* rows;
  u32 stride;
  const u32* at;
  u32 count;
};

// Computes kRows rows by kLanes * kOwn units. Each sum begins with `start` and adds the inputs in order. If `active` is
// given, the units are hidden ones with the activation, and `active` collects the bits of all units that are not 0. If
// `times` is given, the units are then multiplied by it element by element.
template <u32 kRows, u32 kOwn = kParts>
void units(const Inputs& in, const float* weight, u32 width, const float* start, float* out, Bits* active,
           const float* times, Activation activation) {
  Lanes sum[kRows][kOwn];
  for (u32 part = 0; part < kOwn; part++) {
    const Lanes first = *reinterpret_cast<const Lanes*>(start + part * kLanes);
    for (u32 r = 0; r < kRows; r++) sum[r][part] = first;
  }
  const float* const rows = in.rows;
  const std::size_t stride = in.stride;
  for (const u32 *at = in.at, *const end = at + in.count; at != end; at++) {
    const float* const w = weight + std::size_t{*at} * width;
    const float* const x = rows + *at;
    for (u32 r = 0; r < kRows; r++)
      for (u32 part = 0; part < kOwn; part++)
        sum[r][part] += x[r * stride] * *reinterpret_cast<const Lanes*>(w + part * kLanes);
  }
  for (u32 r = 0; r < kRows; r++)
    for (u32 part = 0; part < kOwn; part++) {
      Lanes y = sum[r][part];
      if (active) {
        y = activated(y, activation);
        active[part] |= reinterpret_cast<const Bits&>(y);
        if (times) y *= *reinterpret_cast<const Lanes*>(times + part * kLanes);
      }
      *reinterpret_cast<Lanes*>(out + std::size_t{r} * width + part * kLanes) = y;
    }
}

// Sums up the single unit of the last layer. The layer before it has computed the products.
template <u32 kRows>
void score(const Inputs& in, const float* start, float* out) {
  float sum[kRows];
  for (u32 r = 0; r < kRows; r++) sum[r] = *start;
  for (const u32 *at = in.at, *const end = at + in.count; at != end; at++)
    for (u32 r = 0; r < kRows; r++) sum[r] += in.rows[std::size_t{r} * in.stride + *at];
  for (u32 r = 0; r < kRows; r++) out[r] = sum[r];
}

// The same for any number of rows. kOwn = 0 computes the single unit.
template <u32 kOwn, u32 kRows = kMostRows>
inline void all_rows(u32 rows, Inputs in, const float* weight, u32 width, const float* start, float* out, Bits* active,
                     const float* times, Activation activation) {
  const auto go = [&]<u32 kSome>() {
    if constexpr (kOwn == 0) score<kSome>(in, start, out);
    else units<kSome, kOwn>(in, weight, width, start, out, active, times, activation);
  };
  if constexpr (kRows == kMostRows)
    for (; rows > kMostRows; rows -= kMostRows, in.rows += std::size_t{kMostRows} * in.stride,
                             out += std::size_t{kMostRows} * (kOwn ? width : 1))
      go.template operator()<kMostRows>();
  if (rows == kRows) return go.template operator()<kRows>();
  if constexpr (kRows > 1) all_rows<kOwn, kRows - 1>(rows, in, weight, width, start, out, active, times, activation);
}

// Appends the units first .. first + kPad - 1 that have a bit set, and returns the new length of the list. May write
// kPad entries.
u32 list_active(const Bits* active, u32 first, u32* list, u32 listed) {
#if defined(__AVX512F__)
  const __m512i bits = _mm512_loadu_si512(active);
  const __mmask16 any = _mm512_test_epi32_mask(bits, bits);
  const __m512i numbers = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)),
                                           _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  _mm512_storeu_si512(list + listed, _mm512_maskz_compress_epi32(any, numbers));
  return listed + static_cast<u32>(__builtin_popcount(any));
#else
  const auto* const any = reinterpret_cast<const u32*>(active);
  for (u32 unit = 0; unit < kPad; unit++) {
    list[listed] = first + unit;
    listed += any[unit] != 0;
  }
  return listed;
#endif
}

// Scores the first `count` slots of an observation row. `last_weights` holds the weights of the last layer's unit,
// contiguously. `scratch` holds two buffers of [slots, widest layer, padded].
void score_slots(const Seam& seam, const float* weights, const float* last_weights, const float* row, u32 count,
                 float* const (&scratch)[2], float* scores) {
  const PolicyShape& shape = seam.policy;
  u32 lists[2][learning::kMostUnits + kPad];
  const u32 inputs = shape.layers[0], last = static_cast<u32>(shape.layers.size()) - 2;
  const auto layer_of = [&](u32 l) { return weights + shape.offsets[l]; };
  for (u32 i = 0; i < std::max(seam.general, seam.per_slot); i++) lists[1][i] = i;

  // The sums over the shared features of the first layer are the start values of the sums over the slots' own features.
  const u32 first_width = padded(shape.layers[1]);
  float* const shared = scratch[1];
  for (u32 o = 0; o < first_width; o += kPad)
    units<1>({row, 0, lists[1], seam.general}, layer_of(0) + o, first_width,
             layer_of(0) + std::size_t{inputs} * first_width + o, shared + o, nullptr, nullptr, shape.activation);
  Inputs in{row + seam.general, seam.per_slot, lists[1], seam.per_slot};
  const float *start = shared, *weight = layer_of(0) + std::size_t{seam.general} * first_width;

  if (last == 0) {  // no hidden layer
    for (u32 r = 0; r < count; r++) {
      scores[r] = *shared;
      for (u32 i = 0; i < in.count; i++)
        scores[r] += in.rows[std::size_t{r} * in.stride + i] * weight[std::size_t{i} * first_width];
    }
    return;
  }
  for (u32 l = 0; l < last; l++) {
    const u32 width = padded(shape.layers[l + 1]);
    const float* const times = l + 1 == last ? last_weights : nullptr;
    float* const out = scratch[l % 2];
    u32 *const list = lists[l % 2], listed = 0;
    for (u32 o = 0; o < width;) {
      worked(u64{count} * in.count);  // even a few rows take long in a wide network
      Bits active[kWide * kParts] = {};
      const u32 end = o + (width - o < kWide * kPad ? kPad : kWide * kPad);
      const float* const factors = times ? times + o : nullptr;
      if (end - o == kPad)
        all_rows<kParts>(count, in, weight + o, width, start + o, out + o, active, factors, shape.activation);
      else
        all_rows<kWide * kParts>(count, in, weight + o, width, start + o, out + o, active, factors, shape.activation);
      for (const Bits* some = active; o < end; o += kPad, some += kParts) listed = list_active(some, o, list, listed);
    }
    in = {out, width, list, listed};
    weight = layer_of(l + 1);
    start = weight + std::size_t{shape.layers[l + 1]} * padded(shape.layers[l + 2]);
  }
  all_rows<0>(count, in, nullptr, 0, start, scores, nullptr, nullptr, shape.activation);
}

// Selects the slot with the highest score (the first of equal ones), or a random slot.
void choose_slot(const Network& net, const State& s, const Packet& p, const float* scores, u32 count, u32& chosen,
                 float& log_probability) {
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

}  // namespace

void shape_policy(PolicyShape& shape, std::vector<u32> layers) {
  shape.layers = std::move(layers);
  shape.offsets.clear();
  shape.size = 0;
  for (std::size_t l = 0; l + 1 < shape.layers.size(); l++) {
    shape.offsets.push_back(shape.size);
    shape.size += std::size_t{shape.layers[l] + 1} * padded(shape.layers[l + 1]);
  }
}

namespace {

// Symmetric 8-bit weights with a scale per unit (Jacob et al., CVPR 2018). The scale is a power of two (Jain et al.,
// MLSys 2020), the least with which the largest weight fits. A product with a power of two is exact in floating point,
// so the sums equal those over whole numbers, shifted at the end. A rounding error is at most half the scale.
void round_to_eight_bits(float* weight, u32 inputs, u32 width) {
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

}  // namespace

void load_layer(const PolicyShape& shape, u32 l, const float* weight, const float* bias, float* weights) {
  const u32 inputs = shape.layers[l], outputs = shape.layers[l + 1], width = padded(outputs);
  float* const to = weights + shape.offsets[l];
  for (u32 i = 0; i < inputs; i++)
    for (u32 o = 0; o < outputs; o++) to[std::size_t{i} * width + o] = weight[std::size_t{o} * inputs + i];
  std::copy_n(bias, outputs, to + std::size_t{inputs} * width);
  for (u32 o = 0; shape.eight_bit && o < outputs; o++) round_to_eight_bits(to + o, inputs, width);
}

void policy_scores(const Network& net, const State& s, const float* observation, u32 rows, float* scores) {
  const Seam& seam = *net.seam;
  const PolicyShape& shape = seam.policy;
  std::vector<float> a, b, row(seam.general + seam.per_slot);
  const float* const weights = s.weights.data();
  for (u32 j = 0; j < rows; j++, observation += seam.width, scores += seam.slots) {
    if (!shape.per_slot) {
      std::copy_n(forward(shape, weights, observation, seam.width, 1, a, b), seam.slots, scores);
      continue;
    }
    std::copy_n(observation, seam.general, row.begin());
    for (u32 k = 0; k < seam.slots; k++) {
      std::copy_n(observation + seam.general + k * seam.per_slot, seam.per_slot, row.begin() + seam.general);
      scores[k] = *forward(shape, weights, row.data(), 0, 1, a, b);
    }
  }
}

void choose_by_policy(const Network& net, const State& s, Batch& b) {
  const Seam& seam = *net.seam;
  const PolicyShape& shape = seam.policy;
  Decisions& d = b.decisions;
  if (d.count == 0) return;
  const float* const weights = s.weights.data();
  if (!shape.per_slot) {
    const u32 stride = padded(shape.layers.back());
    const float* scores = forward(shape, weights, d.observation, seam.width, d.count, d.rows, d.scores);
    for (u32 j = 0; j < d.count; j++)
      choose_slot(net, s, s.packets[b.packet[d.request[j]]], scores + std::size_t{j} * stride, d.slot_count[j],
                  d.chosen[j], d.log_probability[j]);
    return;
  }
  u32 widest = 0;
  for (const u32 n : shape.layers) widest = std::max(widest, padded(n));
  const std::size_t size = std::size_t{seam.slots} * widest;
  for (auto* scratch : {&d.rows, &d.scores})
    if (scratch->size() < size) scratch->resize(size);
  float* const scratch[2] = {d.rows.data(), d.scores.data()};
  const std::size_t hidden = shape.layers.size() - 2;
  d.gathered.assign(padded(shape.layers[hidden]), 0.0f);
  for (u32 i = 0; i < shape.layers[hidden]; i++)
    d.gathered[i] = weights[shape.offsets[hidden] + std::size_t{i} * padded(1)];
  float scores[kMostSlots];
  for (u32 j = 0; j < d.count; j++) {
    score_slots(seam, weights, d.gathered.data(), d.observation + std::size_t{j} * seam.width, d.slot_count[j], scratch,
                scores);
    choose_slot(net, s, s.packets[b.packet[d.request[j]]], scores, d.slot_count[j], d.chosen[j], d.log_probability[j]);
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
  return {.multiplications = products, .additions = products, .comparisons = units + std::max(candidates - 1, 0.0)};
}

}  // namespace flitgym
