// Reports of the neighbours, as in q_values, with three differences. First, times are relative to the mean hop of the
// network. Second, the clock starts when the packet requests its route, not when it arrives. The waiting time before
// the request is the same for every candidate. On a router without output queues it can be many hop times and would
// hide the difference between candidates. Third, packets that differ in their expected delay at the same port have
// separate rows.
// The rows of the table: report_rows.hpp.
#include <algorithm>

#include "learning/relative.hpp"
#include "learning/report_rows.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::relative_lost {

namespace {

// write() reads an entry. prepare() reads an entry, adds it to the difference of two flight times, and compares sums.
constexpr Operations kPerCandidate = {.additions = 1, .comparisons = 1, .reads = 2};
// learn() subtracts the hop time, takes the error, and adds its product with the rate.
constexpr Operations kUpdate = {.multiplications = 1, .additions = 3, .comparisons = 1, .reads = 1};
struct Rows : ComponentData {
  ReportRows rows;
};

std::shared_ptr<const ComponentData> set_up(Network& net, std::string name, bool by_source) {
  auto own = std::make_shared<Rows>();
  own->rows = report_rows(net, by_source);
  MemoryShape shape;
  shape.meaning = name + ": ns lost to queueing after the decision, (region of the destination" +
                  (by_source ? ", index of the sender on its router" : "") +
                  ", first router or later) x non-terminal port";
  shape.name = std::move(name);
  shape.rows = own->rows.count;
  shape.columns = net.link_span;
  net.learns = true;
  net.feedback = declare_table(net, shape);
  return own;
}

// Reports to the previous router the lowest expected loss over the packet's candidates here.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* own) {
  const ReportRows& rows = static_cast<const Rows&>(*own).rows;
  const Graph& graph = graph_now(net, s);
  for (u32 i = 0; i < b.count; i++) {
    prefetch_reports(net, s, b, rows, i, 1);
    PacketDetail& detail = s.details[b.packet[i]];
    const u32 router = b.router[i];
    detail.arrived = b.now;
    if (!net.is_link(net.port(router, b.in_port[i]))) {
      detail.value = -1.0f;
      continue;
    }
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    detail.row = rows.row(net, p, to, p.hops - 1u);  // row of the previous router
    detail.value =
        router == to ? 0 : least_lost(net, graph, b, i, to, net.feedback.row(s, router, rows.row(net, p, to, p.hops)));
  }
}

void learn(const Network& net, State& s, u32 port, u32 row, float target) {
  float& value = report_cell(net, s, port, row);
  value += kReportRate * (std::max(target - net.seam->hop_ns[port], 0.0f) - value);
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const u32 first = net.first_link[asked.router];
  const float per_ns = 1.0f / net.seam->hop_scale_ns;
  const ReportRows& rows = static_cast<const Rows&>(*asked.own).rows;
  const float* const row = net.feedback.row(s, asked.router, rows.row(net, asked.packet, asked.to, asked.packet.hops));
  for (u32 k = 0; k < asked.slots; k++, slots += stride) slots[0] = bounded(row[asked.ports[k] - first] * per_ns);
}

float lost(const Network& net, const State& s, const ComponentData* own, const Packet& p, u32 hops, u32 router,
           u32 local) {
  return learned_loss(net, s, static_cast<const Rows&>(*own).rows, p, hops, router, local);
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
      .local = true,
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
