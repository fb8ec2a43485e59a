// A witness records the decisions of a routing that has no seam of its own, such as PAR. The slots of a decision are
// the candidates that the routing lists, and the action is the slot of its choice. The routing does not see the
// witness, so a recorded run equals the run without a record.
#include <algorithm>
#include <limits>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"

namespace flitgym {

const std::vector<ParamSpec>& record_params() {
  constexpr double kMostRecorded = 256;  // slots; a policy that learns from the record has at most kMostSlots
  static const std::vector<ParamSpec> specs = [] {
    std::vector<ParamSpec> own = row_params();
    for (ParamSpec& spec : own) {
      if (spec.key == "slots") spec.max = kMostRecorded;
      if (spec.key == "observation") spec.fallback = std::string("progress+router+queues+path");
      if (spec.key == "record")
        spec = integer("capacity", 1 << 16, 1, 1 << 24, "transitions", "size of the ring buffer");
    }
    return own;
  }();
  return specs;
}

void build_witness(const Values& given, Network& net) {
  if (net.decider != Decider::kRouting || net.seam)
    throw ConfigError("record: routing." + net.routing_name +
                      (net.seam ? " records its own decisions; set routing.record to a number of transitions instead"
                                : " is decided outside the core; its agent knows the decisions"));
  const Params params("record", record_params(), given, net.seed);
  auto seam = std::make_shared<Seam>();
  seam->witness = true;
  seam->listing = listing_network(net, "record");
  net.seam = seam;
  build_rows("record", params.with({{"record", params.integer("capacity")}}), net, *seam);
  net.config.record = params.values();
}

void route_and_record(const Network& net, State& s, Batch& b) {
  const Seam& seam = *net.seam;
  Decisions& d = b.decisions;
  list_candidates_of(net, seam.listing ? seam.listing.get() : &net, s, b);
  slot_decisions<false>(net, s, b);
  net.route(net, s, b);
  for (u32 j = 0; j < d.count; j++) {
    const u32 i = d.request[j], first = j * seam.slots, count = d.slot_count[j];
    const u16 port = b.out_port[i], vc_class = b.out_class[i];
    u32 k = 0, same_port = count;
    for (; k < count && (d.ports[first + k] != port || d.classes[first + k] != vc_class); k++)
      if (d.ports[first + k] == port) same_port = std::min(same_port, k);
    if (k == count) k = same_port;
    if (k == count) {  // there are more candidates than slots, and the choice replaces the last slot
      k = count - 1;
      d.ports[first + k] = port;
      d.classes[first + k] = vc_class;
    }
    d.chosen[j] = k;
    d.log_probability[j] = std::numeric_limits<float>::quiet_NaN();
    observe(net, s, b, j);
    open_record(net, s, b, j);
  }
  s.part.learning.decisions += d.count;
}

}  // namespace flitgym
