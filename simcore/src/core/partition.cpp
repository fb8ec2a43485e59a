#include "core/partition.hpp"

#include "core/hosts/host.hpp"
#include "core/stage/acknowledgement.hpp"
#include "simcore/learning.hpp"
#include "simcore/traffic_classes.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

// The number of partitions is rounded to a power of two, so these two are approximate.
// State of routers per partition: about half of a second-level cache. Packets and events take the rest.
constexpr u64 kComfortableBytes = 384 << 10;
// Terminals per partition: few enough that threads can share the partitions evenly. There must also be enough flits per
// cycle for prefetching. With hpdc21 (a flit in 20 cycles), 1,056 terminals are 5 to 15 % slower in three partitions.
constexpr u32 kTerminals = 256, kLeastFlitsPerCycle = 32;
// Cycles. In a shorter window, the exchange of events between partitions costs more time than partitions save by their
// use of the caches.
constexpr u32 kShortestWindow = 4;

static u64 bytes_of_router(const Network& net) {
  const u64 ports = u64{1} << net.radix_shift, vcs = u64{1} << net.vc_shift;
  return ports * (sizeof(Port) + sizeof(Channel) + net.request_words * sizeof(u64) +
                  vcs * (sizeof(InputVc) + sizeof(OutputVc) + 2 * sizeof(u32)));  // with `served` and `owners`
}

// Returns the unit of cuts: the core prefers cuts at multiples of this number of routers. It is the group size if
// groups are consecutive and equal, otherwise 1.
static u32 unit_of(const Network& net) {
  u32 size = 0;
  for (u32 first = 0, r = 1; r <= net.routers; r++) {
    if (r < net.routers && net.router_group[r] == net.router_group[first]) continue;
    if (r < net.routers && net.router_group[r] < net.router_group[first]) return 1;
    if (size == 0) size = r - first;
    if (r - first != size) return 1;
    first = r;
  }
  return size == net.routers ? 1 : size;
}

// Whether the host events cannot be divided among partitions. With host.network=false, messages bypass the routers. If
// hosts need no time for a message, a single window may have infinitely many events and could not be interrupted.
static bool one_heap_of_events(const Workload& w) {
  return !w.host.network || workload::send_work(w.host, 0) + workload::nic_work(w.host, 0) == 0;
}

// Whether decisions need data of other routers.
static bool sees_far(const Network& net) {
  return net.routing_facts.remote ||
         (net.seam && std::any_of(net.seam->blocks.begin(), net.seam->blocks.end(),
                                  [](const ObservationSpec* block) { return !block->local; }));
}

// Whether the network must stay in one piece. A packet that is delivered may change data of its source, and feedback
// may change data of other routers, in any partition. Records of decisions are numbered in one order for the whole
// network. Memory kept once per network or per job (e.g. of message_matrix) is shared by all partitions.
static bool whole(const Network& net) {
  const Seam* const seam = net.seam.get();
  const bool recorded = seam && (seam->capacity > 0 || seam->witness || seam->reward->delivered);
  const bool shared = std::any_of(net.memories.begin(), net.memories.end(), [](const MemoryShape& m) {
    return (m.per == Per::kNetwork || m.per == Per::kJob) && !m.between_windows;
  });
  if (net.workload && one_heap_of_events(*net.workload)) return true;
  return net.routing_facts.spreads || net.delivered || recorded || shared || (net.learns && sees_far(net));
}

// Whether no node has terminals at routers of two units. The intra-node link has no least latency, so a node must be in
// one partition.
static bool holds_nodes(const Network& net, u32 unit) {
  if (!net.workload || !net.workload->has_links()) return true;
  const Nodes& nodes = net.workload->nodes;
  for (u32 t = 0; t < net.terminals; t++) {
    const u32 node = nodes.of_terminal[t];
    if (node != kNone && net.terminal_router[t] / unit != net.terminal_router[nodes.first_terminal(node)] / unit)
      return false;
  }
  return true;
}

template <class Visit>
static void each_channel_between(const Network& net, Visit visit) {
  for (u32 p = 0; p < net.router_ports; p++) {
    const u32 peer = net.channels[p].peer;
    if (peer != kNone && !net.is_nic(peer) &&
        net.router_partition[net.router_of_port(p)] != net.router_partition[net.router_of_port(peer)])
      visit(p);
    worked();
  }
}

static u32 shortest_between(const Network& net) {
  u32 shortest = ~0u;
  each_channel_between(net, [&](u32 p) {
    shortest = std::min({shortest, net.delays[net.channels[p].line], net.delays[net.channels[p].credit_line]});
  });
  return shortest;
}

static u64 nearest_power_of_two(u64 n) {
  const u64 below = std::bit_floor(n);
  return n * n > 2 * below * below ? 2 * below : below;
}

constexpr u32 kLineWords = 8;  // a cache line, which threads must not share

