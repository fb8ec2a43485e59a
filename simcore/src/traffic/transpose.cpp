// Transpose: x and y exchanged.
#include "traffic/coordinates.hpp"

namespace flitgym {

namespace {

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  const HyperX& hx = hyperx(net);
  need_dimensions("transpose", hx, 2);
  need_equal_widths("transpose", hx, 0, 1);
  return make_partners_by_router(net, [](std::vector<u32> at, u32) {
    std::swap(at[0], at[1]);
    return at;
  });
}

const Register<TrafficSpec> entry({"transpose", "x and y exchanged", {"hyperx"}, {}, setup, partner});

}  // namespace

}  // namespace flitgym
