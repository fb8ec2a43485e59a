// Published distributions of flow sizes, and draws from them. Between two points a distribution is linear. The points
// are those of HPCC's evaluation (alibaba-edu/High-Precision-Congestion-Control, traffic_gen).
//
//   websearch  Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, figure 4
//   hadoop     Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, figure 6 (Hadoop)
//   storage    Alibaba's distributed storage in 2019, published with HPCC (Li et al., SIGCOMM 2019)
#pragma once

#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/rng.hpp"

namespace flitgym::traffic {

struct FlowSizes {
  struct Point {
    double bytes, share;  // share of the flows with at most these bytes
  };
  std::vector<Point> points;
  double scale;  // default factor on the sizes, which gives a mean of 1 to 3 kB

  // Share of the flows with more bytes.
  double beyond(double bytes) const {
    if (bytes < points.front().bytes) return 1;
    const auto at = std::upper_bound(points.begin(), points.end(), bytes,
                                     [](double x, const Point& point) { return x < point.bytes; });
    if (at == points.end()) return 0;
    const Point &a = at[-1], &b = *at;
    return 1 - a.share - (b.share - a.share) * (bytes - a.bytes) / (b.bytes - a.bytes);
  }
  // Bytes of a flow, at least 1. `share` is uniform in (0, 1).
  u64 drawn(double share) const {
    const auto at = std::upper_bound(points.begin(), points.end() - 1, share,
                                     [](double x, const Point& point) { return x < point.share; });
    if (at == points.begin()) return static_cast<u64>(std::max(1.0, std::ceil(at->bytes)));
    const Point &a = at[-1], &b = *at;
    const double bytes = a.bytes + (b.bytes - a.bytes) * (share - a.share) / (b.share - a.share);
    return static_cast<u64>(std::max(1.0, std::ceil(bytes)));
  }
  // Mean flits of a flow that is cut into packets. The flit that begins at byte x exists in the flows with more bytes.
  double mean_flits(u32 packet_bytes, u32 flit_bytes) const {
    double sum = 0;
    for (double packet = 0; packet == 0 || beyond(packet) > 0; packet += packet_bytes, worked())
      for (double x = 0; x < packet_bytes; x += flit_bytes) sum += packet + x == 0 ? 1 : beyond(packet + x);
    return sum;
  }
};

// clang-format off
inline FlowSizes flow_sizes(const std::string& name) {
  if (name == "websearch")
    return {{{0, 0}, {1e4, .15}, {2e4, .2}, {3e4, .3}, {5e4, .4}, {8e4, .53}, {2e5, .6}, {1e6, .7}, {2e6, .8},
             {5e6, .9}, {1e7, .97}, {3e7, 1}}, 0.001};
  if (name == "hadoop")
    return {{{0, 0}, {100, .01}, {200, .02}, {300, .05}, {350, .15}, {400, .2}, {500, .3}, {600, .4}, {700, .5},
             {1e3, .6}, {2e3, .67}, {7e3, .7}, {3e4, .72}, {5e4, .82}, {8e4, .87}, {1.2e5, .9}, {3e5, .95},
             {1e6, .975}, {2e6, .99}, {1e7, 1}}, 0.01};
  return {{{0, 0}, {4e3, .2293}, {8e3, .6921}, {1.6e4, .8061}, {3.2e4, .9047}, {6.4e4, .9353}, {1.28e5, .9677},
           {2.56e5, .9753}, {2e6, 1}}, 0.05};
}
// clang-format on

}  // namespace flitgym::traffic
