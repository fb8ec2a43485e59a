// A network and a simulation's state as dicts and NumPy arrays.
#include "configuration.hpp"
#include "core/hosts/engine.hpp"
#include "exclusive.hpp"
#include "simcore/control.hpp"
#include "simcore/graph.hpp"
#include "simcore/stats.hpp"

// Vectors of structs become structured NumPy arrays, so that a field is a column of the view.
template <class T, class A>
void add_view(py::dict& out, const char* name, std::vector<T, A>& array, const py::object& owner) {
  out[name] = view(array, owner);
}
template <class T>
void add_view(py::dict&, const char*, T&, const py::object&) {}

static py::dict facts(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  py::dict d;
  d["topology"] = net.topology_name;
  d["routing"] = net.routing_name;
  d["traffic"] = net.traffic_name;
  d["fingerprint"] = net.fingerprint;
  d["terminals"] = net.terminals;
  d["routers"] = net.routers;
  d["partitions"] = net.partitions();  // number that threads can run in parallel
  // Cycles that a partition runs without the others.
  d["window_cycles"] = net.partitions() == 1 ? 0 : net.together ? 1 : net.lookahead;
  d["radix"] = net.radix;
  d["groups"] = net.groups;
  d["vcs"] = net.vcs;
  d["buffer_flits_per_port"] = net.vcs * (net.router.input_depth + net.router.output_depth);
  d["vc_classes"] = net.routing_facts.classes;
  d["max_hops"] = net.routing_facts.max_hops;
  u64 channels = 0;
  for (u32 p = 0; p < net.router_ports; p++) channels += net.channels[p].peer != kNone;
  d["channels"] = channels;
  d["cycle_ns"] = net.cycle_ns;
  d["end_of_time_cycles"] = workload::end_of_time(net);
  d["flit_time_ns"] = net.flit_cycles_host * net.cycle_ns;
  d["flit_cycles"] = net.flit_cycles_host;
  d["packet_flits"] = net.mean_packet_flits();
  d["packet_flits_most"] = net.most_packet_flits;
  py::dict hops;
  for (u32 p = 0; p < net.port_count; p++) {
    static const char* const names[] = {"terminal", "local", "global"};
    if (net.channels[p].peer != kNone)
      hops[net.is_nic(p) ? "nic" : names[static_cast<int>(net.channels[p].kind)]] = net.hop_cycles(p);
  }
  d["hop_cycles"] = hops;
  d["link_latency_ns"] = py::dict("terminal"_a = net.link_latency_ns[0], "local"_a = net.link_latency_ns[1],
                                  "global"_a = net.link_latency_ns[2]);
  d["crossbar_cycles"] = net.router.crossbar_cycles;
  d["wake_cycles"] = net.router.wake_cycles;
  d["pipeline_cycles"] = net.router.pipeline_cycles;
  d["table_layout"] = net.table == kNone ? std::string() : net.memories[net.table].meaning;
  py::list rounding;
  for (const Rounding& r : net.rounding)
    rounding.append(py::dict("quantity"_a = r.quantity, "ns"_a = r.ns, "cycles"_a = r.cycles, "error"_a = r.error));
  d["rounding"] = rounding;
  if (net.control) {
    d["round_trip_ns"] = net.control->round_trip * net.cycle_ns;
    d["window_bytes"] = net.control->product * net.flit_bytes;  // bandwidth-delay product
    if (net.control->period) d["decision_cycles"] = net.control->period;
    d["mark_bytes"] = net.control->mark_flits == kNone ? 0 : net.control->mark_flits * net.flit_bytes;
  }
  d["memory_bytes"] = state_bytes(s);
  d["memory_estimate_bytes"] = net.memory_bytes;
  d["workload"] = net.workload != nullptr;
  d["link_span"] = net.link_span;
  d["damaged"] = net.damaged;
  d["failed_links"] = net.failed_links;
  std::vector<u32> hot;
  for (const Pattern& pattern : net.patterns) {
    const std::vector<u32> some = pattern.data->hot_terminals();
    hot.insert(hot.end(), some.begin(), some.end());
  }
  d["hot_terminals"] = hot;
  d["routing_replaced"] = net.replaced;
  d["plugins"] = net.plugins;                 // plugins of the components in use
  d["link_changes"] = net.graphs.size() - 1;  // number of times at which links fail or recover
  return d;
}

struct ChannelRow {
  u32 router, port, kind;
  i64 peer_router, peer_port, terminal;  // -1: none
  double latency_ns;
  double hop_ns;  // time of a hop without queueing; initial values of learned tables are sums of these
  double flit_time_ns;
  u64 flits;
  double utilisation, stall_ns;
};

