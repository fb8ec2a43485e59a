// Lost time and price of the path through each candidate. A long queue has two causes. Either a link of the path
// sends all the time; then a detour around this link helps. Or the links wait for credits, because the destination
// accepts no more; then every path has the queue, and a detour only fills the buffers of other packets. The utilisation
// tells the two cases apart. A packet at its first router that did not wait meets short queues, and may avoid them.
//
// Each router measures the share of time in which its own links send, as a running mean. price() combines the
// utilisations of a path. Routers learn the price of the later links from feedback, in a table with the rows of the
// table of lost time (relative_lost_by_source). A packet carries one number back: packets with an even sequence number
// report the lost time, those with an odd one the price.
#include "learning/hops.hpp"
#include "learning/report_rows.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::relative_use {

constexpr float kMemory = 3;   // time constant of a link's running mean, in mean hops of the network
constexpr float kBusy = 0.8f;  // a link above this share is busy
// A packet is late from the longer of these delays: mean hops, and its own times on a link. Without the second, a long
// packet would be late behind a single packet of its own message.
constexpr float kPrompt = 0.5f, kPackets = 3;

// A report of lost time multiplies the entries of its row, one per link, by a constant.
constexpr Operations kUpdate = {.multiplications = 2, .additions = 3, .comparisons = 1, .reads = 1};
// write() reads two entries and the use of a link, and computes a price. prepare() reads an entry and computes another
// price or sum. A price is one product and two additions, behind three comparisons. measure() updates a running mean.
constexpr Operations kPerCandidate = {.multiplications = 5, .additions = 7, .comparisons = 7, .reads = 3};

struct Rule : TableOfReports {  // rows of one table; the table of prices follows that of lost times
  Kept<u32> last;               // [router ports, 2]
  Kept<float> use;              // [router ports]
};

// The price of a path from the price of its later links and the use of its first link. Below 1 it is the largest use,
// divided by kBusy. Above 1 it is 1 plus the sum of the links' excess, so a detour over more busy links costs more.
float price(float use, float later) {
  if (use <= kBusy && later <= 1) return std::max(use / kBusy, later);
  return 1 + std::max(use - kBusy, 0.0f) / (1 - kBusy) + std::max(later - 1, 0.0f);
}

constexpr u32 kTables = 2;

std::shared_ptr<const ComponentData> setup(Network& net) {
  auto rule = std::make_shared<Rule>();
  rule->last = declare<u32>(net, {.name = "relative_use_last",
                                  .meaning = "relative_use: cycle of the last update of a link's mean, and low 32 bits "
                                             "of the flits that the link had sent",
                                  .per = Per::kPort,
                                  .columns = 2,
                                  .highest = std::numeric_limits<u32>::max()});
  rule->use = declare<float>(net, {.name = "relative_use_link",
                                   .meaning = "relative_use: share of time in which the link sends, running mean",
                                   .per = Per::kPort,
                                   .highest = 1});
  rule->rows = report_rows(net, true, kTables);
  net.keeps_flits = true;
  net.learns = true;
  net.feedback = declare_table(
      net, {.name = "relative_use",
            .meaning =
                "relative_use: ns lost to queueing after the decision, then the price of the later links of the path, "
                "each (region of the destination, index of the sender on its router, first router or later) x "
                "non-terminal port",
            .rows = rule->rows.count * kTables,
            .columns = net.link_span});
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
      const u32 total = s.ports[port].flits_before + static_cast<u32>(s.ports[port].flits), sent = total - at[1];
      const float time = static_cast<float>(elapsed);
      const float share =
          std::min(static_cast<float>(sent) * static_cast<float>(net.channels[port].flit_cycles) / time, 1.0f);
      use[port] += time / (time + kMemory * hop) * (share - use[port]);
      at[0] = b.now;
      at[1] = total;
    }
}

float queue_ns(const Network& net, const State& s, u32 port) {
  return static_cast<float>(s.ports[port].queued) * static_cast<float>(net.channels[port].flit_cycles) *
         static_cast<float>(net.cycle_ns);
}