static void cut(Network& net, u32 parts, u32 unit) {
  const u32 units = (net.routers + unit - 1) / unit;
  net.ranges.clear();
  net.router_partition.assign(net.routers, 0);
  u32 word = 0;
  for (u32 k = 0; k < parts; k++) {
    const u32 first = static_cast<u32>(u64{units} * k / parts) * unit,
              end = std::min(static_cast<u32>(u64{units} * (k + 1) / parts) * unit, net.routers);
    const u32 words = (end - first + 63) / 64;
    net.ranges.push_back({first, end, word, words});
    word += (words + kLineWords - 1) / kLineWords * kLineWords;
    std::fill(net.router_partition.begin() + first, net.router_partition.begin() + end, static_cast<u16>(k));
  }
  for (const u32 router : net.terminal_router) net.ranges[net.router_partition[router]].terminals++;
}

void choose_partitions(Network& net, u32 wanted, u32 threads) {
  net.local_lines = static_cast<u32>(net.delays.size());
  net.ranges = {{0, net.routers, 0, (net.routers + 63) / 64}};
  if (whole(net)) return;
  const bool together = net.decider != Decider::kRouting || sees_far(net);
  if (together && !wanted) return;  // on one thread, such partitions cost more than they save
  const u32 unit = unit_of(net);
  if (!holds_nodes(net, unit)) return;
  u64 parts = wanted;
  if (!wanted) {
    // A power of two, because machines have such numbers of cores, which then get equal shares.
    parts = nearest_power_of_two(std::max<u64>(
        (bytes_of_router(net) * net.routers + kComfortableBytes - 1) / kComfortableBytes, net.terminals / kTerminals));
    parts = std::min(parts, std::bit_floor<u64>(net.terminals / (kLeastFlitsPerCycle * net.flit_cycles_host)));
    parts = std::max<u64>(parts, threads);
  }
  parts = std::min<u64>({parts, net.routers, kMostPartitions});
  if (parts < 2) return;
  const u32 units = (net.routers + unit - 1) / unit;
  const auto cut_units_of = [&](u32 size) {
    cut(net, static_cast<u32>(std::min<u64>(parts, (net.routers + size - 1) / size)), size);
    return shortest_between(net);
  };
  u32 shortest = cut_units_of(unit);
  // Units are divided if their own channels do not shorten the window. The groups of a Dragonfly stay whole, and the
  // planes of a HyperX are divided.
  if (parts > units && holds_nodes(net, 1)) {
    const u32 divided = cut_units_of(1);
    if (wanted || divided >= shortest) shortest = divided;
    else cut_units_of(unit);
  }
  net.lookahead = std::min(shortest, net.router.watchdog_cycles);
  if (net.workload && net.workload->scheduled())  // see scheduler.cpp
    net.lookahead =
        static_cast<u32>(std::min<u64>(net.lookahead, net.workload->scheduler.launch_ps / net.workload->cycle_ps));
  if (!wanted && net.lookahead < kShortestWindow) {
    net.ranges = {{0, net.routers, 0, (net.routers + 63) / 64}};
    net.router_partition.clear();
    net.lookahead = 1;
    return;
  }
  net.together = together;
  // Lines for events from other partitions, then as many for events to other partitions.
  std::vector<u32> far;
  const auto far_line = [&](u32 line) {
    const auto found = std::find(far.begin(), far.end(), line);
    if (found == far.end()) far.push_back(line);
    return static_cast<u32>(found - far.begin());
  };
  each_channel_between(net, [&](u32 p) { far_line(net.channels[p].line), far_line(net.channels[p].credit_line); });
  net.far_lines = static_cast<u32>(far.size());
  for (u32 way = 0; way < 2; way++)
    for (const u32 line : far) net.delays.push_back(net.delays[line]);
  const u32 outgoing = net.local_lines + net.far_lines;
  each_channel_between(net, [&](u32 p) {
    Channel& c = net.channels[p];
    c.line = static_cast<u16>(outgoing + far_line(c.line));
    c.credit_line = static_cast<u16>(outgoing + far_line(c.credit_line));
  });
}

// Upper bound of the packets that these terminals inject in a window. A NIC accepts packets for its room and for the
// flits that it sends. A source generates at most once per cycle unless it waits for its NIC, which then has no room.
static u64 packets_of_window(const Network& net, u32 terminals) {
  // A packet that keeps together makes room for all its flits when its head is sent.
  u32 flit_cycles = net.flit_cycles_host;  // of the fastest terminal link, since links may have separate bandwidths
  for (u32 t = 0; t < net.terminals && !net.own_links.empty(); t++)
    flit_cycles = std::min(flit_cycles, net.channels[net.nic(t)].flit_cycles);
  const u64 sent = net.lookahead / flit_cycles + 2, beginning = net.whole_packets ? net.most_packet_flits : 0,
            taken = (net.router.nic_depth * class_count(net) + sent + beginning) / net.least_packet_flits + 1;
  const auto in_rounds = [](const Pattern& p) { return p.round_size != nullptr; };
  // A source that waits for acknowledgements may fill its NIC in one cycle.
  if (net.workload || net.control || std::any_of(net.patterns.begin(), net.patterns.end(), in_rounds))
    return terminals * taken;
  return terminals * std::min<u64>(taken, std::max<u64>(sent + beginning, net.lookahead) + 1);
}

