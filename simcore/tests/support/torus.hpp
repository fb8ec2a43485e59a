// Tori and meshes of the tests.
#pragma once

#include "simcore/topology/torus.hpp"
#include "support/scenes.hpp"

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

}  // namespace scenes
