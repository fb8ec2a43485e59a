// The part of a state that every network has: packets, queues, channels, and the bits of requests.
#include <algorithm>
#include <cmath>

#include "simcore/error.hpp"
#include "simcore/workload.hpp"
#include "stage/credit_queue.hpp"
#include "stage/generation.hpp"
#include "verify/verify.hpp"

namespace flitgym {

void refuse_state(const std::string& what) {
  throw ConfigError("restore(): the snapshot is inconsistent: " + what + "; the simulation is unchanged");
}

namespace {

// The flits of a packet that arrive at a queue in sequence.
struct Stream {
  u32 packet = kNone;  // packet that has arrived in part; kNone: none
  u32 received = 0;    // flits of it that have arrived
  bool seen = false;   // the channel holds something
  bool ahead = false;  // its head was delivered before (at a terminal), so `received` is unknown
};

class NetworkCheck {
 public:
  NetworkCheck(const Network& net, const State& s, const std::vector<u32>* asking)
      : net_(net), s_(s), asking_(asking), router_vcs_(net.vc_id(net.router_ports, 0)),
        all_vcs_(net.vc_id(net.port_count, 0)) {}

  std::vector<u8> run() {
    scalars();
    packets();
    pending();
    input_queues();
    output_queues();
    channels();
    links();
    waiting_lists();
    requests();
    islip();
    ports();
    terminals();
    tails();
    return std::move(live_);
  }

 private:
  bool queued_at_output(u32 port) const { return net_.is_nic(port) || net_.router.output_depth > 0; }
  bool has_vc(u32 v) const { return net_.vc_of(v) < net_.vcs && net_.channels[net_.port_of_vc(v)].peer != kNone; }
  bool parked(u32 v) const { return s_.park_next[v] != kNotParked; }
  u32 router_of_vc(u32 v) const { return v >> (net_.radix_shift + net_.vc_shift); }
  u32 jobs() const { return net_.workload ? net_.workload->job_count() : 1; }
  u32 output_of(u32 input_vc) const {
    const InputVc& in = s_.input_vcs[input_vc];
    return net_.vc_id(net_.port(router_of_vc(input_vc), in.out_port), in.out_vc);
  }

  // Partitions follow ids without checks, so each id must belong to a router of the partition.
  bool own(u32 k, u32 router) const { return router < net_.routers && net_.partition_of(router) == k; }
  template <class Visit>
  void each_part(Visit visit) const {
    for (u32 k = 0; k < net_.partitions(); k++) visit(k, partition(s_, k));
  }

  void scalars() const {
    const Totals& t = s_.part.totals;
    each_part([&](u32, const Partition& part) {
      const Totals& o = part.totals;
      hold(o.now == t.now && o.collected == t.collected && o.epoch == t.epoch &&
               o.sources_stopped == t.sources_stopped && o.frozen == t.frozen &&
               part.window.open == s_.part.window.open && part.window.begin == s_.part.window.begin &&
               part.window.end == s_.part.window.end,
           "the time and the flags of its partitions");
      hold(std::isfinite(part.window.missed) && part.window.missed >= 0, "its measuring window");
    });
    hold(t.now <= kEndOfTime && t.collected == 0, "its time");
    const u32 done = asking_ ? t.now : t.now > 0 ? t.now - 1 : 0;  // last cycle that has begun
    hold(t.epoch < net_.graphs.size() && net_.graphs[t.epoch]->from <= done &&
             (t.epoch + 1 == net_.graphs.size() || net_.graphs[t.epoch + 1]->from > done),
         "which of its links are up");
    hold(t.sources_stopped <= 1 && t.frozen <= 1, "its flags");
    hold(s_.part.window.open <= 1 && s_.part.window.begin <= t.now && s_.part.window.end <= t.now,
         "its measuring window");
    // A time series starts in cycle 0. It may not have more intervals than the state's time allows, nor so many that it
    // fills the memory.
    const u64 interval = s_.series_interval[0], intervals = interval ? t.now / interval + 1 : 0, most = u64{1} << 24;
    u64 longest = 0;
    each_part([&](u32, const Partition& part) {
      hold(part.series.size() <= intervals, "its time series");
      longest = std::max<u64>(longest, part.series.size());
    });
    hold(intervals <= longest + most, "its time series");
    longest = s_.hosts.empty() ? intervals * jobs() : 0;
    for (const Hosts& hosts : s_.hosts) {
      hold(hosts.job_series.size() <= intervals * jobs() && hosts.job_series.size() % std::max<u64>(jobs(), 1) == 0,
           "its time series of the jobs");
      longest = std::max<u64>(longest, hosts.job_series.size());
    }
    hold(intervals * jobs() <= longest + most, "its time series of the jobs");
  }

