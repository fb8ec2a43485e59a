// Shuffle: the bits of a terminal's number, rotated left by one (Dally & Towles, 3.2).
#include "traffic/coordinates.hpp"

namespace flitgym::traffic::shuffle {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const u32 bits = bits_of_terminals("shuffle", net);
  return make_partners(net, [&](u32 terminal) {
    return bits ? (terminal << 1 | terminal >> (bits - 1)) & (net.terminals - 1) : terminal;
  });
}

const Register<TrafficSpec> entry({
    .name = "shuffle",
    .summary = "each terminal to the terminal whose number has the same bits rotated left by one",
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::shuffle
