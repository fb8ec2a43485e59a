// Feedback that has returned to a source about its paths (routing/graph/source_rule.hpp). All values are 0 after the
// first router, and with relations that keep no paths.
#include "routing/graph/source_rule.hpp"
#include "simcore/learning.hpp"

namespace flitgym::learning::observation::returned {

constexpr u32 kFeatures = 5;

static void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const auto* rule = dynamic_cast<const routing::graph::SourceRule*>(net.relation.get());
  const Packet& p = asked.packet;
  const bool at_source = rule && p.phase == kUndecided && asked.router != asked.to;
  routing::graph::PathList list;
  if (at_source) list = rule->paths.of(net, asked.router, asked.to);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    std::fill_n(slots, kFeatures, 0.0f);
    const u32 path = list.find(asked.ports[k]);
    if (path == list.count) continue;
    const u32 middle = list.middle[path];
    const float idle = rule->idle_ns(net, p, asked.router, asked.ports[k], middle);
    const auto means = rule->memory.means(net, s, p.source, asked.to, path);
    slots[0] = std::min((means.delay_ns > 0 ? means.delay_ns : idle) * 0.001f, 100.0f);
    slots[1] = means.mark;
    slots[2] = means.delay_ns > 0;
    slots[3] = static_cast<float>(distance(net, *net.graphs[0], asked.router, middle, asked.to)) * 0.125f;
    slots[4] = std::min(idle * 0.001f, 100.0f);
  }
}

const Register<ObservationSpec> entry({
    .name = "returned",
    .summary = "at the source: delay and marks that the packets of each path have returned",
    .per_slot = {{"delay", 0, 100, "us from the decision to the delivery, running mean; idle_time before the first"},
                 {"marked", 0, 1, "part of the packets that met a long queue, running mean"},
                 {"heard", 0, 1, "1: a packet of this path has returned"},
                 {"path_hops", 0, 64, "router-to-router hops of the path / 8"},
                 {"idle_time", 0, 100, "us along the path without queueing, to the delivery"}},
    .write = write,
});

}  // namespace flitgym::learning::observation::returned
