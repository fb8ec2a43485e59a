// Sets up the congestion control of the NICs.
#include "simcore/control.hpp"

#include "core/router_setup.hpp"
#include "simcore/graph.hpp"
#include "simcore/kind.hpp"
#include "simcore/routing/paths.hpp"
#include "simcore/traffic_classes.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

// Flits of a parameter in bytes; `fallback` if it is 0.
static float flits_in(const std::string& key, const Params& params, const Network& net, float fallback) {
  const auto bytes = static_cast<double>(params.integer(key));
  return bytes == 0 ? fallback : static_cast<float>(bytes / net.flit_bytes);
}

static std::string in_bytes(const Network& net, double flits) {
  return to_string(Value{flits * net.flit_bytes}) + " bytes";
}

const Register<ControlSpec> none({.name = "none", .summary = "a NIC sends whenever it has room"});

static void make_acks_packets(const Params& params, Network& net, Control& control) {
  const std::string key = "congestion_control." + control.spec->name + ".ack_bytes";
  const u32 bytes = params.count("ack_bytes");
  if (bytes == 0) return;
  control.ack_flits = flits_of(key, bytes, net);
  if (control.ack_flits > control.packet)
    throw ConfigError(key, ": ", bytes, " is more than the largest packet, ", in_bytes(net, control.packet));
  if (net.routing_facts.bubble && control.ack_flits < control.packet)
    throw ConfigError(key, ": routing.", net.routing_name,
                      ".deadlock_avoidance=bubble needs packets of one size; use dateline");
  for (u32 c = 1; c < class_count(net); c++)
    if (net.classes->all[c].rank < net.classes->all[control.ack_class].rank) control.ack_class = c;
  control.acks = declare<u32>(net, {.name = "acknowledgements",
                                    .meaning = "source and destination of the acknowledged packet, cycle of its "
                                               "acceptance, cycles without queueing, grant, flits and mark",
                                    .per = Per::kPacket,
                                    .columns = sizeof(Acknowledgement) / sizeof(u32),
                                    .highest = kNone});
}

ParamSpec flows_param() {
  return integer("flows", 4096, 1, 1 << 20, "",
                 "flows of a source with a state of their own, at most one per destination; destinations whose numbers "
                 "are equal modulo this value share a flow; 1 = one flow per source");
}
ParamSpec ack_param() {
  return integer("ack_bytes", 0, 0, 1 << 30, "bytes",
                 "acknowledgements are packets of this size, rounded up to whole flits; InfiniBand has 30 bytes; 0 = "
                 "they take no bandwidth and no time in queues");
}
ParamSpec window_param() {
  return integer("window_bytes", 0, 0, 1 << 30, "bytes",
                 "window of a flow at the beginning and at most; 0 = bandwidth-delay product of the longest path");
}
ParamSpec mark_param() {
  return integer("mark_bytes", 0, 0, 1 << 30, "bytes",
                 "a router marks a packet whose queue is longer; 0 = a seventh of the bandwidth-delay product, but at "
                 "least two packets and at most half of an input buffer");
}

void read_window(const Params& params, const Network& net, Control& control) {
  control.first.window = flits_in("window_bytes", params, net, control.product);
  if (control.first.window < static_cast<float>(control.packet))
    throw ConfigError("congestion_control.", control.spec->name,
                      ".window_bytes: ", to_string(params.value("window_bytes")), " is less than the largest packet, ",
                      in_bytes(net, control.packet));
}

void read_mark(const Params& params, const Network& net, Control& control) {
  const u32 largest = net.router.input_depth + net.router.output_depth * net.vcs;
  const float usual = std::min(std::max(control.product / 7, 2.0f * static_cast<float>(control.packet)),
                               static_cast<float>(net.router.input_depth) / 2);
  control.mark_flits = std::max(1u, static_cast<u32>(flits_in("mark_bytes", params, net, usual)));
  if (control.mark_flits >= largest)
    throw ConfigError("congestion_control.", control.spec->name, ".mark_bytes: ", to_string(params.value("mark_bytes")),
                      " is not less than the longest queue, an input buffer and an output port with ",
                      in_bytes(net, largest), ", so no packet would be marked");
}

void use_rates(Network& net, Control& control, float first) {
  control.first.window = first;
  control.place = routing::graph::places_at_routers(net);
  control.pace = declare<u32>(net, {.name = "pace",
                                    .meaning = "terminal x flow: first cycle of the next packet, 1/65536 cycles",
                                    .per = Per::kRouter,
                                    .rows = std::ranges::max(control.place) + 1,
                                    .columns = 2 * control.flows});
}

double cycles_in(const char* key, const Params& params, const Network& net, double usual) {
  const double ns = params.real(key);
  return ns > 0 ? ns / net.cycle_ns : usual;
}

void choose_control(const Config& config, Network& net) {
  const Section& section = config.congestion_control;
  const auto& spec = named<ControlSpec>("congestion_control", section.name.empty() ? "none" : section.name);
  const Params params("congestion_control." + spec.name, spec.params, section.values, net.seed);
  if (!spec.setup) return;
  if (net.workload && !net.workload->host.network)
    throw ConfigError(
        "congestion_control: '", spec.name,
        "' needs acknowledgements, but with workload.network=none no packet enters the network; use none");
  net.config.congestion_control = {spec.name, params.values()};
  need_flights(net);
  auto control = std::make_shared<Control>();
  control->spec = &spec;
  control->packet = net.most_packet_flits;
  control->flows = std::min(params.count("flows"), net.terminals);
  u32 ends = 0;  // cycles at both ends of a path
  for (u32 t = 0; t < net.terminals; t++) {
    const u32 port = net.port(net.terminal_router[t], net.terminal_port[t]);
    ends = std::max(ends, net.hop_cycles(net.nic(t)) + static_cast<u32>(std::lround(hop_ns(net, port) / net.cycle_ns)));
  }
  ends += net.router.wake_cycles;
  float longest = 0, hops = 1;
  for (const auto& graph : net.graphs) {
    longest = std::max(longest, graph->longest_flight_ns);
    hops = std::max(hops, static_cast<float>(graph->diameter));
  }
  // A path of a routing that leaves minimal paths is longer in proportion to its hops.
  const double forward = longest * std::max(1.0f, static_cast<float>(net.routing_facts.max_hops) / hops) / net.cycle_ns,
               back = longest / net.cycle_ns;
  const u32 flit_cycles = net.flit_cycles_host;
  make_acks_packets(params, net, *control);
  control->longest_return = ends + static_cast<u32>(std::ceil(back)) + 1;
  control->round_trip = ends + static_cast<u32>(std::ceil(forward)) + control->longest_return +
                        (control->packet - 1 + std::max(control->ack_flits, 1u) - 1) * flit_cycles;
  control->product = std::ceil(static_cast<float>(control->round_trip) / static_cast<float>(flit_cycles)) +
                     static_cast<float>(control->packet);
  control->first.window = control->product;
  spec.setup(params, net, *control);
  net.control = std::move(control);
}

}  // namespace flitgym
