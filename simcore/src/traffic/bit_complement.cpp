// BC: terminal n of N sends to terminal N - 1 - n. If N is a power of two, this inverts every bit of n. For any other N
// the number is mirrored, which keeps the purpose of the pattern. On a HyperX every coordinate is mirrored, so under
// minimal routing all traffic of a router shares one link per dimension. In a fat tree with an even number of subtrees
// below the top, every packet crosses the top. If N is odd, the terminal in the middle sends to itself.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::bit_complement {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  return make_partners(net, [&](u32 terminal) { return net.terminals - 1 - terminal; });
}

const Register<TrafficSpec> entry({
    .name = "bit_complement",
    .summary = "terminal n of N to N - 1 - n, which inverts every bit of n if N is a power of two (BC)",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::bit_complement
