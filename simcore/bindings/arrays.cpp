#include "arrays.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "configuration.hpp"
#include "core/hosts/engine.hpp"
#include "exclusive.hpp"
#include "live.hpp"
#include "simcore/graph.hpp"
#include "simcore/network.hpp"
#include "simcore/state.hpp"
#include "simcore/stats.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

// Vectors of structs become structured NumPy arrays, so that a field is a column of the view.
template <class T, class A>
void add_view(py::dict& out, const char* name, std::vector<T, A>& array, const py::object& owner) {
  out[name] = view(array, owner);
}
void add_view(py::dict&, const char*, Totals&, const py::object&) {}
void add_view(py::dict&, const char*, Window&, const py::object&) {}
void add_view(py::dict&, const char*, LearningTotals&, const py::object&) {}

py::dict facts(const Simulation& sim) {
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
  py::dict link_latency;
  for (const auto& [name, kind] : {std::pair{"terminal", 0}, std::pair{"local", 1}, std::pair{"global", 2}})
    link_latency[name] = net.link_latency_ns[kind];
  d["link_latency_ns"] = link_latency;
  d["crossbar_cycles"] = net.router.crossbar_cycles;
  d["wake_cycles"] = net.router.wake_cycles;
  d["pipeline_cycles"] = net.router.pipeline_cycles;
  d["table_layout"] = net.table == kNone ? std::string() : net.memories[net.table].meaning;
  py::list rounding;
  for (const Rounding& r : net.rounding) {
    py::dict one;
    one["quantity"] = r.quantity;
    one["ns"] = r.ns;
    one["cycles"] = r.cycles;
    one["error"] = r.error;
    rounding.append(one);
  }
  d["rounding"] = rounding;
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

py::dict channels(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u64 end = s.part.window.open ? s.part.totals.now : s.part.window.end;
  const double cycles = static_cast<double>(end - s.part.window.begin);
  std::vector<u32> router, port, kind;
  std::vector<i64> peer, peer_port, terminal;
  std::vector<double> latency, hop, flit_time;
  std::vector<u64> flits;
  std::vector<double> utilisation, stall;
  for (u32 p = 0; p < net.router_ports; p++) {
    if (net.channels[p].peer == kNone) continue;
    router.push_back(net.router_of_port(p));
    port.push_back(net.local_port(p));
    kind.push_back(static_cast<u32>(net.channels[p].kind));
    peer.push_back(net.is_nic(net.channels[p].peer) ? -1 : static_cast<i64>(net.router_of_port(net.channels[p].peer)));
    const u32 end_port = net.channels[p].peer;
    peer_port.push_back(net.is_nic(end_port) ? -1 : static_cast<i64>(net.local_port(end_port)));
    terminal.push_back(net.is_nic(end_port) ? static_cast<i64>(end_port - net.router_ports) : -1);
    latency.push_back(net.link_ns(p));
    hop.push_back(hop_ns(net, p));
    flit_time.push_back(net.channels[p].flit_cycles * net.cycle_ns);
    flits.push_back(s.part.window.open ? s.ports[p].flits : s.ports[p].window_flits);
    utilisation.push_back(cycles > 0 ? static_cast<double>(flits.back()) * net.channels[p].flit_cycles / cycles : 0);
    u64 stalled = s.ports[p].stall;
    if (s.part.window.open && s.ports[p].stalled) stalled += s.part.totals.now - s.ports[p].stalled_since;
    stall.push_back(static_cast<double>(stalled) * net.cycle_ns);
  }
  const auto array = [](const auto& v) { return py::array(static_cast<py::ssize_t>(v.size()), v.data()); };
  py::dict d;
  d["router"] = array(router);
  d["port"] = array(port);
  d["kind"] = array(kind);
  d["peer_router"] = array(peer);
  d["peer_port"] = array(peer_port);
  d["terminal"] = array(terminal);
  d["latency_ns"] = array(latency);
  d["hop_ns"] = array(hop);  // time of a hop without queueing; initial values of learned tables are sums of these
  d["flit_time_ns"] = array(flit_time);
  d["flits"] = array(flits);
  d["utilisation"] = array(utilisation);
  d["stall_ns"] = array(stall);
  return d;
}

// The routers' fixed properties.
py::dict routers(const Simulation& sim) {
  const Network& net = sim.network();
  py::dict d;
  py::list names;
  std::vector<u32> region, first_port;
  for (u32 r = 0; r < net.routers; r++)
    names.append(net.router_name(r)), region.push_back(net.topology->region(r)), first_port.push_back(net.port(r, 0));
  d["name"] = names;
  d["group"] = py::array(static_cast<py::ssize_t>(net.routers), net.router_group.data());
  d["region"] = py::array(static_cast<py::ssize_t>(net.routers), region.data());
  d["first_link"] = py::array(static_cast<py::ssize_t>(net.routers), net.first_link.data());
  // index of the router's port 0 in arrays over all ports
  d["first_port"] = py::array(static_cast<py::ssize_t>(net.routers), first_port.data());
  return d;
}

py::dict terminals(const Simulation& sim) {
  const Network& net = sim.network();
  py::dict d;
  py::list names;
  for (u32 t = 0; t < net.terminals; t++) names.append(net.terminal_name(t));
  d["name"] = names;
  d["router"] = py::array(static_cast<py::ssize_t>(net.terminals), net.terminal_router.data());
  d["port"] = py::array(static_cast<py::ssize_t>(net.terminals), net.terminal_port.data());
  return d;
}

py::dict series(const Simulation& sim) {
  const Network& net = sim.network();
  const State& s = sim.state();
  const u32 interval = s.series_interval[0];
  // Until now, including empty intervals at the end.
  const std::vector<SeriesPoint> sums = series_sums(s);
  const auto n = static_cast<py::ssize_t>(interval ? (s.part.totals.now + interval - 1) / interval : 0);
  py::array_t<double> time(n), latency(n), hops(n), throughput(n);
  py::array_t<u64> packets(n), flits(n);
  for (py::ssize_t k = 0; k < n; k++) {
    const SeriesPoint x = static_cast<std::size_t>(k) < sums.size() ? sums[static_cast<std::size_t>(k)] : SeriesPoint{};
    const double begin = static_cast<double>(interval) * static_cast<double>(k),
                 end = std::min(begin + interval, static_cast<double>(s.part.totals.now));
    const auto count = static_cast<double>(x.packets);
    time.mutable_at(k) = end * net.cycle_ns;
    packets.mutable_at(k) = x.packets;
    flits.mutable_at(k) = x.flits;
    latency.mutable_at(k) =
        x.packets ? static_cast<double>(x.latency) / count * net.cycle_ns : std::numeric_limits<double>::quiet_NaN();
    hops.mutable_at(k) = x.packets ? static_cast<double>(x.hops) / count : std::numeric_limits<double>::quiet_NaN();
    throughput.mutable_at(k) =
        end > begin ? static_cast<double>(x.flits) * net.flit_cycles_host / (end - begin) / net.terminals : 0;
  }
  py::dict d;
  d["time_ns"] = time;
  d["latency_mean_ns"] = latency;
  d["packets"] = packets;
  d["flits"] = flits;
  d["hops_mean"] = hops;
  d["throughput"] = throughput;
  return d;
}

// Views of the arrays that never change their size. Arrays that are spread over partitions are returned as sums.
py::dict arrays(const Live<Simulation>& live) {
  const Exclusive held(*live);
  State& s = live->state();
  const py::object self = live.owner();
  py::dict out;
#define FLITGYM_VIEW(type, name) add_view(out, #name, s.name, self);
  FLITGYM_STATE_FIXED(FLITGYM_VIEW)
#define FLITGYM_PART_VIEW(type, name) add_view(out, #name, s.part.name, self);
  FLITGYM_PARTITION_FIXED(FLITGYM_PART_VIEW)
#undef FLITGYM_PART_VIEW
  if (!s.further.empty())  // sums over the partitions
    for (const auto& [name, histogram] : {std::pair{"histogram_nic", &Partition::histogram_nic},
                                          {"histogram_generation", &Partition::histogram_generation}}) {
      const std::vector<u32> sums = histogram_sums(s, histogram);
      out[name] = py::array(static_cast<py::ssize_t>(sums.size()), sums.data());
    }
  FLITGYM_STATE_WORKLOAD_FIXED(FLITGYM_VIEW)
  FLITGYM_STATE_NODES_FIXED(FLITGYM_VIEW)
  for (const auto& [name, histogram] :
       {std::pair{"job_histogram", &Hosts::job_histogram}, {"message_histogram", &Hosts::message_histogram}}) {
    if (s.hosts.size() == 1) {
      add_view(out, name, s.hosts[0].*histogram, self);
      continue;
    }
    const std::vector<u32> sums = host_histogram_sums(s, histogram);
    out[name] = py::array(static_cast<py::ssize_t>(sums.size()), sums.data());
  }
  const std::vector<JobTotals> jobs = job_sums(s);
  out["job_totals"] = py::array(static_cast<py::ssize_t>(jobs.size()), jobs.data());
#undef FLITGYM_VIEW
  return out;
}

}  // namespace

void bind_arrays(py::class_<Simulation>& simulation) {
  simulation.def("series", alone([](Simulation& s) { return series(s); }))
      .def("channels", alone([](Simulation& s) { return channels(s); }))
      .def("routers", alone([](Simulation& s) { return routers(s); }))
      .def("terminals", alone([](Simulation& s) { return terminals(s); }))
      .def("changes_ns", alone([](Simulation& s) {
             std::vector<double> ns;
             for (const Cycle cycle : changes(s.network(), s.state().part.totals.now))
               ns.push_back(cycle * s.network().cycle_ns);
             return ns;
           }))
      .def("facts", alone([](Simulation& s) { return facts(s); }))
      .def("_configuration", alone([](Simulation& s) { return from_config(s.network().config); }))
      .def("arrays", [](Live<Simulation> live) { return arrays(live); });
}
