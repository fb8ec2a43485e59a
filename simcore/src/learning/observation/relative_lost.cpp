// What the neighbours report, as in q_values, with two differences. It is told over the network's mean hop. And the clock starts when
// the packet asks for its route, not when it arrives: what it waited before is the same whichever way it takes, but on a router
// without output queues it can be many times a hop, and then little else would be left to see.
#include <algorithm>
#include <limits>

#include "learning/feedback_row.hpp"
#include "learning/relative.hpp"
#include "simcore/registry.hpp"
#include "topology/graph.hpp"

namespace flitgym {

namespace {

constexpr float kRate = 0.1f;

std::shared_ptr<const ComponentData> setup(Network& net) {
  MemoryShape shape;
  shape.name = "relative_lost";
  shape.meaning = "relative_lost: ns lost to queueing from the decision on, (region of the destination) x non-terminal port";
  shape.rows = net.topology->regions(net);
  shape.columns = net.link_span;
  net.learns = true;
  net.feedback = declare_table(net, shape);
  return nullptr;
}

// Tells the router before this one how the packet will fare from here: the least over its candidates.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData*) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  constexpr u32 kAhead = 4;
  for (u32 i = 0; i < b.count; i++) {
    if (i + kAhead < b.count) fetch_row(net, s, b, i + kAhead);
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i];
    detail.arrived = b.now;
    if (!net.is_link(net.port(router, b.in_port[i]))) {
      detail.value = -1.0f;
      continue;
    }
    const u32 to = net.terminal_router[s.packets[b.packet[i]].destination];
    detail.row = seam.region[to];
    detail.value = 0;
    if (router == to) continue;
    const float* const row = net.feedback.row(s, router, detail.row);
    const u32 first = net.first_link[router], begin = b.offsets[i], end = b.offsets[i + 1];
    if (end == begin + 1) {  // the way of the minimal path
      detail.value = row[b.candidate_port[begin] - first];
      continue;
    }
    const float direct = flight(net, graph, router, to);
    float least = std::numeric_limits<float>::max();
    for (u32 k = begin; k < end; k++) {
      const u32 local = b.candidate_port[k], port = net.port(router, local);
      least = std::min(least, seam.hop_ns[port] + flight(net, graph, seam.next_router[port], to) - direct + row[local - first]);
    }
    detail.value = std::max(least, 0.0f);
  }
}

void learn(const Network& net, State& s, u32 port, u32 row, float target) {
  const u32 router = net.router_of_port(port);
  float& value = net.feedback.row(s, router, row)[net.local_port(port) - net.first_link[router]];
  value += kRate * (std::max(target - net.seam->hop_ns[port], 0.0f) - value);
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const u32 first = net.first_link[asked.router];
  const float per_ns = 1.0f / net.seam->hop_scale_ns;
  const float* const row = net.feedback.row(s, asked.router, net.seam->region[asked.to]);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) slots[0] = relative(row[asked.ports[k] - first] * per_ns);
}

const Register<ObservationSpec> entry({
    "relative_lost",
    "time that packets by each candidate have been losing to queueing, as the neighbours report it, over the network's mean hop",
    {},
    {{"lost", 0, kMostRelative, "running mean / mean hop"}},
    write,
    setup,
    prepare,
    learn,
});

}  // namespace

}  // namespace flitgym
