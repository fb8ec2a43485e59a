// Lost time and price of the path through each candidate. A long queue has two causes. Either a link of the path
// sends all the time; then a detour around this link helps. Or the links wait for credits, because the destination
// accepts no more; then every path has the queue, and a detour only fills the buffers of other packets. The utilisation
// tells the two cases apart.
//
// Each router measures the share of time in which its own links send, as a running mean. The utilisation of a path is
// the largest of its links. Routers learn it from feedback, in a table with the rows of the table of lost time
// (relative_lost_by_source). A packet carries one number back: packets with an even sequence number report the lost
// time, those with an odd one the utilisation. So the feedback has the size that it has without this block.
#include <algorithm>
#include <limits>
#include <vector>

#include "learning/relative.hpp"
#include "simcore/registry.hpp"
#include "topology/graph.hpp"

namespace flitgym::learning::observation::relative_use {

namespace {

constexpr float kRate = 0.1f;             // of both tables
constexpr float kMemory = 3;              // time constant of a link's running mean, in mean hops of the network
constexpr float kBusy = 0.8f;             // a link above this share is busy
constexpr u32 kLegs = 2;                  // rows for the first router and for later ones, as in relative_lost
constexpr u64 kMostCells = u64{1} << 26;  // cells of all tables; larger networks get fewer rows by source

// write() reads two entries and the use of a link, and computes a price. prepare() reads an entry and computes another
// price or sum. A price is one product and two additions, behind three comparisons. measure() updates a running mean.
constexpr Operations kPerCandidate = {.multiplications = 5, .additions = 7, .comparisons = 7, .reads = 3};
// learn() takes the error, and adds its product with the rate.
constexpr Operations kUpdate = {.multiplications = 1, .additions = 3, .comparisons = 1, .reads = 1};

struct Rule : ComponentData {
  Kept<u32> last;   // [router ports, 2]
  Kept<float> use;  // [router ports]
  u32 places = 1;
  u32 rows = 0;  // rows of one table; the table of prices follows that of lost times
};

// The price of a path from the price of its later links and the use of its first link. Below 1 it is the largest use,
// divided by kBusy. Above 1 it is 1 plus the sum of the links' excess, so a detour over more busy links costs more.
float price(float use, float later) {
  if (use <= kBusy && later <= 1) return std::max(use / kBusy, later);
  return 1 + std::max(use - kBusy, 0.0f) / (1 - kBusy) + std::max(later - 1, 0.0f);
}

u32 row_of(const Network& net, const Rule& rule, const Packet& p, u32 to, u32 hops) {
  const u32 place = net.terminal_port[p.source] % rule.places;
  return (net.seam->region[to] * rule.places + place) * kLegs + std::min(hops, kLegs - 1);
}

std::shared_ptr<const ComponentData> setup(Network& net) {
  auto rule = std::make_shared<Rule>();
  MemoryShape last;
  last.name = "relative_use_last";
  last.meaning = "relative_use: cycle of the last update of a link's mean, and low 32 bits of the flits sent before it";
  last.per = Per::kPort;
  last.columns = 2;
  last.highest = std::numeric_limits<u32>::max();
  rule->last = declare<u32>(net, last);
  MemoryShape use;
  use.name = "relative_use_link";
  use.meaning = "relative_use: share of time in which the link sends, running mean";
  use.per = Per::kPort;
  use.highest = 1;
  rule->use = declare<float>(net, use);
  std::vector<u32> terminals(net.routers);
  for (const u32 router : net.terminal_router) rule->places = std::max(rule->places, ++terminals[router]);
  const u32 regions = net.topology->regions(net);
  const u64 cells = u64{net.routers} * regions * kLegs * net.link_span * 2;
  while (rule->places > 1 && cells * rule->places > kMostCells) rule->places /= 2;
  rule->rows = regions * rule->places * kLegs;
  net.learns = true;
  MemoryShape table;
  table.name = "relative_use";
  table.meaning =
      "relative_use: ns lost to queueing after the decision, then the price of the later links of the path, each "
      "(region of the destination, index of the sender on its router, first router or later) x non-terminal port";
  table.rows = rule->rows * 2;
  table.columns = net.link_span;
  net.feedback = declare_table(net, table);
  return rule;
}

// A link's mean changes at decisions only, at most once per mean hop.
void measure(const Network& net, State& s, const Batch& b, const Rule& rule) {
  u32* const last = rule.last.of(s);
  float* const use = rule.use.of(s);
  const float hop = net.seam->hop_scale_ns / static_cast<float>(net.cycle_ns);  // cycles
  const u32 shortest = static_cast<u32>(hop);
  for (u32 i = 0; i < b.count; i++)
    for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++) {
      const u32 port = net.port(b.router[i], b.candidate_port[k]);
      u32* const at = last + std::size_t{port} * 2;
      const u32 elapsed = b.now - at[0];
      if (elapsed <= shortest) continue;
      const u32 total = static_cast<u32>(s.ports[port].flits);
      const u32 sent = total >= at[1] ? total - at[1] : total;  // a new measurement window counts from 0
      const float time = static_cast<float>(elapsed);
      const float share =
          std::min(static_cast<float>(sent) * static_cast<float>(net.channels[port].flit_cycles) / time, 1.0f);
      use[port] += time / (time + kMemory * hop) * (share - use[port]);
      at[0] = b.now;
      at[1] = total;
    }
}

// Reports to the previous router the lowest value over the packet's candidates here, detours included.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* own) {
  const auto& rule = static_cast<const Rule&>(*own);
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  measure(net, s, b, rule);
  const float* const use = rule.use.of(s);
  for (u32 i = 0; i < b.count; i++) {
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i], first = net.first_link[router], begin = b.offsets[i], end = b.offsets[i + 1];
    detail.arrived = b.now;
    if (!net.is_link(net.port(router, b.in_port[i]))) {
      detail.value = -1.0f;
      continue;
    }
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    const bool of_price = p.sequence & 1;
    detail.row = row_of(net, rule, p, to, p.hops - 1u) + (of_price ? rule.rows : 0);  // row of the previous router
    detail.value = 0;
    if (of_price) detail.reward = 0;  // a report of lost time contains the time of the hop; this one does not
    if (router == to) continue;
    const float* const row = net.feedback.row(s, router, row_of(net, rule, p, to, p.hops) + (of_price ? rule.rows : 0));
    float least = std::numeric_limits<float>::max();
    if (of_price) {
      for (u32 k = begin; k < end; k++) {
        const u32 local = b.candidate_port[k];
        least = std::min(least, price(use[net.port(router, local)], row[local - first]));
      }
    } else if (end == begin + 1) {  // minimal path
      least = row[b.candidate_port[begin] - first];
    } else {
      const float direct = flight(net, graph, router, to);
      for (u32 k = begin; k < end; k++) {
        const u32 local = b.candidate_port[k], port = net.port(router, local);
        least = std::min(
            least, seam.hop_ns[port] + flight(net, graph, seam.next_router[port], to) - direct + row[local - first]);
      }
    }
    detail.value = std::max(least, 0.0f);
  }
}

