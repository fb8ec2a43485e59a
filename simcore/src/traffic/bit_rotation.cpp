// Bit rotation: the bits of a terminal's number, rotated right by one (Dally & Towles, 3.2).
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::bit_rotation {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const u32 bits = bits_of_terminals("bit_rotation", net);
  return make_partners(net,
                       [&](u32 terminal) { return bits ? terminal >> 1 | (terminal & 1) << (bits - 1) : terminal; });
}

const Register<TrafficSpec> entry({
    .name = "bit_rotation",
    .summary = "each terminal to the terminal whose number has the same bits rotated right by one",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::bit_rotation
