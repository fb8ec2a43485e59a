// The loops of perceptron.hpp for vectors of FLITGYM_LANES floats, which each file that includes this text defines. All
// functions have internal linkage and call no inline function of a library. Otherwise the linker could keep the copy
// for AVX-512 for the whole program.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "learning/perceptron.hpp"

namespace flitgym::learning {

namespace {

constexpr u32 kLanes = FLITGYM_LANES;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef int Bits __attribute__((vector_size(kLanes * sizeof(int)), aligned(4), may_alias));
constexpr u32 kParts = kUnitBlock / kLanes;
// Rows per tile, chosen so that its sums fit the registers.
constexpr u32 kMostRows = kLanes == 16 ? 8 : kLanes == 8 ? 6 : 2;
// Blocks that a tile of several rows computes together, if the layer is wide enough.
constexpr u32 kWide = kLanes == 16 ? 2 : 1;
// Blocks that one row computes together. Independent sums hide the latency of additions.
constexpr u32 kBlocksOfOneRow = kLanes == 4 ? 2 : 4;

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

inline u32 padded(u32 units) { return (units + kUnitBlock - 1) / kUnitBlock * kUnitBlock; }

inline Lanes activated(Lanes x, Units activation) {
  const Lanes zero = {};
  return activation == Units::kTanh ? hyperbolic_tangent(x) : x > zero ? x : zero;
}

// Computes kRows rows by kUnitBlock outputs. The sums stay in registers, and each weight is read once for all rows.
template <u32 kRows>
inline void tile(const float* in, u32 in_stride, u32 inputs, const float* weight, u32 width, const float* bias,
                 float* out, u32 out_stride, Units activation) {
  Lanes sum[kRows][kParts];
  for (u32 part = 0; part < kParts; part++) {
    const Lanes b = *reinterpret_cast<const Lanes*>(bias + part * kLanes);
    for (u32 r = 0; r < kRows; r++) sum[r][part] = b;
  }
  for (u32 i = 0; i < inputs; i++) {
    Lanes w[kParts];
    for (u32 part = 0; part < kParts; part++)
      w[part] = *reinterpret_cast<const Lanes*>(weight + u64{i} * width + part * kLanes);
    for (u32 r = 0; r < kRows; r++) {
      const float x = in[u64{r} * in_stride + i];
      for (u32 part = 0; part < kParts; part++) sum[r][part] += x * w[part];
    }
  }
  for (u32 r = 0; r < kRows; r++)
    for (u32 part = 0; part < kParts; part++) {
      const Lanes y = sum[r][part];
      *reinterpret_cast<Lanes*>(out + u64{r} * out_stride + part * kLanes) =
          activation == Units::kLinear ? y : activated(y, activation);
    }
}

void block(const float* in, u32 in_stride, u32 rows, u32 inputs, const float* weight, u32 width, const float* bias,
           float* out, u32 out_stride, Units activation) {
  u32 r = 0;
  for (; r + 8 <= rows; r += 8)
    tile<8>(in + u64{r} * in_stride, in_stride, inputs, weight, width, bias, out + u64{r} * out_stride, out_stride,
            activation);
  for (; r < rows; r++)
    tile<1>(in + u64{r} * in_stride, in_stride, inputs, weight, width, bias, out + u64{r} * out_stride, out_stride,
            activation);
}

// --- A network that scores slots ---
//
// The slots of a decision are computed together. They share their general features, so the first layer computes the
// sums over those once. The next layer reads only units that are not 0 in some slot, with rectified linear units
// typically half of them or fewer. A product with 0 does not change a finite sum. A sum of -0 may become 0, which is
// equivalent for later layers.

// Selects the inputs at[0 .. count-1] of each row.
struct Inputs {
  const float* rows;
  u32 stride;
  const u32* at;
  u32 count;
};

// Computes kRows rows by kLanes * kOwn units. Each sum begins with `start` and adds the inputs in order. If `active` is
// given, the units are hidden ones with an activation, and `active` collects the bits of all units that are not 0. If
// `times` is given, the units are then multiplied by it element by element.
template <u32 kRows, u32 kOwn>
void units(const Inputs& in, const float* weight, u32 width, const float* start, float* out, Bits* active,
           const float* times, Units activation) {
  Lanes sum[kRows][kOwn];
  for (u32 part = 0; part < kOwn; part++) {
    const Lanes first = *reinterpret_cast<const Lanes*>(start + part * kLanes);
    for (u32 r = 0; r < kRows; r++) sum[r][part] = first;
  }
  const float* const rows = in.rows;
  const u64 stride = in.stride;
  for (const u32 *at = in.at, *const end = at + in.count; at != end; at++) {
    const float* const w = weight + u64{*at} * width;
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
      *reinterpret_cast<Lanes*>(out + u64{r} * width + part * kLanes) = y;
    }
}

// Sums up the single unit of the last layer. The layer before it has computed the products.
template <u32 kRows>
void score(const Inputs& in, const float* start, float* out) {
  float sum[kRows];
  for (u32 r = 0; r < kRows; r++) sum[r] = *start;
  for (const u32 *at = in.at, *const end = at + in.count; at != end; at++)
    for (u32 r = 0; r < kRows; r++) sum[r] += in.rows[u64{r} * in.stride + *at];
  for (u32 r = 0; r < kRows; r++) out[r] = sum[r];
}

// Runs units(), or with kOwn = 0 score(), for any number of rows.
template <u32 kOwn, u32 kRows = kMostRows>
inline void all_rows(u32 rows, Inputs in, const float* weight, u32 width, const float* start, float* out, Bits* active,
                     const float* times, Units activation) {
  const auto go = [&]<u32 kSome>() {
    if constexpr (kOwn == 0) score<kSome>(in, start, out);
    else units<kSome, kOwn>(in, weight, width, start, out, active, times, activation);
  };
  if constexpr (kRows == kMostRows)
    for (; rows > kMostRows;
         rows -= kMostRows, in.rows += u64{kMostRows} * in.stride, out += u64{kMostRows} * (kOwn ? width : 1))
      go.template operator()<kMostRows>();
  if (rows == kRows) return go.template operator()<kRows>();
  if constexpr (kRows > 1) all_rows<kOwn, kRows - 1>(rows, in, weight, width, start, out, active, times, activation);
}

// Appends the units first .. first + kUnitBlock - 1 that have a bit set, and returns the new length of the list. Writes
// kUnitBlock entries. They fit, because no more units are listed than were computed before.
u32 list_active(const Bits* active, u32 first, u32* list, u32 listed) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m512i bits = _mm512_loadu_si512(active);
    const __mmask16 any = _mm512_test_epi32_mask(bits, bits);
    const __m512i numbers = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)),
                                             _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    _mm512_storeu_si512(list + listed, _mm512_maskz_compress_epi32(any, numbers));
    return listed + static_cast<u32>(__builtin_popcount(any));
  }