  void packets() {
    const std::size_t n = s_.packets.size();
    hold(n < (u64{1} << (32 - kFlitShift)) - 1 && s_.next.size() == n && s_.details.size() == (net_.learns ? n : 0),
         "the pool of packets");
    std::vector<u32> free;
    each_part([&](u32, const Partition& part) {
      free.insert(free.end(), part.free_packets.begin(), part.free_packets.end());
    });
    live_ = marked_free(free, n, "the list of free packets");
    for (u8& mark : live_) mark = !mark;
    hold(totals(s_).packets_in_network == n - free.size(), "the number of packets in the network");
    present_.assign(n, 0);
    tails_.assign(n, 0);
    for (std::size_t id = 0; id < n; id++) {
      if (!live_[id]) continue;
      const Packet& p = s_.packets[id];
      hold(p.source < net_.terminals && p.destination < net_.terminals, "a packet's ends");
      hold(p.generated <= s_.part.totals.now && p.injected <= s_.part.totals.now, "a packet's age");
      hold(p.flits >= net_.least_packet_flits && p.flits <= net_.most_packet_flits, "a packet's flits");
      hold(!net_.whole_packets || p.tail <= u64{s_.part.totals.now} + kLongestDelay, "a packet's tail");
      hold(p.phase <= kFromIntermediate && p.nonminimal <= 1 && p.job < jobs(), "a packet's header");
      if (!net_.learns) continue;
      const PacketDetail& d = s_.details[id];
      hold(!(d.value >= 0) || (std::isfinite(d.value) && (net_.feedback.rows == 0 || d.row < net_.feedback.rows)),
           "a packet's estimate");
    }
  }

  // Heads that will ask for a route.
  void pending() {
    pending_.assign(router_vcs_, 0);
    const auto add = [&](u32 v) {
      hold(v < router_vcs_ && !pending_[v], "the list of heads that ask for a route");
      pending_[v] = 1;
    };
    each_part([&](u32 k, const Partition& part) {
      const auto add_own = [&](u32 v) {
        hold(own(k, router_of_vc(v)), "the list of heads that ask for a route");
        add(v);
      };
      for (const u32 v : part.route_list) add_own(v);
      each_item(part.routes_due, add_own);
    });
    if (asking_)
      for (const u32 v : *asking_) add(v);
  }

  // Counts the flits of a queue, and returns the packet at its back if it has arrived only in part.
  template <class Vc>
  Stream queue(const Vc& vc) {
    const char* const broken = "the packets of a queue do not match its flits";
    if (vc.front == kNone) {
      hold(vc.count == 0 && vc.sent == 0, broken);
      return {};
    }
    hold(!net_.whole_packets || vc.sent == 0, broken);
    u32 rest = vc.count, sent = vc.sent;
    for (Flit at = vc.front;; sent = 0) {
      const u32 id = packet_of(at);
      hold((at & (kHead | kTail)) == 0 && id < live_.size() && live_[id],
           "a queue holds a packet that is not in the network");
      const u32 flits = s_.packets[id].flits;
      hold(sent < flits, broken);
      if (at == vc.back) {
        const u32 received = sent + rest;
        hold(received > 0 && received <= flits && (!net_.whole_packets || received == flits), broken);
        present_[id] += rest;
        tails_[id] += received == flits;
        return received < flits ? Stream{id, received, false, false} : Stream{};
      }
      hold(rest >= flits - sent, broken);
      rest -= flits - sent;
      present_[id] += flits - sent;
      tails_[id]++;
      at = s_.next[id];
    }
  }

