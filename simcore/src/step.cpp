// The cycle: the stages in their order, in two halves with the decisions between them.
#include <algorithm>

#include "failures.hpp"
#include "learning/demand.hpp"
#include "partition.hpp"
#include "simcore/learning.hpp"
#include "simcore/stats.hpp"
#include "simcore/workload.hpp"
#include "stage/follow.hpp"
#include "stage/route_computation.hpp"
#include "stage/stage.hpp"
#include "workload/engine.hpp"

namespace flitgym {

namespace {

// Allocates every array whose size is known, or only counts its bytes.
void shape(const Network& net, State& s, Shaper& make) {
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
    if (!make.only_counts() || shape.per == Per::kJob) make(s.memory[k], memory_bytes(net, shape), u8{0});
  }
  make(s.series_interval, 1, 0u);
  if (net.workload) workload::shape_workload(net, s, make);
  if (net.seam) shape_record(net, s, make);
}

// At most one request per input VC and cycle.
void shape(const Network& net, Batch& b, Shaper& make) {
  const std::size_t most = net.vc_id(net.router_ports, 0);
  for (auto* ids : {&b.input_vc, &b.packet, &b.router}) make(*ids, most, 0u);
  for (auto* numbers : {&b.in_port, &b.in_vc, &b.out_port, &b.out_class}) make(*numbers, most, u16{0});
  if (make.only_counts()) make.count(net.router_ports * sizeof(u32));  // Workspace::again
  if (net.seam && make.only_counts()) {  // make_decisions() gives these arrays their size at the first decision
    const std::size_t slots = net.seam->slots;
    make.count(most * (net.seam->width * sizeof(float) + slots * (1 + 2 * sizeof(u16)) + 4 * sizeof(u32)));
  }
}

// Estimates the packets in the network without queueing, with paths as long as the diameter and the highest load (0.5
// with a workload). It adds 4 packets per terminal.
u64 packets_under_way(const Network& net) {
  u64 cycles = 0, channels = 0;
  for (const Channel& c : net.channels)
    if (c.peer != kNone) cycles += net.delays[c.line], channels++, worked();
  const double hop = static_cast<double>(cycles) / static_cast<double>(std::max<u64>(1, channels));
  const double load = net.workload ? 0.5 : *std::max_element(net.load_values.begin(), net.load_values.end());
  const double rate = load / (net.mean_packet_flits() * net.flit_cycles_host);  // of a terminal, in a cycle
  return static_cast<u64>(net.terminals *
                          (4 + rate * hop * ((net.graphs[0]->diameter ? net.graphs[0]->diameter : 8) + 1)));
}

}  // namespace

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
    Frame frame(net, s, workspace, 0, k);
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

namespace {

// Stages before the hosts. Workspace::routes receives every head that requests a route.
void before_routes(Frame& f) {
  std::vector<u32>& asking = f.part.route_list;  // heads that came to the front of their VC in the previous cycle
  if (f.w.routes.empty()) f.w.routes.swap(asking);
  else f.w.routes.insert(f.w.routes.end(), asking.begin(), asking.end());
  asking.clear();
  arrivals(f);
  if (!(f.now & f.net.router.edge_mask)) credits(f);
  f.part.heard.clear();
  if (f.net.learns) feedback(f);
}

void hosts(Frame& f) {
  if (f.net.workload) workload::host_events(f, u64{f.now} * f.net.workload->cycle_ps);
}

void before_routes_after_hosts(Frame& f) {
  injection(f);
  traversal(f);
  f.part.routes_due.take(f.now, f.w.routes);
}

// Stages after the decisions. The requests of this partition are begin .. end-1 of the batch.
void after_routes(Frame& f, const Batch& b, u32 begin, u32 end) {
  apply_routes(f, b, begin, end);
  switch_allocation(f);
  if (f.net.accounted_jobs && f.net.whole_packets && f.net.router.flit_by_flit) follow_waits(f);
  f.part.flit_lines.close(f.now);
  f.part.credit_lines.close(f.now);
  f.part.feedback_lines.close(f.now);
  f.part.totals.now++;
}

void share(const Network& net, Workspace& w, const Threads* threads, const Threads::Work& work) {
  if (threads) threads->share(work);
  else work(w, 0, net.partitions());
}

// The part of a cycle before the decisions, for all partitions. The requests are in `routes` of the workspaces.
void request(const Network& net, State& s, Workspace& w, const Threads* threads) {
  begin_cycle(net, s, w);
  share(net, w, threads, [&](Workspace& own, u32 first, u32 end) {
    for (u32 k = first; k < end; k++) {
      Frame f(net, s, own, s.part.totals.now, k);
      before_routes(f);
      hosts(f);
      before_routes_after_hosts(f);
    }
  });
  workload::settle_outstanding(s);
  learning::settle_deliveries(s);
}

void check(const Network& net, State& s, Workspace& own, Cycle now) {
  keep_to_lasting_links(net, s, own.batch);
  if (own.wary) [[unlikely]]
    verify_routes(Frame(net, s, own, now));
  mark_nonminimal(net, s, own.batch);
}

// Runs the part of a cycle after the decisions. `b` is in the order of the partitions.
void obey(const Network& net, State& s, Workspace& own, const Batch& b, Cycle now, u32 first, u32 end) {
  const auto asked = b.router.begin();
  u32 next = static_cast<u32>(
      std::partition_point(asked, asked + b.count, [&](u32 r) { return net.partition_of(r) < first; }) - asked);
  for (u32 k = first; k < end; k++) {
    const u32 begin = next;
    while (next < b.count && net.partition_of(b.router[next]) == k) next++;
    Frame f(net, s, own, now, k);
    after_routes(f, b, begin, next);
  }
}

void exchange(const Network& net, State& s, Workspace& w, const Threads* threads, Cycle now) {
  share(net, w, threads, [&](Workspace&, u32 first, u32 end) { hand_over(net, s, now, now + 1, first, end); });
  forget_sent(net, s);
}

}  // namespace