#endif
  const auto* const any = reinterpret_cast<const u32*>(active);
  for (u32 unit = 0; unit < kUnitBlock; unit++) {
    list[listed] = first + unit;
    listed += any[unit] != 0;
  }
  return listed;
}

void score_slots(const SlotNetwork& n, const float* row, u32 count, float* scores) {
  for (u32 i = 0; i < n.general || i < n.per_slot; i++) n.lists[1][i] = i;
  const u32 first_width = padded(n.sizes[1]);
  const float *const first = n.weights + n.offsets[0], *const bias = first + u64{n.sizes[0]} * first_width;

  // The sums over the shared features of the first layer are the start values of the sums over the slots' own features.
  float* const shared = n.scratch[1];
  const Inputs general{row, 0, n.lists[1], n.general};
  for (u32 o = 0; o < first_width;) {
    const bool several = first_width - o >= kBlocksOfOneRow * kUnitBlock;
    (several ? units<1, kBlocksOfOneRow * kParts> : units<1, kParts>)(general, first + o, first_width, bias + o,
                                                                      shared + o, nullptr, nullptr, n.activation);
    o += several ? kBlocksOfOneRow * kUnitBlock : kUnitBlock;
  }
  Inputs in{row + n.general, n.per_slot, n.lists[1], n.per_slot};
  const float *start = shared, *weight = first + u64{n.general} * first_width;

  if (n.hidden == 0) {
    for (u32 r = 0; r < count; r++) {
      scores[r] = *shared;
      for (u32 i = 0; i < in.count; i++) scores[r] += in.rows[u64{r} * in.stride + i] * weight[u64{i} * first_width];
    }
    return;
  }
  for (u32 l = 0; l < n.hidden; l++) {
    const u32 width = padded(n.sizes[l + 1]);
    n.worked(u64{count} * in.count * width / kUnitBlock);
    const float* const times = l + 1 == n.hidden ? n.last_weight : nullptr;
    float* const out = n.scratch[l % 2];
    u32 *const list = n.lists[l % 2], listed = 0;
    for (u32 o = 0; o < width;) {
      Bits active[kWide * kParts] = {};
      const u32 end = o + (width - o < kWide * kUnitBlock ? kUnitBlock : kWide * kUnitBlock);
      const float* const factors = times ? times + o : nullptr;
      if (end - o == kUnitBlock)
        all_rows<kParts>(count, in, weight + o, width, start + o, out + o, active, factors, n.activation);
      else all_rows<kWide * kParts>(count, in, weight + o, width, start + o, out + o, active, factors, n.activation);
      for (const Bits* some = active; o < end; o += kUnitBlock, some += kParts)
        listed = list_active(some, o, list, listed);
    }
    in = {out, width, list, listed};
    weight = n.weights + n.offsets[l + 1];
    start = weight + u64{n.sizes[l + 1]} * padded(n.sizes[l + 2]);
  }
  all_rows<0>(count, in, nullptr, 0, start, scores, nullptr, nullptr, n.activation);
}

}  // namespace

}  // namespace flitgym::learning