  void input_queues() {
    streams_.assign(all_vcs_, {});
    holder_.assign(all_vcs_, kNone);
    for (u32 v = 0; v < router_vcs_; v++) {
      const InputVc& in = s_.input_vcs[v];
      if (!has_vc(v)) {
        hold(in.front == kNone && in.count == 0 && in.sent == 0 && !in.routed() && !parked(v) && !pending_[v],
             "a channel that does not exist holds flits");
        continue;
      }
      streams_[v] = queue(in);
      hold(pending_[v] == (in.front != kNone && !in.routed()), "a head asks for its route twice or never");
      if (in.front == kNone) {
        hold(!in.routed() && !parked(v), "an empty input VC has a route");
      } else if (!in.routed()) {
        hold(in.sent == 0 && in.count > 0 && !parked(v), "flits have left without a route");
      } else {
        hold(in.out_port < net_.radix && in.out_vc < net_.vcs && has_vc(output_of(v)), "a route leads nowhere");
        if (in.sent == 0) continue;
        u32& holder = holder_[output_of(v)];
        hold(holder == kNone, "two packets go through one output VC at once");
        holder = v;
      }
    }
  }

  void output_queues() {
    for (u32 u = 0; u < all_vcs_; u++) {
      const OutputVc& out = s_.output_vcs[u];
      const u32 port = net_.port_of_vc(u);
      if (!has_vc(u) || !queued_at_output(port)) {
        hold(out.front == kNone && out.count == 0 && out.sent == 0, "an output without a queue holds flits");
      } else {
        const Stream coming = queue(out);
        const u32 from = net_.is_nic(port) ? kNone : holder_[u];
        hold((coming.packet != kNone) == (from != kNone), "a packet is cut between an input and an output");
        if (from != kNone)
          hold(packet_of(s_.input_vcs[from].front) == coming.packet && s_.input_vcs[from].sent == coming.received,
               "a packet is cut between an input and an output");
        hold(net_.is_nic(port) || out.count <= net_.router.output_depth, "an output queue is fuller than it can be");
        hold(net_.is_nic(port) || !net_.router.charged_at_switch || out.count <= out.credits,
             "an output queue holds flits without a slot downstream");
      }
      if (!has_vc(u)) continue;
      hold(!net_.accepts_all(port) || out.credits == 65535, "the credits of a terminal");
      const u32 owner = net_.is_nic(port) ? kNone : s_.owners[u];
      hold(holder_[u] == kNone || owner == holder_[u],
           "an output VC does not belong to the packet that goes through it");
      if (owner == kNone) continue;
      hold(owner < router_vcs_ && router_of_vc(owner) == net_.router_of_port(port),
           "an output VC belongs to another router's packet");
      hold(s_.input_vcs[owner].routed() && output_of(owner) == u,
           "an output VC belongs to a packet that goes elsewhere");
    }
  }

  void channels() {
    each_part([&](u32 k, const Partition& part) { channels(k, part); });
    // In the middle of a cycle, flits that leave their partition are the last ones of their channels.
    if (!asking_) return;
    each_part([&](u32 k, const Partition& part) {
      each_event(part.flit_lines, net_.delays, s_.part.totals.now, asking_, [&](u32 line, const FlitEvent& e) {
        if (leaves(line)) flit(k, line, e);
      });
    });
  }
  bool leaves(u32 line) const { return line >= net_.local_lines + net_.far_lines; }
  u32 node_of(u32 port) const {
    return net_.is_nic(port) ? net_.terminal_router[port - net_.router_ports] : net_.router_of_port(port);
  }
  // The line on which flits of a channel arrive. With several partitions, flits are sent on one line and received on
  // another.
  u32 line_in(u32 line) const { return line < net_.local_lines ? line : line - net_.far_lines; }

  void flit(u32 k, u32 line, const FlitEvent& e) {
    hold(e.vc < all_vcs_ && has_vc(e.vc), "a flit is on a channel that does not exist");
    const u32 port = net_.port_of_vc(e.vc), sender = net_.channels[port].peer, sent_on = net_.channels[sender].line;
    hold(asking_ && leaves(line) ? sent_on == line && own(k, node_of(sender))
                                 : line_in(sent_on) == line && own(k, node_of(port)),
         "a flit is on another channel's delay line");
    const u32 id = packet_of(e.flit);
    hold(id < live_.size() && live_[id], "a channel holds a packet that is not in the network");
    const bool head = e.flit & kHead, tail = e.flit & kTail, to_terminal = e.vc >= router_vcs_;
    if (net_.whole_packets) {
      hold(head && tail && !to_terminal, "a packet that stays together is cut");
      return come(id);
    }
    const char* const disorder = "the flits on a channel are out of order";
    Stream& stream = streams_[e.vc];
    if (head) {
      hold(stream.packet == kNone, disorder);
      stream = {id, 1, true, false};
    } else if (stream.packet == kNone) {
      hold(to_terminal && !stream.seen, disorder);
      stream = {id, 1, true, true};
    } else {
      hold(stream.packet == id, disorder);
      stream.received++;
      stream.seen = true;
    }
    present_[id]++;
    tails_[id] += tail;
    hold(stream.ahead || tail == (stream.received == s_.packets[id].flits), disorder);
    if (tail) stream.packet = kNone;
  }

