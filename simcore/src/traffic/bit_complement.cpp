// BC: terminal n to the one whose number has every bit inverted. On a HyperX with powers of two for widths and terminals per
// router every coordinate is mirrored, so that all of a router's traffic shares one link per dimension under minimal routing.
#include "traffic/coordinates.hpp"

namespace flitgym {

namespace {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  bits_of_terminals("bit_complement", net);
  return make_partners(net, [&](u32 terminal) { return ~terminal & (net.terminals - 1); });
}

const Register<TrafficSpec> entry({"bit_complement", "each terminal to the one with every bit of its number inverted (BC)", {}, {}, setup, partner});

}  // namespace

}  // namespace flitgym
