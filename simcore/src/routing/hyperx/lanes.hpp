// The least sensed value (Network::sensed) among a router's ports, eight ports at a time. The 16-bit integers in vector
// registers give the same result on every machine.
#pragma once

#include <cstring>

#include "simcore/topology/hyperx.hpp"

namespace flitgym::routing::hyperx {

using Lanes = i16 __attribute__((vector_size(16)));
inline constexpr u32 kLanes = Sensed::kLeastColumns;
inline constexpr i16 kNoLane = 0x7fff;  // marks a port that does not count; sensed values are smaller
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

// The data of a dimension that a decision reads, in one place.
struct Dimension {
  u64 mask;  // of a coordinate; `field` is its lowest bit in HyperX::place
  u32 field;
  u32 lanes;      // index of its first lane in PortLanes
  u16 base, end;  // first port; one past the last port
  u16 width, links;
  u16 blocks, last;  // number of blocks of eight columns; first column of a row's last block
  // The first direct link between two routers that differ in this dimension.
  u32 direct(u64 from, u64 to) const {
    const u32 own = static_cast<u32>(from >> field & mask), other = static_cast<u32>(to >> field & mask);
    return base + (other - own - 1 + select<u32>(other > own, 0, width)) * links;
  }
  u32 first(u32 block) const {
    const u32 at = base + block * kLanes;
    return at < last ? at : last;
  }
};

// The lanes that are deroutes, for every dimension and direct link: 0 for a deroute, kNoLane for direct links and for
// ports of other dimensions.
class PortLanes {
 public:
  void build(const HyperX& hx, u32 columns) {
    for (u32 k = 0; k < hx.dimensions; k++) {
      const u32 base = hx.base[k], end = hx.end_of(k), blocks = (end - base + kLanes - 1) / kLanes;
      dimensions_.push_back({hx.field_mask[k], hx.field[k], static_cast<u32>(lanes_.size()), static_cast<u16>(base),
                             static_cast<u16>(end), static_cast<u16>(hx.widths[k]), static_cast<u16>(hx.links[k]),
                             static_cast<u16>(blocks), static_cast<u16>(columns - kLanes)});
      for (u32 direct = base; direct < end; direct++)
        for (u32 block = 0; block < blocks; block++)
          for (u32 j = 0, port = dimensions_[k].first(block); j < kLanes; j++, port++)
            lanes_.push_back(port < base || port >= end || (port >= direct && port < direct + hx.links[k]) ? kNoLane
                                                                                                           : 0);
    }
  }
  const Dimension* dimensions() const { return dimensions_.data(); }
  // The lanes of all blocks of a dimension, block after block.
  const u16* deroutes(const Dimension& d, u32 direct) const {
    return &lanes_[d.lanes + (direct - d.base) * d.blocks * kLanes];
  }

 private:
  std::vector<Dimension> dimensions_;
  std::vector<u16> lanes_;  // [dimension, port of the first direct link, block, lane]
};

}  // namespace flitgym::routing::hyperx
