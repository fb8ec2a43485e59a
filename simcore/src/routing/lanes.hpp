// The least of what a router's ports sense (Network::sensed), eight ports at a time: integers of 16 bits in vector registers, the
// same on every machine.
#pragma once

#include <cstring>
#include <vector>

#include "simcore/state.hpp"
#include "topology/hyperx.hpp"

namespace flitgym {

using Lanes = i16 __attribute__((vector_size(16)));
inline constexpr u32 kLanes = Sensed::kLeastColumns;
inline constexpr i16 kNoLane = 0x7fff;  // of a port that does not count; what is sensed stays below
static_assert(kNoLane > Sensed::kMost);

inline Lanes load_lanes(const u16* at) {
  Lanes lanes;
  std::memcpy(&lanes, at, sizeof lanes);
  return lanes;
}
inline Lanes least(Lanes a, Lanes b) { return a < b ? a : b; }
inline i16 least(Lanes x) {
  using Pairs = u64 __attribute__((vector_size(16)));
  x = least(x, reinterpret_cast<Lanes>(reinterpret_cast<Pairs>(x) >> 32));
  x = least(x, reinterpret_cast<Lanes>(reinterpret_cast<Pairs>(x) >> 16));
  return x[0] < x[4] ? x[0] : x[4];
}

// Which lanes are deroutes, for every dimension and direct link: kNoLane for the direct ones and for other dimensions' ports, else 0.
class Deroutes {
 public:
  void build(const HyperX& hx, u32 columns) {
    for (u32 k = 0; k < hx.dimensions; k++) {
      const u32 base = hx.base[k], end = hx.end_of(k), blocks = (end - base + kLanes - 1) / kLanes;
      dimensions_.push_back({base, blocks, static_cast<u32>(lanes_.size()), columns - kLanes});
      for (u32 direct = base; direct < end; direct += hx.links[k])
        for (u32 block = 0; block < blocks; block++) {
          const u32 first = start(dimensions_[k], block);
          for (u32 port = first; port < first + kLanes; port++)
            lanes_.push_back(port < base || port >= end || (port >= direct && port < direct + hx.links[k]) ? kNoLane : 0);
        }
    }
  }
  // visit(first port of eight, their lanes) for all of a dimension, where the direct links are the `offset`th.
  template <class Visit>
  void each(u32 k, u32 offset, Visit&& visit) const {
    const Dimension& d = dimensions_[k];
    const u16* const lanes = &lanes_[d.lanes + offset * d.blocks * kLanes];
    for (u32 block = 0; block < d.blocks; block++) visit(start(d, block), load_lanes(&lanes[block * kLanes]));
  }

 private:
  struct Dimension {
    u32 base, blocks, lanes, last;  // last: where the last eight columns of a row begin
  };
  static u32 start(const Dimension& d, u32 block) {
    const u32 at = d.base + block * kLanes;
    return at < d.last ? at : d.last;
  }
  std::vector<Dimension> dimensions_;
  std::vector<u16> lanes_;  // [dimension, offset, block, lane]
};

}  // namespace flitgym
