// Reports of the neighbours. Each router learns a table of the time that packets lose to queueing on their path to a
// region of the network, per port. It learns from feedback as the table of Q-adaptive does (Kang et al., HPDC 2021),
// but without the flight time. An untrained table therefore holds zeros, which stand for empty queues. On an idle
// network of any size, this is correct.
#include "learning/report_rows.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::q_values {

u32 row_of(const Network& net, u32 to) { return net.seam->region[to]; }

std::shared_ptr<const ComponentData> setup(Network& net) {
  net.learns = true;
  net.feedback =
      declare_table(net, {.name = "q_values",
                          .meaning = "q_values: ns lost to queueing, (region of the destination) x non-terminal port",
                          .rows = net.topology->regions(net),
                          .columns = net.link_span});
  return nullptr;
}

// Reports to the previous router the lowest expected loss over the packet's candidates here.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData*) {
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
    const float* const row = net.feedback.row(s, router, detail.row);
    const auto lost = [&](u32 local) { return row[local - net.first_link[router]]; };
    detail.value = router == to ? 0 : least_of_candidates(net, graph, b, i, to, lost);
  }
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const u32 first = net.first_link[asked.router];
  const float* row = net.feedback.row(s, asked.router, row_of(net, asked.to));
  for (u32 k = 0; k < asked.slots; k++, slots += stride)
    slots[0] = std::min(row[asked.ports[k] - first] * 0.001f, 100.0f);
}

float lost(const Network& net, const State& s, const ComponentData*, const Packet& p, u32, u32 router, u32 local) {
  const u32 row = row_of(net, net.terminal_router[p.destination]);
  return net.feedback.row(s, router, row)[local - net.first_link[router]];
}

const Register<ObservationSpec> entry({
    .name = "q_values",
    .summary = "time that packets through each candidate lose to queueing, as reported by the neighbours",
    .per_slot = {{"lost", 0, 100, "us lost to queueing, running mean"}},
    .write = write,
    .setup = setup,
    .prepare = prepare,
    .learn = learn_lost,
    .lost = lost,
    .per_candidate = kLostPerCandidate,
    .update = kLostUpdate,
    .local = true,
});

}  // namespace flitgym::learning::observation::q_values
