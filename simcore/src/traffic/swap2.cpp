// S2 (SC'19): terminals in even slots send half a width away in x, those in odd slots half a width away in y. A permutation that
// leaves most links idle under minimal routing.
#include "traffic/coordinates.hpp"

namespace flitgym {

namespace {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const HyperX& hx = hyperx(net);
  need_dimensions("swap2", hx, 2);
  for (const u32 k : {0u, 1u}) need_even_width("swap2", hx, k);
  return make_partners_by_router(net, [&](std::vector<u32> at, u32 slot) {
    const u32 k = slot % 2;
    at[k] = (at[k] + hx.widths[k] / 2) % hx.widths[k];
    return at;
  });
}

const Register<TrafficSpec> entry({"swap2", "even slots half a width away in x, odd ones in y (S2)", {"hyperx"}, {}, setup, partner});

}  // namespace

}  // namespace flitgym
