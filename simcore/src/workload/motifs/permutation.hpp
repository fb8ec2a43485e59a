// A random permutation of 0 .. n-1 that is computed instead of stored. It applies a Feistel network on the next power
// of four until the value is below n (cycle walking: Black, Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
// 2002). Permutation and inverse cost a few steps for any n.
#pragma once

#include "simcore/rng.hpp"

namespace flitgym::workload {

class KeyedPermutation {
 public:
  KeyedPermutation(u32 n, u64 key)
      : n_(n), half_(n > 1 ? (static_cast<u32>(std::bit_width(n - 1)) + 1) / 2 : 1), mask_((1u << half_) - 1) {
    for (u32 round = 0; round < kRounds; round++) round_[round] = draw(key, 0, round);
  }

  u32 operator()(u32 x) const {
    do x = forward(x);
    while (x >= n_);
    return x;
  }
  u32 inverse(u32 y) const {
    do y = backward(y);
    while (y >= n_);
    return y;
  }

 private:
  static constexpr u32 kRounds = 6;  // four rounds leave small domains visibly uneven

  u32 mix(u32 round, u32 half) const {
    return static_cast<u32>(mix64(round_[round] + 0x9e3779b97f4a7c15ull * half) >> 32) & mask_;
  }
  u32 forward(u32 x) const {
    u32 left = x >> half_, right = x & mask_;
    for (u32 round = 0; round < kRounds; round++) {
      const u32 next = left ^ mix(round, right);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }
  u32 backward(u32 y) const {
    u32 left = y >> half_, right = y & mask_;
    for (u32 round = kRounds; round-- > 0;) {
      const u32 before = right ^ mix(round, left);
      right = left;
      left = before;
    }
    return left << half_ | right;
  }

  u32 n_, half_, mask_;
  u64 round_[kRounds];
};

}  // namespace flitgym::workload