void learn(const Network& net, State& s, u32 port, u32 row, float target) {
  const u32 router = net.router_of_port(port);
  float& value = net.feedback.row(s, router, row)[net.local_port(port) - net.first_link[router]];
  const bool of_price = row >= net.feedback.rows / 2;
  value += kRate * ((of_price ? target : std::max(target - net.seam->hop_ns[port], 0.0f)) - value);
}

void write(const Network& net, const State& s, const Asked& asked, float* general, float* slots, u32 stride) {
  const auto& rule = static_cast<const Rule&>(*asked.own);
  const Graph& graph = graph_now(net, s);
  const float* const use = rule.use.of(s) + net.port(asked.router, 0);
  const u32* const next = &net.seam->next_router[net.port(asked.router, 0)];
  const u32 row = row_of(net, rule, asked.packet, asked.to, asked.packet.hops), first = net.first_link[asked.router];
  const float* const lost = net.feedback.row(s, asked.router, row);
  const float* const later = net.feedback.row(s, asked.router, row + rule.rows);
  const float per_ns = 1.0f / net.seam->hop_scale_ns;
  const u32 hops = distance(net, graph, asked.router, asked.to);
  float direct = 1;
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 local = asked.ports[k];
    slots[0] = bounded(lost[local - first] * per_ns);
    const float p = price(use[local], later[local - first]);
    slots[1] = bounded(std::max(p - 1, 0.0f));
    if (p < direct && distance(net, graph, next[local], asked.to) < hops) direct = p;
  }
  general[0] = 1.0f - direct;
}

const Register<ObservationSpec> entry({
    .name = "relative_use",
    .summary = "as relative_lost_by_source, and a price of the path through each candidate from the use of its links",
    .general = {{"slack", 0, 1, "1 - the lowest price of a path through a slot that is a hop closer, at least 0"}},
    .per_slot =
        {{"lost", 0, kMostRelative, "time lost to queueing, running mean / mean hop"},
         {"busy", 0, kMostRelative,
          "price of the path - 1, at least 0: sum of (u - 0.8) / 0.2 over its links with a utilisation u > 0.8"}},
    .write = write,
    .setup = setup,
    .prepare = prepare,
    .learn = learn,
    .per_candidate = kPerCandidate,
    .update = kUpdate,
});

}  // namespace

}  // namespace flitgym::learning::observation::relative_use