  void channels(u32 k, const Partition& part) {
    const Cycle now = s_.part.totals.now;
    each_event(part.flit_lines, net_.delays, now, asking_, [&](u32 line, const FlitEvent& e) {
      if (!asking_ || !leaves(line)) flit(k, line, e);
    });
    each_item(part.tails_due, [&](const FlitEvent& e) {
      const u32 id = packet_of(e.flit);
      hold(net_.whole_packets && e.vc >= router_vcs_ && e.vc < all_vcs_ && has_vc(e.vc) && id < live_.size() &&
               live_[id] && (e.flit & kHead) && (e.flit & kTail) && own(k, node_of(net_.port_of_vc(e.vc))),
           "a packet arrives at a terminal that does not exist");
      come(id);
    });
    each_event(part.credit_lines, net_.delays, now, asking_ && !(now & net_.router.edge_mask),
               [&](u32 line, const CreditEvent& e) {
                 hold(e.vc < all_vcs_ && has_vc(e.vc), "a credit goes to a channel that does not exist");
                 const u32 port = net_.port_of_vc(e.vc);
                 hold(!net_.accepts_all(port), "a terminal sends a credit");
                 hold(line_in(net_.channels[net_.channels[port].peer].credit_line) == line && own(k, node_of(port)),
                      "a credit is on another channel's delay line");
                 hold(e.job < jobs() && e.flits > 0, "a credit");
               });
    const auto feedback = [&](const FeedbackEvent& e) {
      hold(e.port < net_.router_ports && own(k, net_.router_of_port(e.port)) && net_.channels[e.port].peer != kNone &&
               net_.channels[e.port].kind != PortKind::kTerminal &&
               (net_.feedback.rows == 0 || e.row < net_.feedback.rows) && std::isfinite(e.target),
           "learning feedback");
    };
    each_event(part.feedback_lines, net_.learns ? net_.delays : std::vector<u32>{}, now, asking_,
               [&](u32, const FeedbackEvent& e) { feedback(e); });
    for (const FeedbackEvent& e : part.heard) feedback(e);
  }

  // A packet that stays together is at the place of its head.
  void come(u32 id) {
    present_[id] += s_.packets[id].flits;
    tails_[id]++;
  }

  // Flits that have left one end of a channel are at the other end, or on the channel.
  void links() const {
    const char* const broken = "a packet is cut between two routers";
    for (u32 u = 0; u < all_vcs_; u++) {
      if (!has_vc(u)) continue;
      const u32 port = net_.port_of_vc(u), peer = net_.channels[port].peer;
      u32 packet = kNone, sent = 0;  // packet that has left in part
      if (queued_at_output(port)) {
        if (s_.output_vcs[u].sent > 0) packet = packet_of(s_.output_vcs[u].front), sent = s_.output_vcs[u].sent;
      } else if (holder_[u] != kNone) {
        packet = packet_of(s_.input_vcs[holder_[u]].front);
        sent = s_.input_vcs[holder_[u]].sent;
      }
      const Stream& stream = streams_[net_.vc_id(peer, net_.vc_of(u))];
      if (!net_.is_nic(peer) || stream.packet != kNone)
        hold(stream.packet == packet && (packet == kNone || stream.ahead || stream.received == sent), broken);
      else hold(!stream.seen || packet == kNone, broken);
    }
  }

