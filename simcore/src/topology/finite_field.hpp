// Finite fields, for topologies that are built from finite geometry.
#pragma once

#include "simcore/error.hpp"
#include "simcore/types.hpp"

namespace flitgym::topology {

// The field of q = p^n elements: polynomials over the integers mod p, stored as numbers whose digits (base p) are the
// coefficients.
struct Field {
  u32 q, p = 2;
  std::vector<u32> power, log;  // powers and logarithms of a primitive element; log[0] is unused

  u32 add(u32 a, u32 b, u32 times = 1) const {  // a + times b
    u32 sum = 0;
    for (u32 digit = 1; digit < q; digit *= p) sum += (a / digit + b / digit % p * times) % p * digit;
    return sum;
  }
  u32 multiply(u32 a, u32 b) const { return a && b ? power[(log[a] + log[b]) % (q - 1)] : 0; }
  u32 minus(u32 a) const { return add(0, a, p - 1); }

  explicit Field(u32 size) : q(size) {
    while (q % p) p++;
  }
  // Returns false if q is not a power of a prime. Takes the first polynomial c for which x is primitive if x^n = c.
  bool find_primitive() {
    u32 top = 1;  // p^(n-1)
    while (top * p < q) top *= p;
    if (top * p != q) return false;
    for (u32 c = 1; c < q; c++) {
      const auto by_x = [&](u32 v) { return add(v % top * p, c, v / top); };
      power.assign(1, 1);
      u32 v = by_x(1);
      for (; v > 1 && power.size() < q - 1; v = by_x(v)) power.push_back(v);
      if (v == 1 && power.size() == q - 1) break;
    }
    log.assign(q, 0);
    for (u32 k = 0; k < q - 1; k++) log[power[k]] = k;
    return true;
  }
};

inline bool is_prime_power(u32 q) { return q > 1 && Field(q).find_primitive(); }

// For error messages: the nearest numbers below and above q for which fits(n) holds. If none from `least` to q fits,
// the two nearest numbers above.
template <class Fits>
std::string nearest_valid(u32 q, u32 least, Fits fits) {
  u32 low = q, high = std::max(q, least);
  while (low > least && !fits(low)) low--;
  while (!fits(high)) high++;
  if (low < least || !fits(low)) {
    low = high++;
    while (!fits(high)) high++;
  }
  return std::to_string(low) + " and " + std::to_string(high);
}

// The field of the parameter `q` of a topology. Throws ConfigError unless fits(q).
inline Field field_of(const std::string& topology, u32 q, u32 least = 2, bool (*fits)(u32) = is_prime_power) {
  if (!fits(q))
    throw ConfigError("topology.", topology, ".q: ", q, " is not a power of a prime; the nearest valid values are ",
                      nearest_valid(q, least, fits));
  Field field(q);
  field.find_primitive();
  return field;
}

inline u32 place_in(const std::vector<u32>& sorted, u32 value) {
  return static_cast<u32>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

}  // namespace flitgym::topology
