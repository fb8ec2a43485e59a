// BC: terminal n of N to terminal N - 1 - n. Where N is a power of two, that is the one whose number has every bit
// inverted; elsewhere it is the mirrored number, which keeps what the pattern is for: on a HyperX every coordinate is
// mirrored, so that all of a router's traffic shares one link per dimension under minimal routing, and in a fat tree
// with an even number of subtrees below the top every packet goes over the top. With N odd the terminal in the middle
// sends to itself.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::bit_complement {

namespace {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  return make_partners(net, [&](u32 terminal) { return net.terminals - 1 - terminal; });
}

const Register<TrafficSpec> entry({
    .name = "bit_complement",
    .summary = "terminal n of N to N - 1 - n: with N a power of two, every bit of the number inverted (BC)",
    .setup = setup,
    .destination = partner,
});

}  // namespace

}  // namespace flitgym::traffic::bit_complement