void begin_cycle(const Network& net, State& s, Workspace& w) {
  const Cycle now = s.part.totals.now;
  if (const u32 next = s.part.totals.epoch + 1; next < net.graphs.size() && passed(net.graphs[next]->from, now))
      [[unlikely]]
    for (u32 k = 0; k < net.partitions(); k++) {
      Frame f(net, s, w, now, k);
      change_graph(f);
    }
  if (net.partitions() > 1 && now % net.lookahead == 0) provide_packets(net, s);
}

void advance(const Network& net, State& s, Workspace& w, u32 k, Cycle until) {
  for (Cycle now = partition(s, k).totals.now; now != until; now++) {
    Frame f(net, s, w, now, k);
    w.routes.clear();
    before_routes(f);
    hosts(f);
    before_routes_after_hosts(f);
    route_requests(f);
    if (w.batch.count) net.route(net, s, w.batch);
    keep_to_lasting_links(net, s, w.batch);
    if (w.wary) [[unlikely]]
      verify_routes(f);
    mark_nonminimal(net, s, w.batch);
    after_routes(f, w.batch, 0, w.batch.count);
  }
  w.routes.clear();
}

void collect(const Network& net, State& s, Workspace& w, const Threads* threads) {
  if (net.partitions() > 1) {
    request(net, s, w, threads);
    if (threads)
      for (Workspace& helper : threads->helpers) {
        w.routes.insert(w.routes.end(), helper.routes.begin(), helper.routes.end());
        helper.routes.clear();
      }
  } else {
    if (!w.at_hosts) {
      begin_cycle(net, s, w);
      Frame f(net, s, w, s.part.totals.now);
      before_routes(f);
    }
    Frame f(net, s, w, s.part.totals.now);
    w.at_hosts = true;  // if the hosts are interrupted, the next call continues the cycle here
    hosts(f);
    w.at_hosts = false;
    before_routes_after_hosts(f);
  }
  if (net.seam && net.seam->capacity) file_transitions(net, s, w.ids);
  resume(net, s, w);
}

void resume(const Network& net, State& s, Workspace& w) {
  Frame f(net, s, w, s.part.totals.now);
  route_requests(f);
  ask_outside(net, s, w.batch);
  s.part.totals.collected = 1;
}

void apply(const Network& net, State& s, Workspace& w, const Threads* threads) {
  const Cycle now = s.part.totals.now;
  const Batch& b = w.batch;
  check(net, s, w, now);
  if (net.partitions() == 1) {
    Frame f(net, s, w, now);
    after_routes(f, b, 0, b.count);
  } else {
    share(net, w, threads, [&](Workspace& own, u32 first, u32 end) { obey(net, s, own, b, now, first, end); });
    exchange(net, s, w, threads, now);
  }
  w.routes.clear();
  s.part.totals.collected = 0;
}

namespace {

// Every thread decides for its partitions. No thread changes queues or credits meanwhile, so a routing may read all.
void step_on(const Network& net, State& s, Workspace& w, const Threads& threads) {
  const Cycle now = s.part.totals.now;
  request(net, s, w, &threads);
  threads.share([&](Workspace& own, u32, u32) {
    Frame f(net, s, own, now);
    route_requests(f);
    decide(net, s, own.batch);
    check(net, s, own, now);
  });
  threads.share([&](Workspace& own, u32 first, u32 end) {
    obey(net, s, own, own.batch, now, first, end);
    own.routes.clear();
  });
  exchange(net, s, w, &threads, now);
}

}  // namespace

void step(const Network& net, State& s, Workspace& w, const Threads* threads) {
  if (threads && net.decider == Decider::kRouting) return step_on(net, s, w, *threads);
  if (!w.at_routing) collect(net, s, w, threads);
  w.at_routing = true;
  decide(net, s, w.batch);
  w.at_routing = false;
  apply(net, s, w, threads);
}

Totals totals(const State& s) {
  Totals t = s.part.totals;
  for (const Partition& other : s.further) {
    const Totals& o = other.totals;
    t.moves += o.moves;
    t.packets_in_network += o.packets_in_network;
    t.flits_in_network += o.flits_in_network;
    t.flits_accepted += o.flits_accepted;
    t.flits_ejected += o.flits_ejected;
    t.backlogged += o.backlogged;
  }
  return t;
}

u64 decisions_made(const State& s) {
  u64 sum = s.part.learning.decisions;
  for (const Partition& other : s.further) sum += other.learning.decisions;
  return sum;
}

HostTotals host_totals(const State& s) {
  HostTotals t;
  for (const Hosts& hosts : s.hosts) {
    const HostTotals& o = hosts.totals;
    t.order += o.order;
    t.now = std::max(t.now, o.now);
    t.blocks_done += o.blocks_done;
    t.ranks_done += o.ranks_done;
    t.messages_open += o.messages_open;
    t.pairs += o.pairs;
  }
  return t;
}

}  // namespace flitgym
