// The cycle. Each partition receives what the channels deliver, runs its hosts, and sends. Then the heads that have
// come to the front of their VC request a route, and the routing or an agent decides. Last, the packets win the switch:
//
//   receive    arrivals, credits, feedback of learned tables
//   hosts      the operations of jobs
//   send       acknowledgements of a congestion control, injection by NICs, traversal from output queues to channels
//   requests   the batch of decisions
//   finish     routes, switch allocation, the next cycle
#include "core/demand.hpp"
#include "core/failures.hpp"
#include "core/hosts/engine.hpp"
#include "core/partition.hpp"
#include "core/stage/acknowledgement.hpp"
#include "core/stage/stage.hpp"
#include "simcore/learning.hpp"
#include "simcore/route_computation.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

// Workspace::routes receives every head that requests a route.
static void receive(Frame& f) {
  std::vector<u32>& asking = f.part.route_list;  // heads that came to the front of their VC in the previous cycle
  if (f.w.routes.empty()) f.w.routes.swap(asking);
  else f.w.routes.insert(f.w.routes.end(), asking.begin(), asking.end());
  asking.clear();
  arrivals(f);
  if (!(f.now & f.net.router.edge_mask)) credits(f);
  f.part.feedback_received.clear();
  if (f.net.learns) feedback(f);
}

static void send(Frame& f) {
  if (f.net.control) control::returned(f);
  injection(f);
  traversal(f);
  f.part.routes_due.take(f.now, f.w.routes);
}

// The stages before the decisions.
static void first_half(Frame& f) {
  if (!f.w.at_hosts) receive(f);
  f.w.at_hosts = true;  // if the hosts are interrupted, the next call continues the cycle here
  if (f.net.workload) workload::host_events(f, u64{f.now} * f.net.workload->cycle_ps);
  f.w.at_hosts = false;
  send(f);
}

// Checks the decisions of the batch of this frame, and marks those that are not minimal, or meet a long queue.
static void check(const Frame& f) {
  keep_to_lasting_links(f.net, f.s, f.w.batch);
  if (f.w.verify_choices) [[unlikely]]
    verify_routes(f);
  mark_nonminimal(f.net, f.s, f.w.batch);
  if (f.net.control) control::mark(f.net, f.s, f.w.batch);
}

// The stages after the decisions. The requests of this partition are begin .. end-1 of the batch.
static void finish(Frame& f, const Batch& b, u32 begin, u32 end) {
  apply_routes(f, b, begin, end);
  switch_allocation(f);
  f.part.each_lines([&](auto& lines) { lines.close(f.now); });
  f.part.totals.now++;
}

static void share(const Network& net, Workspace& w, const Threads* threads, const Threads::Work& work) {
  if (threads) threads->share(work);
  else work(w, 0, net.partitions());
}

// The part of a cycle before the decisions, for all partitions. The requests are in `routes` of the workspaces.
static void request(const Network& net, State& s, Workspace& w, const Threads* threads) {
  begin_cycle(net, s, w);
  share(net, w, threads, [&](Workspace& own, u32 first, u32 end) {
    for (u32 k = first; k < end; k++) {
      Frame f{net, s, own, s.part.totals.now, k};
      first_half(f);
    }
  });
  workload::settle_outstanding(s);
  workload::schedule(net, s);
  learning::settle_deliveries(s);
}

// Finishes the cycle of the partitions first .. end-1. `b` is in the order of the partitions.
static void finish_partitions(const Network& net, State& s, Workspace& own, const Batch& b, Cycle now, u32 first,
                              u32 end) {
  const auto asked = b.router.begin();
  u32 next = static_cast<u32>(
      std::partition_point(asked, asked + b.count, [&](u32 r) { return net.partition_of(r) < first; }) - asked);
  for (u32 k = first; k < end; k++) {
    const u32 begin = next;
    while (next < b.count && net.partition_of(b.router[next]) == k) next++;
    Frame f{net, s, own, now, k};
    finish(f, b, begin, next);
  }
}

static void exchange(const Network& net, State& s, Workspace& w, const Threads* threads, Cycle now) {
  share(net, w, threads, [&](Workspace&, u32 first, u32 end) { hand_over(net, s, now, now + 1, first, end); });
  forget_sent(net, s);
}

void begin_cycle(const Network& net, State& s, Workspace& w) {
  const Cycle now = s.part.totals.now;
  if (const u32 next = s.part.totals.epoch + 1; next < net.graphs.size() && passed(net.graphs[next]->from, now))
      [[unlikely]]
    for (u32 k = 0; k < net.partitions(); k++) {
      Frame f{net, s, w, now, k};
      change_graph(f);
    }
  if (net.partitions() > 1 && now % net.lookahead == 0) provide_packets(net, s);
}

void advance(const Network& net, State& s, Workspace& w, u32 k, Cycle until) {
  for (Cycle now = partition(s, k).totals.now; now != until; now++) {
    Frame f{net, s, w, now, k};
    w.routes.clear();
    first_half(f);
    route_requests(f);
    if (w.batch.count) net.route(net, s, w.batch);
    check(f);
    finish(f, w.batch, 0, w.batch.count);
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
    if (!w.at_hosts) begin_cycle(net, s, w);
    Frame f{net, s, w, s.part.totals.now};
    first_half(f);
    workload::schedule(net, s);
  }
  if (net.seam && net.seam->capacity) file_transitions(net, s, w.ids);
  resume(net, s, w);
}

void resume(const Network& net, State& s, Workspace& w) {
  Frame f{net, s, w, s.part.totals.now};
  route_requests(f);
  ask_outside(net, s, w.batch);
  s.part.totals.collected = 1;
}

void apply(const Network& net, State& s, Workspace& w, const Threads* threads) {
  const Cycle now = s.part.totals.now;
  const Batch& b = w.batch;
  check(Frame{net, s, w, now});
  if (net.partitions() == 1) {
    Frame f{net, s, w, now};
    finish(f, b, 0, b.count);
  } else {
    share(net, w, threads,
          [&](Workspace& own, u32 first, u32 end) { finish_partitions(net, s, own, b, now, first, end); });
    exchange(net, s, w, threads, now);
  }
  w.routes.clear();
  s.part.totals.collected = 0;
}

// Every thread decides for its partitions. No thread changes queues or credits meanwhile, so a routing may read all.
static void step_on(const Network& net, State& s, Workspace& w, const Threads& threads) {
  const Cycle now = s.part.totals.now;
  request(net, s, w, &threads);
  threads.share([&](Workspace& own, u32, u32) {
    Frame f{net, s, own, now};
    route_requests(f);
    decide(net, s, own.batch);
    check(f);
  });
  threads.share([&](Workspace& own, u32 first, u32 end) {
    finish_partitions(net, s, own, own.batch, now, first, end);
    own.routes.clear();
  });
  exchange(net, s, w, &threads, now);
}

void step(const Network& net, State& s, Workspace& w, const Threads* threads) {
  if (threads && net.decider == Decider::kRouting) return step_on(net, s, w, *threads);
  if (!w.at_routing) collect(net, s, w, threads);
  w.at_routing = true;
  decide(net, s, w.batch);
  w.at_routing = false;
  apply(net, s, w, threads);
}

}  // namespace flitgym
