// Tori and meshes of the tests, and distances by a breadth-first search over their links.
#pragma once

#include "support/scenes.hpp"
#include "topology/torus.hpp"

namespace scenes {

struct Shape {
  std::string name;  // torus or mesh
  std::vector<double> sizes, links = {1}, wrap = {};
  i64 terminals = 1, local = -1;
};

inline Section torus_section(const Shape& shape) {
  Values values = {{"sizes", shape.sizes},
                   {"links", shape.links},
                   {"terminals_per_router", shape.terminals},
                   {"local_dimensions", shape.local}};
  if (!shape.wrap.empty()) values["wrap"] = shape.wrap;
  return {shape.name, values};
}

inline const std::vector<Shape>& small_shapes() {
  static const std::vector<Shape> shapes = {
      {"torus", {8}},
      {"torus", {7}, {2}, {}, 2},
      {"torus", {4, 4}},
      {"torus", {5, 4}, {1, 3}, {}, 1, 1},
      {"torus", {3, 2, 4}, {1}, {}, 2, 0},
      {"torus", {6, 5}, {1}, {1, 0}},  // a cylinder
      {"torus", {4, 2, 2, 2}, {1}},    // Angara, 32 nodes
      {"torus", {2, 2, 2, 2, 2}},      // a hypercube
      {"mesh", {2}},
      {"mesh", {9}},
      {"mesh", {4, 3, 2}, {2, 1, 2}, {}, 3, 2},
      {"mesh", {5, 4}, {1}, {0, 1}},
  };
  return shapes;
}

// Hops from router `from` to all others, by breadth-first search over the links.
inline std::vector<u32> walked_hops(const Network& net, u32 from) {
  std::vector<u32> hops(net.routers, kNone), found = {from};
  hops[from] = 0;
  for (std::size_t n = 0; n < found.size(); n++)
    for (u32 k = 0; k < net.radix; k++) {
      const u32 port = net.port(found[n], k);
      if (!net.is_link(port) || hops[net.next_router(port)] != kNone) continue;
      hops[net.next_router(port)] = hops[found[n]] + 1;
      found.push_back(net.next_router(port));
    }
  return hops;
}

}  // namespace scenes
