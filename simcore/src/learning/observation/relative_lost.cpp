// Reports of the neighbours, as in q_values, with three differences. First, times are relative to the mean hop of the
// network. Second, the clock starts when the packet requests its route, not when it arrives. The waiting time before
// the request is the same for every candidate. On a router without output queues it can be many hop times and would
// hide the difference between candidates. Third, packets that differ in their expected delay at the same port have
// separate rows.
//
// Rows by leg. Packets at their first router and at later routers have different VC classes. On one link, one class may
// pass while the other is blocked. A mean over both classes hid an effect on dragonfly_1056 under ADV+4. A packet whose
// first hop is local later meets a congested local link in the intermediate group, and cannot avoid it.
//
// Rows by source (only relative_lost_by_source): the index of the sender on its router, as in the table of Q-adaptive
// (Kang et al., HPDC 2021). If a terminal floods the network, its reports do not affect the rows of senders with
// another index. Learning takes longer in proportion to the additional rows.
#include <algorithm>
#include <limits>
#include <vector>

#include "learning/relative.hpp"
#include "simcore/registry.hpp"
#include "topology/graph.hpp"

namespace flitgym::learning::observation::relative_lost {

namespace {

constexpr float kRate = 0.1f;
// write() reads an entry. prepare() reads an entry, adds it to the difference of two flight times, and compares sums.
constexpr Operations kPerCandidate = {.additions = 1, .comparisons = 1, .reads = 2};
// learn() subtracts the hop time, takes the error, and adds its product with the rate.
constexpr Operations kUpdate = {.multiplications = 1, .additions = 3, .comparisons = 1, .reads = 1};
constexpr u32 kLegs = 2;
constexpr u64 kMostCells = u64{1} << 26;  // cells of all tables; larger networks get fewer rows by source

struct Rows : ComponentData {
  u32 places = 1;
};

u32 row_of(const Network& net, const Rows& rows, const Packet& p, u32 to, u32 hops) {
  const u32 place = net.terminal_port[p.source] % rows.places;
  return (net.seam->region[to] * rows.places + place) * kLegs + std::min(hops, kLegs - 1);
}

std::shared_ptr<const ComponentData> set_up(Network& net, std::string name, bool by_source) {
  auto rows = std::make_shared<Rows>();
  const u32 regions = net.topology->regions(net);
  std::vector<u32> terminals(by_source ? net.routers : 0);
  for (u32 k = 0; by_source && k < net.terminal_router.size(); k++)
    rows->places = std::max(rows->places, ++terminals[net.terminal_router[k]]);
  const u64 cells = u64{net.routers} * regions * kLegs * net.link_span;
  while (rows->places > 1 && cells * rows->places > kMostCells) rows->places /= 2;
  MemoryShape shape;
  shape.meaning = name + ": ns lost to queueing after the decision, (region of the destination" +
                  (by_source ? ", index of the sender on its router" : "") +
                  ", first router or later) x non-terminal port";
  shape.name = std::move(name);
  shape.rows = regions * rows->places * kLegs;
  shape.columns = net.link_span;
  net.learns = true;
  net.feedback = declare_table(net, shape);
  return rows;
}

// Reports to the previous router the lowest expected loss over the packet's candidates here.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* own) {
  const auto& rows = static_cast<const Rows&>(*own);
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  constexpr u32 kAhead = 4;  // rows are scattered in memory, so they are prefetched
  for (u32 i = 0; i < b.count; i++) {
    if (i + kAhead < b.count) {
      const Packet& later = s.packets[b.packet[i + kAhead]];
      const u32 row = row_of(net, rows, later, net.terminal_router[later.destination], later.hops);
      __builtin_prefetch(net.feedback.row(s, b.router[i + kAhead], row));
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
    detail.row = row_of(net, rows, p, to, p.hops - 1u);  // row of the previous router
    detail.value = 0;
    if (router == to) continue;
    const float* const row = net.feedback.row(s, router, row_of(net, rows, p, to, p.hops));
    const u32 first = net.first_link[router], begin = b.offsets[i], end = b.offsets[i + 1];
    if (end == begin + 1) {  // minimal path
      detail.value = row[b.candidate_port[begin] - first];
      continue;
    }
    const float direct = flight(net, graph, router, to);
    float least = std::numeric_limits<float>::max();
    for (u32 k = begin; k < end; k++) {
      const u32 local = b.candidate_port[k], port = net.port(router, local);
      least = std::min(
          least, seam.hop_ns[port] + flight(net, graph, seam.next_router[port], to) - direct + row[local - first]);
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
  const float* const row = net.feedback.row(
      s, asked.router, row_of(net, static_cast<const Rows&>(*asked.own), asked.packet, asked.to, asked.packet.hops));
  for (u32 k = 0; k < asked.slots; k++, slots += stride) slots[0] = bounded(row[asked.ports[k] - first] * per_ns);
}

float lost(const Network& net, const State& s, const ComponentData* own, const Packet& p, u32 hops, u32 router,
           u32 local) {
  const u32 row = row_of(net, static_cast<const Rows&>(*own), p, net.terminal_router[p.destination], hops);
  return net.feedback.row(s, router, row)[local - net.first_link[router]];
}

ObservationSpec block(std::string name, std::string summary, std::shared_ptr<const ComponentData> (*setup)(Network&)) {
  return {
      .name = std::move(name),
      .summary = std::move(summary),
      .per_slot = {{"lost", 0, kMostRelative, "time lost to queueing, running mean / mean hop"}},
      .write = write,
      .setup = setup,
      .prepare = prepare,
      .learn = learn,
      .lost = lost,
      .per_candidate = kPerCandidate,
      .update = kUpdate,
  };
}

const Register<ObservationSpec> together(block("relative_lost",
                                               "time that packets through each candidate lose to queueing, as reported "
                                               "by the neighbours, relative to the mean hop of the network",
                                               [](Network& net) { return set_up(net, "relative_lost", false); }));

const Register<ObservationSpec> apart(block("relative_lost_by_source",
                                            "as relative_lost, but learned separately for each index of a sender on "
                                            "its router, which separates persistent flows",
                                            [](Network& net) { return set_up(net, "relative_lost_by_source", true); }));

}  // namespace

}  // namespace flitgym::learning::observation::relative_lost
