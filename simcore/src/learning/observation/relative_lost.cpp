// What the neighbours report, as in q_values, with three differences. It is told over the network's mean hop. The clock starts when
// the packet asks for its route, not when it arrives: what it waited before is the same whichever way it takes, but on a router
// without output queues it can be many times a hop, and then little else would be left to see. And packets that fare differently by
// the same port have rows of their own:
//   by leg       Those that ask where they entered the network and those on their way have different VC classes, so that on one link
//                the ones may pass while the others stand. On dragonfly_1056 under ADV+4 a mean over both hid that whoever takes a
//                local hop first ends before a local link of the group in between that nothing leads around.
//   by source    The place of the sender on its router, as in Q-adaptive's table (Kang et al., HPDC 2021): what floods the network from
//                one terminal and what another sends find ports of their own, and keep to them.
#include <algorithm>
#include <limits>
#include <vector>

#include "learning/relative.hpp"
#include "simcore/registry.hpp"
#include "topology/graph.hpp"

namespace flitgym {

namespace {

constexpr float kRate = 0.1f;
constexpr u32 kLegs = 2;
constexpr u64 kMostCells = u64{1} << 26;  // of all tables; larger networks have fewer rows by source

struct Rows : ComponentData {
  u32 places = 1;
};

u32 row_of(const Network& net, const Rows& rows, const Packet& p, u32 to, u32 hops) {
  const u32 place = net.terminal_port[p.source] % rows.places;
  return (net.seam->region[to] * rows.places + place) * kLegs + std::min(hops, kLegs - 1);
}

std::shared_ptr<const ComponentData> setup(Network& net) {
  auto rows = std::make_shared<Rows>();
  const u32 regions = net.topology->regions(net);
  std::vector<u32> terminals(net.routers);
  for (const u32 router : net.terminal_router) rows->places = std::max(rows->places, ++terminals[router]);
  while (rows->places > 1 && u64{net.routers} * regions * rows->places * kLegs * net.link_span > kMostCells) rows->places /= 2;
  MemoryShape shape;
  shape.name = "relative_lost";
  shape.meaning = "relative_lost: ns lost to queueing from the decision on, (region of the destination, source slot, first router or later) x "
                  "non-terminal port";
  shape.rows = regions * rows->places * kLegs;
  shape.columns = net.link_span;
  net.learns = true;
  net.feedback = declare_table(net, shape);
  return rows;
}

// Tells the router before this one how the packet will fare from here: the least over its candidates.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* own) {
  const auto& rows = static_cast<const Rows&>(*own);
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  constexpr u32 kAhead = 4;  // the rows lie anywhere in memory
  for (u32 i = 0; i < b.count; i++) {
    if (i + kAhead < b.count) {
      const Packet& p = s.packets[b.packet[i + kAhead]];
      __builtin_prefetch(net.feedback.row(s, b.router[i + kAhead], row_of(net, rows, p, net.terminal_router[p.destination], p.hops)));
    }
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i];
    detail.arrived = b.now;
    if (!net.is_link(net.port(router, b.in_port[i]))) {
      detail.value = -1.0f;
      continue;
    }
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    detail.row = row_of(net, rows, p, to, p.hops - 1u);  // of the router before this one
    detail.value = 0;
    if (router == to) continue;
    const float* const row = net.feedback.row(s, router, row_of(net, rows, p, to, p.hops));
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
  const float* const row = net.feedback.row(s, asked.router, row_of(net, static_cast<const Rows&>(*asked.own), asked.packet, asked.to, asked.packet.hops));
  for (u32 k = 0; k < asked.slots; k++, slots += stride) slots[0] = relative(row[asked.ports[k] - first] * per_ns);
}

const Register<ObservationSpec> entry({
    .name = "relative_lost",
    .summary = "time that packets by each candidate have been losing to queueing, as the neighbours report it, over "
               "the network's mean hop",
    .per_slot = {{"lost", 0, kMostRelative, "running mean / mean hop"}},
    .write = write,
    .setup = setup,
    .prepare = prepare,
    .learn = learn,
});

}  // namespace

}  // namespace flitgym
