// What the neighbours report: a table per router of the time that packets lost to queueing on their way to a region of the network
// by each port, learned from feedback as Q-adaptive learns its table (Kang et al., HPDC 2021), but with the flight time
// left out. So an untrained table is all zeros, says "no queues", and is right on an idle network of any size.
#include <algorithm>

#include "routing/q_table.hpp"
#include "simcore/learning.hpp"
#include "topology/graph.hpp"

namespace flitgym {

namespace {

constexpr float kRate = 0.1f;

u32 row_of(const Network& net, u32 to) { return net.seam->region[to]; }

void setup(Network& net) {
  const u32 columns = net.link_span;
  net.learns = true;
  net.table = {net.topology->regions(net), columns, (columns + 7) / 8 * 8, "q_values: ns lost to queueing, (region of the destination) x non-terminal port"};
  claim_table(net);
}

void initialise(const Network&, State& s) { std::fill(s.table.begin(), s.table.end(), 0.0f); }

// Tells the router before this one how the packet will fare from here: the least over its candidates.
void prepare(const Network& net, State& s, const Batch& b) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  for (u32 i = 0; i < b.count; i++) {
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i];
    if (!net.is_link(net.port(router, b.in_port[i]))) {
      detail.value = -1.0f;
      continue;
    }
    const u32 to = net.terminal_router[s.packets[b.packet[i]].destination];
    detail.row = row_of(net, to);
    detail.value = 0;
    if (router == to) continue;
    const float* row = q_row(net, s, router, detail.row);
    const float direct = flight(net, graph, router, to);
    float least = std::numeric_limits<float>::max();
    for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++) {
      const u32 local = b.candidate_port[k], port = net.port(router, local);
      const float time = seam.hop_ns[port] + flight(net, graph, seam.next_router[port], to) - direct + row[local - net.first_link[router]];
      least = std::min(least, time);
    }
    detail.value = std::max(least, 0.0f);
  }
}

void learn(const Network& net, State& s, u32 port, u32 row, float target) {
  float& value = q_row(net, s, net.router_of_port(port), row)[net.local_port(port) - net.first_link[net.router_of_port(port)]];
  value += kRate * (std::max(target - net.seam->hop_ns[port], 0.0f) - value);
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const u32 first = net.first_link[asked.router];
  const float* row = &s.table[(std::size_t{asked.router} * net.table.rows + row_of(net, asked.to)) * net.table.stride];
  for (u32 k = 0; k < asked.slots; k++, slots += stride) slots[0] = std::min(row[asked.ports[k] - first] * 0.001f, 100.0f);
}

const Register<ObservationSpec> entry({
    "q_values",
    "time that packets by each candidate have been losing to queueing, as the neighbours report it",
    {},
    {{"lost", 0, 100, "us, running mean"}},
    write,
    setup,
    initialise,
    prepare,
    learn,
});

}  // namespace

}  // namespace flitgym
