// The polarity graph ER_q (Erdos and Renyi 1962; Brown 1966), the basis of PolarFly and PolarStar.
#pragma once

#include "simcore/limits.hpp"
#include "topology/finite_field.hpp"

namespace flitgym::topology {

// The vertices are the q^2 + q + 1 points of the projective plane over the field of q elements. Two points are
// neighbours if their dot product is 0. A quadric is a point that is orthogonal to itself. The q + 1 quadrics have q
// neighbours, all other points q + 1. Any two points have exactly one common neighbour, if a quadric counts as its own
// neighbour.
//
// Vertices are numbered rack by rack. One rack has q + 1 vertices, the other q racks have q.
// Odd q   the layout of Lakhotia et al. (SC 2022, section V): rack 0 has the quadrics. Every other rack has one
//         neighbour of the first quadric, and all neighbours of that vertex which are not quadrics.
// Even q  each rack has a quadric and its neighbours, except the point (1, 1, 1), which all quadrics have as a
//         neighbour. This point is the last vertex of rack 0. (Our choice.)
struct PolarityGraph {
  std::vector<std::vector<u32>> next;  // [vertices] neighbours in ascending order, without the vertex itself
  std::vector<u8> quadric;             // [vertices]
  std::vector<u32> rack;               // [vertices]
};

// The points of the plane, with their first coordinate that is not 0 scaled to 1: (1, y, z), (0, 1, z), (0, 0, 1).
struct Plane {
  struct Point {
    u32 x, y, z;
  };
  const Field& field;

  u32 points() const { return field.q * field.q + field.q + 1; }
  Point point(u32 k) const {
    const u32 q = field.q;
    if (k < q * q) return {1, k / q, k % q};
    return k < q * q + q ? Point{0, 1, k - q * q} : Point{0, 0, 1};
  }
  u32 number(Point a) const {
    const u32 q = field.q,
              lead = a.x   ? a.x
                     : a.y ? a.y
                           : a.z,
              inverse = field.power[(q - 1 - field.log[lead]) % (q - 1)];
    const u32 y = field.multiply(a.y, inverse), z = field.multiply(a.z, inverse);
    return a.x ? y * q + z : a.y ? q * q + z : q * q + q;
  }
  // All q + 1 points orthogonal to a: the combinations of two of them.
  std::vector<u32> orthogonal(Point a) const {
    const Point one = a.z ? Point{a.z, 0, field.minus(a.x)} : a.y ? Point{a.y, field.minus(a.x), 0} : Point{0, 1, 0};
    const Point two = a.z ? Point{0, a.z, field.minus(a.y)} : Point{0, 0, 1};
    std::vector<u32> all = {number(two)};
    for (u32 t = 0; t < field.q; t++)
      all.push_back(number({field.add(one.x, field.multiply(t, two.x)), field.add(one.y, field.multiply(t, two.y)),
                            field.add(one.z, field.multiply(t, two.z))}));
    std::sort(all.begin(), all.end());
    return all;
  }
};

// The points in the order of their racks, and the first index of each rack.
struct RackOrder {
  std::vector<u32> points, first;
};

inline RackOrder rack_order(u32 q, const std::vector<std::vector<u32>>& next, const std::vector<u8>& quadric) {
  RackOrder order;
  std::vector<u32> quadrics;
  for (u32 k = 0; k < quadric.size(); k++)
    if (quadric[k]) quadrics.push_back(k);
  const bool odd = q % 2 == 1;
  const u32 nucleus = q + 1;  // the number of the point (1, 1, 1)
  const auto open_rack = [&] { order.first.push_back(static_cast<u32>(order.points.size())); };
  if (odd) {
    open_rack();
    order.points = quadrics;
  }
  for (const u32 centre : odd ? next[quadrics[0]] : quadrics) {
    open_rack();
    order.points.push_back(centre);
    std::vector<u32> others;
    for (const u32 other : next[centre])
      if (!quadric[other] && (odd || other != nucleus)) others.push_back(other);
    // Two neighbours of the centre that are neighbours of each other are adjacent in the order.
    while (!others.empty()) {
      const u32 other = others.front();
      order.points.push_back(other);
      others.erase(others.begin());
      const auto mate = std::find_if(others.begin(), others.end(), [&](u32 k) {
        return std::binary_search(next[other].begin(), next[other].end(), k);
      });
      if (mate == others.end()) continue;
      order.points.push_back(*mate);
      others.erase(mate);
    }
    if (!odd && centre == quadrics[0]) order.points.push_back(nucleus);
  }
  open_rack();
  return order;
}

inline PolarityGraph polarity_graph(const Field& field) {
  const Plane plane{field};
  const u32 n = plane.points();
  claim_memory(u64{n} * (4 * field.q + 64), "topology", "the neighbours of ", n, " points of a projective plane");
  std::vector<std::vector<u32>> next(n);
  std::vector<u8> quadric(n, 0);
  for (u32 k = 0; k < n; k++) {
    worked(16 * field.q);
    next[k] = plane.orthogonal(plane.point(k));
    const auto own = std::lower_bound(next[k].begin(), next[k].end(), k);
    if (own == next[k].end() || *own != k) continue;
    quadric[k] = 1;
    next[k].erase(own);
  }

  const RackOrder order = rack_order(field.q, next, quadric);
  std::vector<u32> number(n);
  for (u32 k = 0; k < n; k++) number[order.points[k]] = k;
  PolarityGraph graph;
  graph.rack.resize(n);
  for (u32 rack = 0; rack + 1 < order.first.size(); rack++)
    std::fill(graph.rack.begin() + order.first[rack], graph.rack.begin() + order.first[rack + 1], rack);
  for (const u32 old : order.points) {
    worked(8 * field.q);
    for (u32& other : next[old]) other = number[other];
    std::sort(next[old].begin(), next[old].end());
    graph.next.push_back(std::move(next[old]));
    graph.quadric.push_back(quadric[old]);
  }
  return graph;
}

}  // namespace flitgym::topology