  // Input VCs that wait for room are in the list of their output VC, exactly once.
  void waiting_lists() const {
    const char* const broken = "a list of input VCs that wait for an output VC is broken";
    std::vector<u8> listed(router_vcs_, 0);
    for (u32 u = 0; u < all_vcs_; u++)
      for (u32 k = s_.output_vcs[u].parked; k != kNoVc;) {
        hold(u < router_vcs_ && k <= net_.vc_mask(), broken);
        const u32 v = (u & ~net_.vc_mask()) | k;
        const InputVc& in = s_.input_vcs[v];
        hold(!listed[v] && parked(v) && in.routed() && in.count > 0 && output_of(v) == u, broken);
        listed[v] = 1;
        k = s_.park_next[v];
      }
    for (u32 v = 0; v < router_vcs_; v++) hold(listed[v] == parked(v), broken);
  }

  void requests() const {
    Array<u64> asked(s_.requests.size(), 0);
    std::vector<u64> outputs(s_.outputs_asked.size(), 0);
    const u32 shift = net_.radix_shift + net_.vc_shift;
    const u32* const resting = net_.resting.kept() ? net_.resting.of(s_) : nullptr;
    hold(!resting || s_.memory[net_.resting.memory].size() == net_.routers * sizeof(u32),
         "the memory 'resting' has a wrong size");
    for (u32 v = 0; v < router_vcs_; v++) {
      const InputVc& in = s_.input_vcs[v];
      const bool goes_on = net_.router.crossbar_per_vc && in.sent > 0;
      if (!in.routed() || parked(v) || (in.count == 0 && !goes_on)) continue;
      const u32 router = v >> shift, bit = v & ((1u << shift) - 1);
      const u32 asks = net_.request_port(in.out_port);
      asked[std::size_t{net_.port(router, asks)} * net_.request_words + bit / 64] |= u64{1} << (bit % 64);
      outputs[router * net_.asked_words + asks / 64] |= u64{1} << (asks % 64);
      const Cycle input_until = s_.ports[net_.port_of_vc(v)].input_busy_until,
                  output_until = s_.ports[net_.port(router, in.out_port)].output_busy_until;
      hold(!resting || resting[router] <= std::max({s_.part.totals.now, input_until, output_until}),
           "the routers whose crossbar ports are busy");
    }
    hold(asked == s_.requests && outputs == s_.outputs_asked, "the requests for outputs");
    for (std::size_t part = 0; part < net_.ranges.size(); part++) {
      const PartitionRange& range = net_.ranges[part];
      const std::size_t end =
          part + 1 < net_.ranges.size() ? net_.ranges[part + 1].first_word : s_.active_routers.size();
      for (u32 n = 0; n < (end - range.first_word) * 64; n++) {
        const u32 r = range.first_router + n;
        const bool active = s_.active_routers[range.first_word + n / 64] >> (n % 64) & 1;
        bool asks = false;
        for (u32 k = 0; r < range.end_router && k < net_.asked_words; k++)
          asks |= outputs[r * net_.asked_words + k] != 0;
        hold(r < range.end_router ? active || !asks : !active, "the list of routers with requests");
      }
    }
  }

  // Pointers stay in the router, and a credit waits only at an active router, for an existing VC and job.
  void islip() const {
    if (!net_.islip.kept()) return;
    const u32 slots = waiting_credits(net_), ports = 1u << net_.radix_shift, bits = ports << net_.vc_shift;
    hold(s_.memory[net_.islip.memory].size() ==
             std::size_t{net_.router_ports} * IslipPort::columns(net_.vcs, slots) * sizeof(u16),
         "the memory 'islip' has a wrong size");
    for (u32 p = 0; p < net_.router_ports; p++) {
      const IslipPort port = islip_port(net_, s_, p);
      const u32 most = net_.channels[p].peer == kNone ? 0 : slots;
      bool fits = port.output() < ports && port.input() < ports && port.input_vc() < net_.vcs &&
                  port.first_credit() < std::max(1u, slots) && port.credits() <= most;
      for (u32 vc = 0; vc < net_.vcs; vc++) fits = fits && port.output_vc(vc) < bits && port.accepts(vc) < bits;
      for (u32 k = 0; fits && k < port.credits(); k++)
        fits = port.credit(k) % kMaxVcs < net_.vcs && port.credit(k) >> IslipPort::kVcBits < jobs();
      hold(fits && (port.credits() == 0 || is_active(net_.router_of_port(p))), "the memory 'islip'");
    }
  }