static py::dict channels(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const bool open = s.part.window.open;
  const double cycles = static_cast<double>((open ? s.part.totals.now : s.part.window.end) - s.part.window.begin);
  std::vector<ChannelRow> rows;
  for (u32 p = 0; p < net.router_ports; p++) {
    const Channel& channel = net.channels[p];
    if (channel.peer == kNone) continue;
    const bool to_nic = net.is_nic(channel.peer);
    const u64 flits = open ? s.ports[p].flits : s.ports[p].window_flits;
    u64 stalled = s.ports[p].stall;
    if (open && s.ports[p].stalled) stalled += s.part.totals.now - s.ports[p].stalled_since;
    rows.push_back({.router = net.router_of_port(p),
                    .port = net.local_port(p),
                    .kind = static_cast<u32>(channel.kind),
                    .peer_router = to_nic ? -1 : i64{net.router_of_port(channel.peer)},
                    .peer_port = to_nic ? -1 : i64{net.local_port(channel.peer)},
                    .terminal = to_nic ? i64{channel.peer - net.router_ports} : -1,
                    .latency_ns = net.link_ns(p),
                    .hop_ns = hop_ns(net, p),
                    .flit_time_ns = channel.flit_cycles * net.cycle_ns,
                    .flits = flits,
                    .utilisation = cycles > 0 ? static_cast<double>(flits) * channel.flit_cycles / cycles : 0,
                    .stall_ns = static_cast<double>(stalled) * net.cycle_ns});
  }
  return columns(rows);
}

struct FrontRow {
  u32 router, port, source, destination, flits;
};

// The packets at the front of the buffers of routers, with the output port that they wait for and the flits in the
// buffer.
static py::dict fronts(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  std::vector<FrontRow> rows;
  const auto add = [&](u32 router, u32 port, Flit front, u32 flits) {
    const Packet& p = s.packets[packet_of(front)];
    rows.push_back({.router = router, .port = port, .source = p.source, .destination = p.destination, .flits = flits});
  };
  for (u32 v = 0; v < net.router_ports << net.vc_shift; v++) {
    const u32 port = net.port_of_vc(v), router = net.router_of_port(port);
    const InputVc& in = s.input_vcs[v];
    const OutputVc& out = s.output_vcs[v];
    if (in.front != kNone && in.routed()) add(router, in.out_port, in.front, in.count);
    if (out.front != kNone) add(router, net.local_port(port), out.front, out.count);
  }
  return columns(rows);
}

// The routers' fixed properties. `first_port` is the index of the router's port 0 in arrays over all ports.
static py::dict routers(const Simulation& sim) {
  const Network& net = sim.network();
  std::vector<u32> region, first_port;
  for (u32 r = 0; r < net.routers; r++) {
    region.push_back(net.topology->region(r));
    first_port.push_back(net.port(r, 0));
  }
  const auto name = [&](u32 r) { return net.router_name(r); };
  return py::dict("name"_a = names_of(net.routers, name), "group"_a = copied(net.router_group),
                  "region"_a = copied(region), "first_link"_a = copied(net.first_link),
                  "first_port"_a = copied(first_port));
}

static py::dict terminals(const Simulation& sim) {
  const Network& net = sim.network();
  const auto name = [&](u32 t) { return net.terminal_name(t); };
  return py::dict("name"_a = names_of(net.terminals, name), "router"_a = copied(net.terminal_router),
                  "port"_a = copied(net.terminal_port));
}

struct SeriesRow {
  double time_ns, latency_mean_ns;
  u64 packets, flits;
  double hops_mean, throughput;
};

static py::dict series(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0];
  std::vector<SeriesPoint> points = summed(s, &Partition::series);
  points.resize(interval ? (s.part.totals.now + interval - 1) / interval : 0);  // empty intervals at the end, too
  std::vector<SeriesRow> rows;
  for (const SeriesPoint& x : points) {
    const double begin = static_cast<double>(interval) * static_cast<double>(rows.size()),
                 end = std::min(begin + interval, static_cast<double>(s.part.totals.now));
    const auto count = static_cast<double>(x.packets);
    rows.push_back(
        {.time_ns = end * net.cycle_ns,
         .latency_mean_ns = x.packets ? static_cast<double>(x.latency) / count * net.cycle_ns : kNan,
         .packets = x.packets,
         .flits = x.flits,
         .hops_mean = x.packets ? static_cast<double>(x.hops) / count : kNan,
         .throughput =
             end > begin ? static_cast<double>(x.flits) * net.flit_cycles_host / (end - begin) / net.terminals : 0});
  }
  return columns(rows);
}

