// Bit reversal: the bits of a terminal's number in reverse order (Dally & Towles, 3.2). A fat tree with one path per
// destination carries this pattern badly, because the paths of many pairs share a link.
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::bit_reversal {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const u32 bits = bits_of_terminals("bit_reversal", net);
  return make_partners(net, [&](u32 terminal) {
    u32 reversed = 0;
    for (u32 k = 0; k < bits; k++) reversed |= (terminal >> k & 1) << (bits - 1 - k);
    return reversed;
  });
}

const Register<TrafficSpec> entry({
    .name = "bit_reversal",
    .summary = "each terminal to the terminal whose number has the same bits in reverse order",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::bit_reversal