u64 packets_provided(const Network& net) {
  u64 sum = 0;
  if (net.partitions() > 1)
    for (const PartitionRange& range : net.ranges) sum += packets_of_window(net, range.terminals);
  return sum;
}

void provide_packets(const Network& net, State& s) {
  const u32 parts = net.partitions();
  for (u32 k = 0; k < parts; k++) {
    std::vector<u32>& free = partition(s, k).free_packets;
    const u64 need = packets_of_window(net, net.ranges[k].terminals);
    // A packet may end in another partition than that in which it began, so the free ids become uneven. First take ids
    // from partitions with more than twice their need.
    for (u32 from = 0; from < parts && free.size() < need; from++) {
      std::vector<u32>& spare = partition(s, from).free_packets;
      const u64 keep = 2 * packets_of_window(net, net.ranges[from].terminals);
      if (from == k || spare.size() <= keep) continue;
      const auto some = static_cast<std::ptrdiff_t>(std::min<u64>(spare.size() - keep, need - free.size()));
      free.insert(free.end(), spare.end() - some, spare.end());
      spare.erase(spare.end() - some, spare.end());
    }
    if (free.size() >= need) continue;
    const std::size_t had = s.packets.size(), packets = had + need - free.size();
    s.packets.resize(packets);
    s.next.resize(packets, kNone);
    if (net.learns) s.details.resize(packets);
    if (net.workload) s.payloads.resize(packets);
    if (net.workload && net.workload->shares_nics()) s.packet_ranks.resize(packets);
    for (const u32 m : net.packet_memories) s.memory[m].resize(packets * net.memories[m].blank.size());
    for (std::size_t id = had; id < packets; id++) free.push_back(static_cast<u32>(id));
  }
}

static u32 router_of(const Network& net, const FlitEvent& e) { return e.vc >> (net.radix_shift + net.vc_shift); }
static u32 router_of(const Network& net, const CreditEvent& e) { return e.vc >> (net.radix_shift + net.vc_shift); }
static u32 router_of(const Network& net, const FeedbackEvent& e) { return net.router_of_port(e.port); }

template <class T>
static void hand_over(const Network& net, State& s, DelayLines<T> Partition::* lines, Cycle from, Cycle until,
                      u32 first, u32 end) {
  const u32 local = net.local_lines, far = net.far_lines, parts = net.partitions();
  const u16* const owner = net.router_partition.data();
  if ((s.part.*lines).lines.empty()) return;
  for (u32 k = local; k < local + far; k++)
    for (Cycle t = from; t != until; t++) {
      for (u32 sender = 0; sender < parts; sender++) {
        const DelayLine<T>& out = (partition(s, sender).*lines).lines[far + k];
        const u32 slot = static_cast<u32>(out.marks.size()) - 1, stop = out.marks[t & slot];
        for (u32 n = t == from ? out.first : out.marks[(t - 1) & slot]; n != stop; n++) {
          const T& e = out.at(n);
          const u32 to = owner[router_of(net, e)];
          if (to - first < end - first) (partition(s, to).*lines).lines[k].push(e);
        }
      }
      for (u32 to = first; to < end; to++) (partition(s, to).*lines).lines[k].close(t);
    }
}

void hand_over(const Network& net, State& s, Cycle from, Cycle until, u32 first, u32 end) {
  hand_over(net, s, &Partition::flit_lines, from, until, first, end);
  hand_over(net, s, &Partition::credit_lines, from, until, first, end);
  hand_over(net, s, &Partition::feedback_lines, from, until, first, end);
  if (net.control) control::hand_over(net, s, from, until, first, end);
}

void forget_sent(const Network& net, State& s) {
  const u32 outgoing = net.local_lines + net.far_lines;
  const auto forget = [&](auto& lines) {
    for (std::size_t k = outgoing; k < lines.lines.size(); k++) {
      auto& line = lines.lines[k];
      line.first = line.end = 0;  // so that all empty outgoing lines are equal, also for hash()
      std::fill(line.marks.begin(), line.marks.end(), 0);
    }
  };
  for (u32 k = 0; k < net.partitions(); k++) {
    partition(s, k).each_lines(forget);
    if (net.control) s.acknowledgements[k].sent.clear();
  }
}

Cycle window_end(const Network& net, const State& s, Cycle now) {
  const u64 end = (u64{now} / net.lookahead + 1) * net.lookahead;
  u32 next = s.part.totals.epoch + 1;
  while (next < net.graphs.size() && net.graphs[next]->from <= now) next++;  // begin_cycle() makes these changes now
  const u64 change = next < net.graphs.size() ? u64{net.graphs[next]->from} : end;
  return static_cast<Cycle>(std::min({end, change, u64{kEndOfTime}}));
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