  bool is_active(u32 router) const {
    const PartitionRange& range = net_.ranges[net_.partition_of(router)];
    const u32 n = router - range.first_router;
    return s_.active_routers[range.first_word + n / 64] >> (n % 64) & 1;
  }

  void ports() {
    std::vector<u8> scheduled(net_.port_count, 0);
    each_part([&](u32 k, const Partition& part) {
      each_item(part.ports_due, [&](u32 port) {
        hold(port < net_.port_count && !scheduled[port] && own(k, node_of(port)), "the ports that will send");
        scheduled[port] = 1;
      });
    });
    const u64 latest = u64{s_.part.totals.now} + kLongestDelay;
    for (u32 p = 0; p < net_.port_count; p++) {
      const Port& o = s_.ports[p];
      u32 waiting = 0, queued = 0;
      for (u32 vc = 0; vc < net_.vcs; vc++) {
        const u32 count = s_.output_vcs[net_.vc_id(p, vc)].count;
        waiting |= u32{count > 0} << vc;
        queued += count;
      }
      hold(o.waiting_vcs == (queued_at_output(p) ? waiting : 0) && o.queued == queued, "the flits that wait at a port");
      hold(!net_.is_nic(p) || queued <= net_.router.nic_depth, "a NIC is fuller than it can be");
      hold(o.awake == scheduled[p] && (!scheduled[p] || queued_at_output(p)), "the ports that will send");
      hold(o.stalled <= 1 && o.next_vc < net_.vcs && o.next_request < 64 * net_.request_words,
           "the round-robin positions of a port");
      hold(o.busy_until <= latest && o.input_busy_until <= latest && o.output_busy_until <= latest,
           "the times of a port");
    }
    check_conservation(net_, s_);
  }

  void terminals() const {
    std::vector<u8> due(net_.terminals, 0);
    each_part([&](u32 k, const Partition& part) {
      each_item(part.sources_due, [&](u32 terminal) {
        hold(terminal < net_.terminals && !due[terminal] && !net_.workload && own(k, net_.terminal_router[terminal]),
             "the clocks of the sources");
        due[terminal] = 1;
      });
    });
    u32 backlogged = 0;
    for (u32 t = 0; t < net_.terminals; t++) {
      const Terminal& x = s_.terminals[t];
      hold(x.step < net_.load_steps, "the load of a source");
      backlogged += x.left > 0;
      hold(!net_.on_off || x.next_tick == kNever || x.tick >= cycle_of(x.next_tick), "the burst of a source");
      if (net_.workload) continue;
      if (x.left > 0) {
        const u32 all = x.round == 0 ? 0 : net_.round_size(net_.seed, t, x.round - 1, x.step);
        hold(x.left <= all && x.index == all - x.left && !due[t] && !s_.part.totals.sources_stopped,
             "the round of a source");
      } else {
        hold(s_.part.totals.sources_stopped || x.next_tick >> 32 >= s_.part.totals.now, "the clock of a source");
      }
    }
    hold(backlogged == totals(s_).backlogged, "the number of sources that wait for their NIC");
  }

  // The last flit of a packet in the network is at exactly one place.
  void tails() const {
    for (std::size_t id = 0; id < live_.size(); id++)
      hold(!live_[id] || (tails_[id] == 1 && present_[id] <= s_.packets[id].flits),
           "a packet is at no place, or at two");
  }

  const Network& net_;
  const State& s_;
  const std::vector<u32>* const asking_;
  const u32 router_vcs_, all_vcs_;
  std::vector<u8> live_, pending_;
  std::vector<u32> present_, tails_;  // by packet: flits found, and last flits found
  std::vector<Stream> streams_;       // by VC, at the end of its channel
  std::vector<u32> holder_;           // by output VC: input VC whose packet is in transfer
};

}  // namespace

std::vector<u8> verify_network(const Network& net, const State& s, const std::vector<u32>* asking) {
  return NetworkCheck(net, s, asking).run();
}

void verify_state(const Network& net, const State& s, const std::vector<u32>* asking) {
  std::vector<u8> live;
  try {
    live = verify_network(net, s, asking);
  } catch (const CoreError& error) {  // from check_conservation()
    refuse_state(error.what());
  }
  verify_memory(net, s, live);
  verify_workload(net, s, live);
  verify_learning(net, s, live);
}

}  // namespace flitgym
