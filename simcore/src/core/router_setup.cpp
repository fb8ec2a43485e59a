#include "core/router_setup.hpp"

#include "core/stage/credit_queue.hpp"

namespace flitgym {

const std::vector<ParamSpec>& router_params() {
  const double inf = std::numeric_limits<double>::max();
  static const std::vector<ParamSpec> specs = {
      real("cycle_ns", 1.0, 1e-3, 1e6, "ns",
           "length of a simulator cycle; all times below are rounded to it: latencies by at most half a cycle, flit "
           "times by at most 1 %"),
      real("flit_bytes", 128, 1, 1e6, "bytes", "size of a flit"),
      real("link_bandwidth_gb_per_s_host", 128, 1e-6, 1e6, "GB/s", "bandwidth of terminal channels"),
      real("link_bandwidth_gb_per_s_local", 128, 1e-6, 1e6, "GB/s", "bandwidth of local channels"),
      real("link_bandwidth_gb_per_s_global", 128, 1e-6, 1e6, "GB/s", "bandwidth of global channels"),
      real("crossbar_bandwidth_gb_per_s", 128, 1e-6, 1e6, "GB/s",
           "bandwidth of a crossbar port; its ratio to the link's is the crossbar speedup"),
      real("link_latency_ns_host", 1, 0, 1e6, "ns", "time of flight of terminal channels"),
      real("link_latency_ns_local", 10, 0, 1e6, "ns", "time of flight of local channels"),
      real("link_latency_ns_global", 100, 0, 1e6, "ns", "time of flight of global channels"),
      real("input_latency_ns", 0, 0, 1e6, "ns", "time from the end of the link to the input buffer"),
      real("output_latency_ns", 1, 0, 1e6, "ns", "time from the output queue (or the switch) to the link"),
      real("pipeline_ns", 0, 0, 1e5, "ns",
           "time from reaching the head of an input VC to route computation and the first switch request"),
      integer("input_buffer_flits", 256, 1, 65535, "flits", "size of the input buffer of a VC"),
      integer("output_buffer_flits", 0, 0, 65535, "flits",
              "size of the output queue of a VC; 0 = an input-queued router, whose crossbar drives the links"),
      integer(
          "buffer_total", 0, 0, 2 * 65535 * kMaxVcs, "flits",
          "size of all input buffers and output queues of a port, divided equally among its VCs; input_buffer_flits "
          "and output_buffer_flits then only give the ratio of the two; 0 = these sizes themselves"),
      integer("nic_buffer_flits", 32, 0, 65535, "flits",
              "size of the output buffer of each network interface, for each traffic class; 0 = room for a packet, so "
              "packets leave in order"),
      integer("injection_vcs", 1, 0, kMaxVcs, "",
              "number of VCs over which a network interface spreads its packets, of each traffic class; 0 = all"),
      integer("vcs", 0, 0, kMaxVcs, "",
              "virtual channels per port, of each traffic class; 0 = as many as the routing needs"),
      choice("flow_control", "virtual_cut_through", {"virtual_cut_through", "wormhole"},
             "a head advances when the next buffer has room for the whole packet, or for one flit"),
      choice("arbiter", "round_robin", {"round_robin", "least_recently_served", "age", "islip"},
             "switch allocation: round robin at each output, the least recently served (input, VC) first, the oldest "
             "packet first, or one iteration of iSLIP for both VCs and switch (needs vc_allocation=parallel)"),
      choice("crossbar_ports", "per_port", {"per_port", "per_vc"},
             "flits that a port sends and receives per crossbar flit time: one in total, or one per VC (a speedup of "
             "the number of VCs, as in SuperSim and CAMINOS)"),
      choice("vc_allocation", "with_switch", {"with_switch", "before_switch", "parallel"},
             "with_switch: a head wins its output VC in the same grant as the switch; before_switch: a cycle earlier, "
             "the VC of its route, if no request before it wins the switch, and it holds the VC until its tail has won "
             "the switch; parallel: every head wins any free VC of its class a cycle earlier, as in BookSim2"),
      choice("credit_latency", "hop", {"hop", "link"},
             "delay of a credit: that of a flit's hop in the other direction (output, link, input), or the link alone"),
      real("credit_delay_ns", 0, 0, 1e6, "ns", "time from the arrival of a credit at a router to its use"),
      choice("credit_charged", "link", {"link", "switch"},
             "a flit takes its credit when it leaves on the link, or when it wins the switch; with switch, the flits "
             "in an output queue occupy slots of the next buffer, as in BookSim2"),
      choice("terminal_buffers", "unlimited", {"unlimited", "input_buffer_flits"},
             "a terminal accepts every flit at once, or has the input buffers of a router, whose credits take the "
             "time of the channel"),
      choice("link_clock", "cycle", {"cycle", "flit"},
             "flits start on links in every cycle, or at the edges of a clock whose period is the flit time; credits "
             "then also leave at these edges"),
      choice("credit_granularity", "flit", {"flit", "packet"},
             "credits return per flit, or per packet with its tail; packet also makes VCs share links per packet"),
      choice("crossbar_sharing", "flit", {"flit", "packet"},
             "the crossbar switches flit by flit, or holds its input and output for a packet until its tail has "
             "passed, as the channel does; packet needs credit_granularity=packet, and claims and frees queues, room "
             "and credits for the whole packet with its head"),
      choice("link_sharing", "flit", {"flit", "packet"},
             "the VCs of a link alternate flit by flit, or packet by packet (a packet without available flits lets "
             "others pass)"),
      integer("output_wake_flits", 0, 0, 16, "flit times", "delay after which an idle output port (or NIC) sends"),
      choice("latency_from", "generation", {"generation", "nic"},
             "start of packet_latency_*: generation at the source, or acceptance by its NIC"),
      choice("source_backlog", "kept", {"kept", "lost"},
             "while a NIC is full, generated packets wait (an open-loop source) or are lost"),
      real("watchdog_ns", 100000, 0, inf, "ns",
           "time without any movement of the flits in flight after which a deadlock is reported and the run ends"),
  };
  return specs;
}

static void check_watchdog(const Params& params, const Network& net) {
  if (net.router.watchdog_cycles < 2 * net.longest_delay)
    throw ConfigError("router.watchdog_ns: ", params.real("watchdog_ns"),
                      " ns is shorter than twice the longest channel delay (", 2 * net.longest_delay * net.cycle_ns,
                      " ns); a packet on a link would be reported as a deadlock");
}

// The least router.buffer_total that leaves `flits` flits for each buffer of a VC.
static u64 least_total(u32 flits, const Params& params, u32 vcs) {
  const u64 in = params.count("input_buffer_flits"), out = params.count("output_buffer_flits"), both = in + out;
  if (out == 0) return u64{flits} * vcs;
  return std::max((flits * both + in - 1) / in, (flits - 1) * both / out + 1) * vcs;
}

// Checks that a packet of `flits` flits fits the buffers. `key` is the parameter that sets its size.
static void check_packet_fits(const std::string& key, u32 flits, const Params& params, const Network& net) {
  const RouterParams& r = net.router;
  const std::string packet = ": a packet of " + std::to_string(flits) + " flits does not fit router.";
  const u32 total = params.count("buffer_total");
  const auto fits = [&](const char* buffer, u32 depth) {
    if (depth < flits && total > 0)
      throw ConfigError(key, packet, "buffer_total = ", total, " flits, which leaves ", depth, " flits for the ",
                        buffer, " of each of the ", net.vcs, " VCs with routing.", net.routing_name,
                        "; set it to at least ", least_total(flits, params, net.vcs),
                        r.packet_credits ? "" : " or use router.flow_control=wormhole");
    if (depth < flits)
      throw ConfigError(
          key, packet, buffer, " = ", depth,
          " flits, which virtual cut-through needs; enlarge the buffer or use router.flow_control=wormhole");
  };
  if (r.flow_control == FlowControl::kVirtualCutThrough) {
    fits("input_buffer_flits", r.input_depth);
    if (r.output_depth > 0) fits("output_buffer_flits", r.output_depth);
  }
  if (r.packet_credits && total > 0) fits("input_buffer_flits", r.input_depth);
  if (r.nic_depth < flits) throw ConfigError(key, packet, "nic_buffer_flits = ", r.nic_depth, " flits");
  // The credit for the whole packet returns with its tail, so a smaller buffer would wait for itself.
  if (r.packet_credits && r.input_depth < flits)
    throw ConfigError(key, ": with router.credit_granularity=packet a packet of ", flits,
                      " flits does not fit router.input_buffer_flits = ", r.input_depth,
                      " flits; enlarge the buffer or use router.credit_granularity=flit");
}

// Packets that stay together (src/core/stage/train.hpp) hold a resource from their first flit to their last.
static void size_trains(const std::string& size_key, const Params& params, Network& net) {
  net.whole_packets = net.router.packet_crossbar && net.most_packet_flits > 1;
  if (!net.whole_packets) return;
  u32 slowest = net.router.crossbar_cycles;
  for (const Channel& c : net.channels) slowest = std::max(slowest, c.flit_cycles);
  const u64 longest = net.longest_delay + u64{net.most_packet_flits} * slowest;
  if (longest > kLongestDelay / 2)
    throw ConfigError(
        size_key, ": a packet of ", net.most_packet_flits, " flits takes ", slowest,
        " cycles per flit, which is too long for router.crossbar_sharing=packet; choose a longer router.cycle_ns");
  net.longest_delay = static_cast<u32>(longest);
  net.router.multi_cycle_switch = true;
  check_watchdog(params, net);
  if (net.router.arbiter == Arbiter::kRoundRobin) return;
  net.resting = declare<u32>(net, {.name = "resting",
                                   .meaning = "cycle before which the crossbar can grant no request of the router",
                                   .per = Per::kRouter,
                                   .highest = kEndOfTime});
}

// Bubble flow control counts packets. They must have one size, and two must fit a buffer. A packet keeps its VC along a
// ring.
static void check_bubble(const std::string& size_key, const Network& net) {
  if (!net.routing_facts.bubble) return;
  const std::string what = "routing." + net.routing_name + ".deadlock_avoidance: bubble";
  const RouterParams& r = net.router;
  if (r.parallel_vc_allocation)
    throw ConfigError(what,
                      " needs router.vc_allocation=with_switch or before_switch, because a packet that waits to enter "
                      "its ring must not hold the VC; use dateline for parallel");
  if (r.flow_control == FlowControl::kWormhole)
    throw ConfigError(what,
                      " needs router.flow_control=virtual_cut_through: a buffer must have room for whole packets; use "
                      "dateline for wormhole");
  if (net.classes) throw ConfigError(what, " cannot be combined with router.classes; use dateline");
  if (net.vcs != net.routing_facts.classes)
    throw ConfigError(what, " needs rings with one VC, but router.vcs is ", net.vcs,
                      "; set it to 0 or 1, or use dateline");
  if (net.least_packet_flits != net.most_packet_flits)
    throw ConfigError(what, " needs packets of one size, but ", size_key, " makes them ", net.least_packet_flits,
                      " to ", net.most_packet_flits,
                      " flits; the room that small packets leave may not fit a large one (use dateline)");
  const u32 depth = r.output_depth > 0 ? r.output_depth : r.input_depth, two = 2 * net.most_packet_flits;
  if (depth < two)
    throw ConfigError(what, " needs room for two packets of ", net.most_packet_flits, " flits, but router.",
                      r.output_depth > 0 ? "output" : "input", "_buffer_flits is ", depth, "; set it to at least ",
                      two);
}

static void check_link_clock(const Params& params, const Network& net) {
  if (net.router.arbiter != Arbiter::kIslip || params.count("output_wake_flits") > 0)
    throw ConfigError("router.link_clock: flit needs arbiter=islip and output_wake_flits=0; the values are ",
                      params.text("arbiter"), " and ", params.count("output_wake_flits"));
  for (const Channel& c : net.channels)
    if (c.kind != PortKind::kUnused && c.flit_cycles != net.flit_cycles_host)
      throw ConfigError("router.link_clock: flit needs links of one bandwidth, but flit times are ", c.flit_cycles,
                        " and ", net.flit_cycles_host, " cycles");
  if (net.router.output_depth == 0 || net.router.packet_credits)
    throw ConfigError("router.link_clock: flit needs output_buffer_flits > 0 and credit_granularity=flit");
  if (!std::has_single_bit(net.flit_cycles_host))
    throw ConfigError("router.link_clock: flit needs a flit time of 1, 2, 4, ... cycles; it is ", net.flit_cycles_host,
                      " cycles");
}

void size_router(const Params& params, Network& net) {
  RouterParams& r = net.router;
  r.input_depth = params.count("input_buffer_flits");
  r.output_depth = params.count("output_buffer_flits");
  r.nic_depth = params.count("nic_buffer_flits");
  r.flow_control = params.text("flow_control") == "wormhole" ? FlowControl::kWormhole : FlowControl::kVirtualCutThrough;
  r.multi_cycle_switch = r.crossbar_cycles > 1;
  for (const Channel& c : net.channels) r.multi_cycle_switch |= c.flit_cycles > 1;
  const std::string& arbiter = params.text("arbiter");
  r.arbiter = arbiter == "round_robin" ? Arbiter::kRoundRobin
              : arbiter == "age"       ? Arbiter::kAge
              : arbiter == "islip"     ? Arbiter::kIslip
                                       : Arbiter::kLeastRecentlyServed;
  r.crossbar_per_vc = params.text("crossbar_ports") == "per_vc";
  net.request_mask = r.crossbar_per_vc ? 0 : ~0u;
  if (r.crossbar_per_vc && (r.output_depth == 0 || r.crossbar_cycles > 1 || r.arbiter == Arbiter::kRoundRobin ||
                            r.arbiter == Arbiter::kIslip))
    throw ConfigError(
        "router.crossbar_ports: per_vc needs output buffers (output_buffer_flits > 0), a crossbar flit time of one "
        "cycle and arbiter=age or least_recently_served; the values are ",
        r.output_depth, " flits, ", r.crossbar_cycles, " cycles and ", arbiter);
  const std::string& vc_allocation = params.text("vc_allocation");
  r.parallel_vc_allocation = vc_allocation == "parallel";
  r.separate_vc_allocation = r.parallel_vc_allocation || vc_allocation == "before_switch";
  r.packet_credits = params.text("credit_granularity") == "packet";
  r.packet_crossbar = params.text("crossbar_sharing") == "packet";
  if (r.packet_crossbar && (r.flow_control == FlowControl::kWormhole || !r.packet_credits || r.crossbar_per_vc))
    throw ConfigError(
        "router.crossbar_sharing: packet needs flow_control=virtual_cut_through, credit_granularity=packet and "
        "crossbar_ports=per_port, because resources are claimed for whole packets; the values are ",
        params.text("flow_control"), ", ", params.text("credit_granularity"), " and ", params.text("crossbar_ports"));
  const bool rotates = r.arbiter == Arbiter::kRoundRobin || r.arbiter == Arbiter::kIslip;
  if (r.parallel_vc_allocation && (!rotates || r.packet_crossbar))
    throw ConfigError(
        "router.vc_allocation: parallel needs arbiter=round_robin or islip and crossbar_sharing=flit; the values are ",
        arbiter, " and ", params.text("crossbar_sharing"));
  if (r.arbiter == Arbiter::kIslip && !r.parallel_vc_allocation)
    throw ConfigError("router.arbiter: islip needs router.vc_allocation=parallel; the value is ", vc_allocation);
  r.charged_at_switch = params.text("credit_charged") == "switch";
  if (r.charged_at_switch && r.output_depth > 0 && r.output_depth < r.input_depth)
    throw ConfigError("router.output_buffer_flits: ", r.output_depth,
                      "; with credit_charged=switch, use at least input_buffer_flits (", r.input_depth,
                      "), because a flit in the output queue occupies its slot");
  r.terminal_credits = params.text("terminal_buffers") != "unlimited";
  if (r.terminal_credits && r.packet_crossbar)
    throw ConfigError("router.terminal_buffers: input_buffer_flits needs router.crossbar_sharing=flit");
  r.edge_mask = params.text("link_clock") == "flit" ? net.flit_cycles_host - 1 : 0;
  if (r.edge_mask > 0) check_link_clock(params, net);
  r.packet_links = r.packet_credits || params.text("link_sharing") == "packet";
  r.latency_from_nic = params.text("latency_from") == "nic";
  r.keep_backlog = params.text("source_backlog") == "kept";
  const double watchdog = params.real("watchdog_ns") / net.cycle_ns;
  r.watchdog_cycles = static_cast<u32>(std::min(watchdog, 2e9));
  check_watchdog(params, net);
}

static void divide_buffers(const Params& params, Network& net) {
  const u64 total = params.count("buffer_total"), in = params.count("input_buffer_flits"),
            out = params.count("output_buffer_flits"), share = total / net.vcs;
  if (total == 0) return;
  const u64 input = share * in / (in + out), output = share - input;
  if (input == 0 || (out > 0 && output == 0))
    throw ConfigError("router.buffer_total: ", total, " flits are too few for the ", net.vcs,
                      " VCs of a port with routing.", net.routing_name,
                      "; each buffer needs a flit, so set it to at least ", least_total(1, params, net.vcs));
  if (std::max(input, output) > 65535)
    throw ConfigError("router.buffer_total: ", total, " flits make buffers of ", std::max(input, output),
                      " flits for each of the ", net.vcs, " VCs with routing.", net.routing_name,
                      "; a buffer has at most 65535");
  net.router.input_depth = static_cast<u32>(input);
  net.router.output_depth = static_cast<u32>(output);
}

// Declares the array in which grants and credits keep the occupancies that the routing senses. Not kept if a sum could
// exceed the 16 bits of a cell; decisions then add up the values themselves.
static void keep_sensed(Network& net) {
  const u64 most = u64{net.vcs} * (net.router.input_depth + net.router.output_depth);
  if (net.routing_facts.senses == Occupancy::kNothing || most > Sensed::kMost) return;
  Sensed& sensed = net.sensed;
  sensed.parts = net.routing_facts.senses;
  sensed.radix_shift = net.radix_shift;
  sensed.vcs = net.vcs;
  sensed.column_shift = static_cast<u32>(std::countr_zero(Sensed::columns(net.radix_shift)));
  sensed.memory =
      declare<u16>(net, {.name = "sensed",
                         .meaning = "flits ahead of a packet at an output, as the routing senses them: VC x port",
                         .per = Per::kRouter,
                         .rows = net.vcs,
                         .columns = 1u << sensed.column_shift,
                         .highest = static_cast<double>(most)});
}

static void keep_islip(Network& net) {
  if (net.router.arbiter != Arbiter::kIslip) return;
  const u32 slots = waiting_credits(net);
  if (slots > 65535)
    throw ConfigError("router.input_buffer_flits: ", net.router.input_depth, " for each of ", net.vcs,
                      " VCs; with link_clock=flit, a port has at most 65,535 slots");
  net.islip = declare<u16>(
      net, {.name = "islip",
            .meaning = "pointers of iSLIP and credits that wait at the input (src/core/stage/credit_queue.hpp)",
            .per = Per::kPort,
            .columns = IslipPort::columns(net.vcs, slots),
            .highest = 65535});
}

void size_vcs(const Params& router, Network& net) {
  divide_buffers(router, net);
  keep_sensed(net);
  keep_islip(net);
}

u32 flits_of(const std::string& size_key, u32 bytes, const Network& net) {
  const double flits = std::max(1.0, std::ceil(bytes / net.flit_bytes));
  if (flits > 65535)
    throw ConfigError(size_key, ": ", bytes, " bytes are ", flits, " flits; a packet has at most 65535");
  return static_cast<u32>(flits);
}

void fit_packets(const std::string& size_key, const Params& router, Network& net) {
  if (net.router.nic_depth == 0) net.router.nic_depth = net.most_packet_flits;
  check_packet_fits(size_key, net.most_packet_flits, router, net);
  size_trains(size_key, router, net);
  check_bubble(size_key, net);
  // The flits of a packet that has begun to leave cannot be routed again, so they must fit one buffer.
  if (net.routing_facts.asks_again && net.router.flow_control == FlowControl::kWormhole && net.most_packet_flits > 1)
    throw ConfigError(
        "routing.", net.routing_name, ": with failures.events and packets of ", net.most_packet_flits,
        " flits, a forwarding table needs router.flow_control=virtual_cut_through; use routing=up_down with wormhole");
}

}  // namespace flitgym