// Reports to the previous router the lowest value over the packet's candidates here, detours included. The lost time of
// a candidate is at least that of its queue now. The table learns this queue only after packets have left it. With this
// delay, all packets of a row took the same link of a fat tree until its queue was several microseconds long.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* own) {
  const auto& rule = static_cast<const Rule&>(*own);
  const Graph& graph = graph_now(net, s);
  measure(net, s, b, rule);
  const float* const use = rule.use.of(s);
  each_report(net, s, b, rule.rows, kTables, [&](u32 i, PacketDetail& detail, const Packet& p, u32 to) {
    const u32 router = b.router[i];
    const bool of_price = p.sequence & 1;
    const u32 table = of_price ? rule.rows.count : 0;
    detail.row = rule.rows.row(net, p, to, p.hops - 1u) + table;  // row of the previous router
    detail.value = 0;
    if (of_price) detail.reward = 0;  // a report of lost time contains the time of the hop; this one does not
    if (router == to) return;
    const float* const row = net.feedback.row(s, router, rule.rows.row(net, p, to, p.hops) + table);
    if (!of_price) {
      detail.value = least_lost(net, graph, b, i, to, [&](u32 local) {
        return std::max(row[local - net.first_link[router]], queue_ns(net, s, net.port(router, local)));
      });
      return;
    }
    float least = std::numeric_limits<float>::max();
    for (u32 k = b.offsets[i]; k < b.offsets[i + 1]; k++) {
      const u32 local = b.candidate_port[k];
      least = std::min(least, price(use[net.port(router, local)], row[local - net.first_link[router]]));
    }
    detail.value = least;
  });
}

// All lost times of a row decay with each report, so that a link is tried again after its congestion. Without decay,
// the queues of a fat tree with a permutation grew over hundreds of microseconds. If packets use all links of a row
// equally, the means are half the lost times.
void learn(const Network& net, State& s, u32 port, u32 row, float target) {
  const u32 router = net.router_of_port(port);
  float* const values = net.feedback.row(s, router, row);
  const bool of_price = row >= net.feedback.rows / kTables;
  if (!of_price) {
    const float keep = 1 - kReportRate / static_cast<float>(net.link_span);
    for (u32 k = 0; k < net.link_span; k++) values[k] *= keep;
  }
  float& value = values[net.local_port(port) - net.first_link[router]];
  value += kReportRate * ((of_price ? target : std::max(target - net.seam->hop_ns[port], 0.0f)) - value);
}

void write(const Network& net, const State& s, const Asked& asked, float* general, float* slots, u32 stride) {
  const auto& rule = static_cast<const Rule&>(*asked.own);
  const float* const use = rule.use.of(s) + net.port(asked.router, 0);
  const u32* const next = &net.seam->next_router[net.port(asked.router, 0)];
  const u32 row = rule.rows.row(net, asked.packet, asked.to, asked.packet.hops), first = net.first_link[asked.router];
  const float* const lost = net.feedback.row(s, asked.router, row);
  const float* const later = net.feedback.row(s, asked.router, row + rule.rows.count);
  const float per_ns = 1.0f / net.seam->hop_scale_ns;
  const Way way(net, graph_now(net, s), asked);
  const u32 hops = way.hops(asked.router);
  float direct = 1;
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 local = asked.ports[k];
    slots[0] = bounded(lost[local - first] * per_ns);
    const float p = price(use[local], later[local - first]);
    slots[1] = bounded(std::max(p - 1, 0.0f));
    if (p < direct && way.hops(next[local]) < hops) direct = p;
  }
  const float age = static_cast<float>(asked.now - asked.packet.injected) * static_cast<float>(net.cycle_ns);
  const float waited = age * per_ns - static_cast<float>(asked.packet.hops);
  const u32 own = asked.packet.flits * net.channels[net.port(asked.router, asked.ports[0])].flit_cycles;  // cycles
  const float prompt =
      std::max(kPrompt, kPackets * static_cast<float>(own) * static_cast<float>(net.cycle_ns) * per_ns);
  general[0] = (1.0f - direct) * bounded(std::max(waited - prompt, 0.0f));
}

const Register<ObservationSpec> entry({
    .name = "relative_use",
    .summary = "as relative_lost_by_source, and a price of the path through each candidate from the use of its links",
    .general =
        {{"slack", 0, kMostRelative,
          "1 - the lowest price of a path through a slot that is a hop closer, at least 0; times w - d, at least 0; w "
          "is the age since the NIC accepted the packet, in mean hops, minus the hops; d is 0.5, or three times the "
          "time of the packet on a link if that is longer"}},
    .per_slot =
        {{"lost", 0, kMostRelative, "time lost to queueing, running mean that decays / mean hop"},
         {"busy", 0, kMostRelative,
          "price of the path - 1, at least 0: sum of (u - 0.8) / 0.2 over its links with a utilisation u > 0.8"}},
    .write = write,
    .setup = setup,
    .prepare = prepare,
    .learn = learn,
    .lost = learned_loss,
    .per_candidate = kPerCandidate,
    .update = kUpdate,
    .local = true,
    .distances = true,
});

}  // namespace flitgym::learning::observation::relative_use
