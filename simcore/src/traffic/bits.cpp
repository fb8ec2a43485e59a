// Permutations of the bits of a terminal's number (Dally & Towles, 3.2).
//
// Bit complement (BC): terminal n of N sends to terminal N - 1 - n. If N is a power of two, this inverts every bit of
// n. On a HyperX every coordinate is mirrored, so under minimal routing all traffic of a router shares one link per
// dimension. In a fat tree with an even number of subtrees below the top, every packet crosses the top.
//
// Bit reversal: a fat tree with one path per destination carries this pattern badly, because many pairs share a link.
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::bits {

// Partners by map(terminal, b) in a network of N = 2^b terminals. Throws for any other N.
template <class Map>
std::shared_ptr<const ComponentData> permuted(const std::string& pattern, const Network& net, Map map) {
  if (!std::has_single_bit(net.terminals))
    throw ConfigError(
        "traffic.", pattern,
        ": permutes the bits of a terminal's number, so the number of terminals must be a power of two; topology '",
        net.topology_name, "' has ", net.terminals, " terminals (between ", std::bit_floor(net.terminals), " and ",
        u64{std::bit_floor(net.terminals)} * 2, ")");
  const auto bits = static_cast<u32>(std::countr_zero(net.terminals));
  return make_partners(net, [&](u32 terminal) { return bits ? map(terminal, bits) : terminal; });
}

const Register<TrafficSpec> complement(fixed_partners(
    "bit_complement", "terminal n of N to N - 1 - n, which inverts every bit of n if N is a power of two (BC)",
    [](const Params&, const Network& net) {
      return make_partners(net, [&](u32 terminal) { return net.terminals - 1 - terminal; });
    }));

const Register<TrafficSpec> reversal(
    fixed_partners("bit_reversal", "each terminal to the terminal whose number has the same bits in reverse order",
                   [](const Params&, const Network& net) {
                     return permuted("bit_reversal", net, [](u32 terminal, u32 bits) {
                       u32 reversed = 0;
                       for (u32 k = 0; k < bits; k++) reversed |= (terminal >> k & 1) << (bits - 1 - k);
                       return reversed;
                     });
                   }));

const Register<TrafficSpec> rotation(fixed_partners(
    "bit_rotation", "each terminal to the terminal whose number has the same bits rotated right by one",
    [](const Params&, const Network& net) {
      return permuted("bit_rotation", net, [](u32 n, u32 bits) { return n >> 1 | (n & 1) << (bits - 1); });
    }));

const Register<TrafficSpec> shuffle(
    fixed_partners("shuffle", "each terminal to the terminal whose number has the same bits rotated left by one",
                   [](const Params&, const Network& net) {
                     return permuted("shuffle", net,
                                     [&](u32 n, u32 bits) { return (n << 1 | n >> (bits - 1)) & (net.terminals - 1); });
                   }));

}  // namespace flitgym::traffic::bits