static std::vector<double> changes_ns(const Simulation& sim) {
  std::vector<double> ns;
  for (const Cycle cycle : changes(sim.network(), sim.state().part.totals.now))
    ns.push_back(cycle * sim.network().cycle_ns);
  return ns;
}

// Views of the arrays that never change their size. Arrays that are spread over partitions are returned as sums.
static py::dict arrays(Simulation& sim) {
  State& s = sim.state();
  const py::object self = owner_of(sim);
  py::dict out;
#define FLITGYM_VIEW(type, name) add_view(out, #name, s.name, self);
  FLITGYM_STATE_FIXED(FLITGYM_VIEW)
#define FLITGYM_PART_VIEW(type, name) add_view(out, #name, s.part.name, self);
  FLITGYM_PARTITION_FIXED(FLITGYM_PART_VIEW)
#undef FLITGYM_PART_VIEW
  if (!s.further.empty())  // sums over the partitions
    for (const auto& [name, histogram] : {std::pair{"histogram_nic", &Partition::histogram_nic},
                                          {"histogram_generation", &Partition::histogram_generation}})
      out[name] = copied(summed(s, histogram));
  FLITGYM_STATE_WORKLOAD_FIXED(FLITGYM_VIEW)
  FLITGYM_STATE_NODES_FIXED(FLITGYM_VIEW)
  FLITGYM_STATE_CONTROL_FIXED(FLITGYM_VIEW)
  for (const auto& [name, histogram] :
       {std::pair{"job_histogram", &Hosts::job_histogram}, {"message_histogram", &Hosts::message_histogram}})
    out[name] = s.hosts.size() == 1 ? view(s.hosts[0].*histogram, self) : copied(summed(s, histogram));
  out["job_totals"] = copied(job_sums(s));
#undef FLITGYM_VIEW
  return out;
}

void bind_arrays(PySimulation& simulation) {
  PYBIND11_NUMPY_DTYPE(InputVc, front, back, count, sent, out_port, out_vc);
  PYBIND11_NUMPY_DTYPE(OutputVc, front, back, count, sent, credits, parked);
  PYBIND11_NUMPY_DTYPE(Port, flits, window_flits, stall, busy_until, waiting_vcs, queued, load, stalled_since,
                       input_busy_until, output_busy_until, next_vc, awake, stalled, next_request);
  PYBIND11_NUMPY_DTYPE(Rank, block, started, finished, calc, calc_since, bytes_sent, bytes_received, calculating, ops,
                       left, first_op, first_edge, op_class, edge_class, posted, last_posted, unexpected,
                       last_unexpected, done);
  PYBIND11_NUMPY_DTYPE(NodePort, out_free, in_free, bytes_sent, bytes_received, messages_sent, messages_received);
  PYBIND11_NUMPY_DTYPE(ChannelAccount, sending_until, job, stall_charged);
  PYBIND11_NUMPY_DTYPE(SenderFlow, window, in_flight, acknowledged, marked, average, target, since, next);
  PYBIND11_NUMPY_DTYPE(Outbox, first, last, next_flits);
  PYBIND11_NUMPY_DTYPE(JobTotals, messages_sent, messages_received, bytes_sent, bytes_received, packets, flits, hops,
                       nonminimal, latency, latency_max, message_latency, message_latency_max, outstanding,
                       outstanding_peak, finished, ranks_done);
  PYBIND11_NUMPY_DTYPE(Terminal, next_tick, tick, sequence, round, index, left, step);
  PYBIND11_NUMPY_DTYPE(ChannelRow, router, port, kind, peer_router, peer_port, terminal, latency_ns, hop_ns,
                       flit_time_ns, flits, utilisation, stall_ns);
  PYBIND11_NUMPY_DTYPE(FrontRow, router, port, source, destination, flits);
  PYBIND11_NUMPY_DTYPE(SeriesRow, time_ns, latency_mean_ns, packets, flits, hops_mean, throughput);
  simulation.def("series", alone(series))
      .def("channels", alone(channels))
      .def("_fronts", alone(fronts))
      .def("routers", alone(routers))
      .def("terminals", alone(terminals))
      .def("changes_ns", alone(changes_ns))
      .def("facts", alone(facts))
      .def("_configuration", alone([](Simulation& s) { return from_config(s.network().config); }))
      .def("arrays", alone(arrays));
}
