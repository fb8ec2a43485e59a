// Reports of the neighbours, as in q_values, with three differences. First, times are relative to the mean hop of the
// network. Second, the clock starts when the packet requests its route, not when it arrives. The waiting time before
// the request is the same for every candidate. On a router without output queues it can be many hop times and would
// hide the difference between candidates. Third, packets that differ in their expected delay at the same port have
// separate rows.
// The rows of the table: report_rows.hpp.
#include "learning/hops.hpp"
#include "learning/report_rows.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::relative_lost {

std::shared_ptr<const ComponentData> set_up(Network& net, const std::string& name, bool by_source) {
  auto own = std::make_shared<TableOfReports>();
  own->rows = report_rows(net, by_source);
  net.learns = true;
  net.feedback =
      declare_table(net, {.name = name,
                          .meaning = name + ": ns lost to queueing after the decision, (region of the destination" +
                                     (by_source ? ", index of the sender on its router" : "") +
                                     ", first router or later) x non-terminal port",
                          .rows = own->rows.count,
                          .columns = net.link_span});
  return own;
}

// Reports to the previous router the lowest expected loss over the packet's candidates here.
void prepare(const Network& net, State& s, const Batch& b, const ComponentData* own) {
  const ReportRows& rows = static_cast<const TableOfReports&>(*own).rows;
  const Graph& graph = graph_now(net, s);
  each_report(net, s, b, rows, 1, [&](u32 i, PacketDetail& detail, const Packet& p, u32 to) {
    const u32 router = b.router[i];
    detail.row = rows.row(net, p, to, p.hops - 1u);  // row of the previous router
    const float* const row = net.feedback.row(s, router, rows.row(net, p, to, p.hops));
    const auto lost = [&](u32 local) { return row[local - net.first_link[router]]; };
    detail.value = router == to ? 0 : least_lost(net, graph, b, i, to, lost);
  });
}

void write(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const u32 first = net.first_link[asked.router];
  const float per_ns = 1.0f / net.seam->hop_scale_ns;
  const ReportRows& rows = static_cast<const TableOfReports&>(*asked.own).rows;
  const float* const row = net.feedback.row(s, asked.router, rows.row(net, asked.packet, asked.to, asked.packet.hops));
  for (u32 k = 0; k < asked.slots; k++, slots += stride) slots[0] = bounded(row[asked.ports[k] - first] * per_ns);
}

ObservationSpec block(std::string name, std::string summary, std::shared_ptr<const ComponentData> (*setup)(Network&)) {
  return {
      .name = std::move(name),
      .summary = std::move(summary),
      .per_slot = {{"lost", 0, kMostRelative, "time lost to queueing, running mean / mean hop"}},
      .write = write,
      .setup = setup,
      .prepare = prepare,
      .learn = learn_lost,
      .lost = learned_loss,
      .per_candidate = kLostPerCandidate,
      .update = kLostUpdate,
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

}  // namespace flitgym::learning::observation::relative_lost
