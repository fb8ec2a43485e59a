// The cycle: two halves, cut where the agent sits.
#include "simcore/learning.hpp"
#include "simcore/stats.hpp"
#include "stage/stage.hpp"
#include "workload/engine.hpp"

namespace flitgym {

void initialise(const Network& net, State& s) {
  s = State{};
  const std::size_t vcs = net.vc_id(net.router_ports, 0);
  s.input_vcs.assign(vcs, InputVc{kNone, kNone, 0, 0, 0, 0, 0, 0, kNone, 0});
  s.output_vcs.assign(net.vc_id(net.port_count, 0), OutputVc{kNone, kNone, 0, 0, 0, 0, kNone, 0, kNone});
  s.ports.assign(net.port_count, Port{});
  s.terminals.assign(net.terminals, Terminal{});
  s.stamps.assign(net.routers, 1u << (net.radix_shift + net.vc_shift));
  s.requests.assign(std::size_t{net.router_ports} * net.request_words, 0);
  s.outputs_asked.assign(net.routers, 0);
  s.active_routers.assign((net.routers + 63) / 64, 0);

  // Credits are the slots of the buffer downstream; a terminal's never run out.
  for (u32 p = 0; p < net.port_count; p++) {
    if (net.channels[p].peer == kNone) continue;
    const bool to_terminal = !net.is_nic(p) && net.channels[p].kind == PortKind::kTerminal;
    for (u32 vc = 0; vc < net.vcs; vc++) s.output_vcs[net.vc_id(p, vc)].credits = static_cast<u16>(to_terminal ? 65535 : net.router.input_depth);
  }
  for (u32 v = 0; v < vcs; v++) s.input_vcs[v].served = v & ((1u << (net.radix_shift + net.vc_shift)) - 1);

  for (auto* wheel : {&s.ports_due, &s.routes_due}) wheel->reset(net.longest_delay);
  s.flit_lines.reset(net.delays);
  s.credit_lines.reset(net.delays);
  s.feedback_lines.reset(net.learns ? net.delays : std::vector<u32>{});
  s.sources_due.reset(1023);  // generation gaps are long; longer ones are looked at again on the way
  s.table.assign(std::size_t{net.routers} * net.table.rows * net.table.stride, 0);
  if (net.initialise_table) net.initialise_table(net, s);
  s.histogram_nic.assign(kHistogramBins, 0);
  s.histogram_generation.assign(kHistogramBins, 0);
  s.series_interval.assign(1, 0);
  Workspace workspace;
  Frame frame{net, s, workspace, 0};
  start_sources(frame);
  if (net.workload) start_workload(net, s);
  if (net.seam) start_record(net, s);
}

void prepare(const Network& net, Workspace& w) {
  // At most one request per input VC and cycle.
  const std::size_t most = net.vc_id(net.router_ports, 0);
  Batch& b = w.batch;
  for (auto* ids : {&b.input_vc, &b.packet, &b.router}) ids->resize(most);
  for (auto* numbers : {&b.in_port, &b.in_vc, &b.out_port, &b.out_class}) numbers->resize(most);
  if (!net.external && !net.seam) return;
  b.offsets.reserve(most + 1);
  b.candidate_port.reserve(most * net.radix);
  b.candidate_class.reserve(most * net.radix);
}

void collect(const Network& net, State& s, Workspace& w) {
  Frame f{net, s, w, s.totals.now};
  w.routes.swap(s.route_list);  // heads that came to the front of their VC in the cycle before
  s.route_list.clear();
  arrivals(f);
  credits(f);
  s.heard.clear();
  if (net.learns) feedback(f);
  if (net.workload) host_events(f, u64{f.now} * net.workload->cycle_ps);
  injection(f);
  traversal(f);
  s.routes_due.take(f.now, w.routes);
  if (net.seam && net.seam->capacity) file_transitions(net, s, w.ids);
  resume(net, s, w);
}

void resume(const Network& net, State& s, Workspace& w) {
  Frame f{net, s, w, s.totals.now};
  route_requests(f);
  if (net.external && !net.seam) net.candidates(net, s, w.batch);
  else if (net.external) make_decisions(net, s, w.batch);
  s.totals.collected = 1;
}

void apply(const Network& net, State& s, Workspace& w) {
  Frame f{net, s, w, s.totals.now};
  if (w.wary) [[unlikely]] verify_routes(f);
  apply_routes(f);
  switch_allocation(f);
  s.flit_lines.close(f.now);
  s.credit_lines.close(f.now);
  s.feedback_lines.close(f.now);
  s.totals.collected = 0;
  s.totals.now++;
}

void step(const Network& net, State& s, Workspace& w) {
  collect(net, s, w);
  if (w.batch.count) net.route(net, s, w.batch);
  apply(net, s, w);
}

}  // namespace flitgym
