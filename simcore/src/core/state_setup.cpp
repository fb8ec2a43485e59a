// The arrays of a state and of a batch: their sizes, their memory, and their values before cycle 0.
#include "core/hosts/engine.hpp"
#include "core/partition.hpp"
#include "core/stage/acknowledgement.hpp"
#include "core/stage/stage.hpp"
#include "simcore/learning.hpp"
#include "simcore/stats.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

// Allocates every array whose size is known, or only counts its bytes.
static void shape(const Network& net, State& s, Shaper& make) {
  make(s.input_vcs, net.vc_id(net.router_ports, 0), InputVc{kNone, kNone, 0, 0, 0, kNoVc});
  make(s.output_vcs, net.vc_id(net.port_count, 0), OutputVc{kNone, kNone, 0, 0, 0, kNoVc});
  make(s.served, net.input_vc_count(), 0u);
  make(s.park_next, net.input_vc_count(), kNotParked);
  make(s.owners, net.input_vc_count(), kNone);
  make(s.owned_since, net.router.separate_vc_allocation ? net.input_vc_count() : 0, 0u);
  make(s.ports, net.port_count, Port{});
  make(s.terminals, net.terminals, Terminal{});
  make(s.stamps, net.routers, 1u << (net.radix_shift + net.vc_shift));
  make(s.requests, std::size_t{net.router_ports} * net.request_words, u64{0});
  make(s.outputs_asked, std::size_t{net.routers} * net.asked_words, u64{0});
  make(s.active_routers, net.ranges.back().first_word + net.ranges.back().words, u64{0});
  s.further.resize(net.partitions() - 1);
  for (u32 k = 0; k < net.partitions(); k++) {
    Partition& part = partition(s, k);
    make(part.ports_due, net.longest_delay);
    make(part.routes_due, net.longest_delay);
    make(part.tails_due, net.whole_packets ? net.longest_delay : 0);
    make(part.sources_due, 1023);  // longer generation gaps are scheduled in several steps
    make(part.histogram_nic, kHistogramBins, 0u);
    make(part.histogram_generation, kHistogramBins, 0u);
  }
  s.memory.resize(net.memories.size());
  for (std::size_t k = 0; k < net.memories.size(); k++) {
    // declare_memory() has already counted the bytes of memories per network, router and port. Memories per packet grow
    // with the pool of packets.
    const MemoryShape& shape = net.memories[k];
    if (shape.sparse) {
      if (make.only_counts()) continue;
      s.memory[k].rows = shape.rows;
      s.memory[k].stride = shape.stride;
      s.memory[k].full.resize(net.routers);
      make(s.memory[k].sparse, std::size_t{net.routers} * shape.rows, SparseRow{});
    } else if (!make.only_counts() || shape.per == Per::kJob) make(s.memory[k], memory_bytes(net, shape), u8{0});
  }
  make(s.series_interval, 1, 0u);
  if (net.workload) workload::shape_workload(net, s, make);
  if (net.seam) shape_record(net, s, make);
  if (net.control) control::shape(net, s, make);
}

// At most one request per input VC and cycle.
static void shape(const Network& net, Batch& b, Shaper& make) {
  const std::size_t most = net.vc_id(net.router_ports, 0);
  for (auto* ids : {&b.input_vc, &b.packet, &b.router}) make(*ids, most, 0u);
  for (auto* numbers : {&b.in_port, &b.in_vc, &b.out_port, &b.out_class}) make(*numbers, most, u16{0});
  if (make.only_counts()) make.count(net.router_ports * sizeof(u32));  // Workspace::again
  if (net.seam && make.only_counts()) {  // make_decisions() gives these arrays their size at the first decision
    const std::size_t slots = net.seam->slots;
    make.count(most * (net.seam->width * sizeof(float) + slots * (1 + 2 * sizeof(u16)) + 4 * sizeof(u32)));
  }
}

// Estimates the number of packets in the network without queueing. It assumes the highest load (0.5 with a workload),
// and paths as long as the diameter. It adds 4 packets per terminal.
static u64 packets_under_way(const Network& net) {
  u64 cycles = 0, channels = 0;
  for (const Channel& c : net.channels)
    if (c.peer != kNone) cycles += net.delays[c.line], channels++, worked();
  const double hop = static_cast<double>(cycles) / static_cast<double>(std::max<u64>(1, channels));
  const double load = net.workload ? 0.5 : *std::max_element(net.load_values.begin(), net.load_values.end());
  const double rate = load / (net.mean_packet_flits() * net.flit_cycles_host);  // of a terminal, in a cycle
  return static_cast<u64>(net.terminals *
                          (4 + rate * hop * ((net.graphs[0]->diameter ? net.graphs[0]->diameter : 8) + 1)));
}

u64 memory_to_run(const Network& net) {
  State state;
  Batch batch;
  Shaper counter(true);
  shape(net, state, counter);
  shape(net, batch, counter);
  // Delay lines and the pool of packets grow with the number of packets in the network.
  u64 of_packet = sizeof(Packet) + sizeof(PacketDetail) + sizeof(Flit) + sizeof(FlitEvent) + sizeof(CreditEvent);
  for (const u32 k : net.packet_memories) of_packet += net.memories[k].entry_bytes();
  if (net.workload) of_packet += sizeof(PacketPayload) + (net.workload->shares_nics() ? sizeof(PacketRanks) : 0);
  counter.count(std::max(packets_under_way(net), packets_provided(net)) * of_packet);
  return counter.bytes();
}

void initialise(const Network& net, State& s) {
  s = State{};
  Shaper make(false);
  shape(net, s, make);

  // The credits of an output VC are the slots of the downstream buffer.
  for (u32 p = 0; p < net.port_count; p++) {
    if (net.channels[p].peer == kNone) continue;
    worked(net.vcs);
    for (u32 vc = 0; vc < net.vcs; vc++)
      s.output_vcs[net.vc_id(p, vc)].credits = static_cast<u16>(net.accepts_all(p) ? 65535 : net.router.input_depth);
  }
  for (u32 v = 0; v < s.served.size(); v++) s.served[v] = v & ((1u << (net.radix_shift + net.vc_shift)) - 1);

  for (u32 k = 0; k < net.partitions(); k++) {
    Partition& part = partition(s, k);
    part.flit_lines.reset(net.delays);
    part.credit_lines.reset(net.delays);
    part.feedback_lines.reset(net.learns ? net.delays : std::vector<u32>{});
  }
  for (u32 k = 0; k < net.memories.size(); k++) fill_memory(net, s, k);
  Workspace workspace;
  for (u32 k = 0; k < net.partitions(); k++) {
    Frame frame{net, s, workspace, 0, k};
    start_sources(frame);
  }
  if (net.workload) workload::start_workload(net, s);
  if (net.seam) start_record(net, s);
}

void prepare(const Network& net, Workspace& w) {
  Batch& b = w.batch;
  const std::size_t most = net.vc_id(net.router_ports, 0);
  if (b.input_vc.empty()) {
    Shaper make(false);
    shape(net, b, make);
  }
  w.again.resize(net.router_ports);
  if (net.decider != Decider::kCandidates && !net.seam) return;
  b.offsets.reserve(most + 1);
  b.candidate_port.reserve(most * net.radix);
  b.candidate_class.reserve(most * net.radix);
}

}  // namespace flitgym
