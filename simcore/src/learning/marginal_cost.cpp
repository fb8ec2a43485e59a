#include "learning/marginal_cost.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "decision.hpp"
#include "learning/future.hpp"
#include "routing/q_table.hpp"
#include "routing/relation.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "stage/stage.hpp"
#include "team.hpp"

namespace flitgym {

// A cycle in which decisions were sampled, cut where they are made: the state, and the requests with what was decided.
struct MarginalCost::Moment {
  State state;
  Batch batch;
  u64 delivered;  // before
};

struct MarginalCost::Worker {
  State state;
  Workspace workspace;
};

struct MarginalCost::Way {
  u16 port, vc_class;
  bool operator==(const Way&) const = default;
};

// A request with a choice.
struct MarginalCost::Found {
  u32 request, candidates;
  std::vector<Way> ways;
};

namespace {

constexpr u32 kMostWays = 1 << 20;  // kept of one stretch of the run: some 100 MB; rarer samples are tried earlier
constexpr u32 kMostForks = 1 << 16, kMostCycles = 1 << 24, kMostTried = 64;
constexpr u64 kSampleSeed = 0x6d617267696e616cull;  // apart from the streams of a simulation of the same seed

// Whose candidates() lists what a routing has to choose from, null: its own. One that lists none may have a relation of
// its name.
std::unique_ptr<const Network> listing_network(const Network& net) {
  if (net.candidates) return nullptr;
  const RelationSpec* found = nullptr;
  for (const auto& [name, spec] : registry<RelationSpec>())
    if (name == net.routing_name && runs_on(spec, net) && (!found || !spec.topologies.empty())) found = &spec;
  if (!found)
    throw ConfigError("marginal cost: routing." + net.routing_name +
                      " lists no candidates to choose among; take one that does (q_adaptive, dim_war, policy, ...)");
  auto own = std::make_unique<Network>(net);
  Values values;
  for (const ParamSpec& p : found->params)
    if (const auto* rule = dynamic_cast<const QRule*>(net.routing.get()); rule && p.key == "max_hops")
      values[p.key] = i64{rule->max_hops};
  found->setup(Params("marginal cost: relation=" + found->name, found->params, values), *own, own->relation);
  own->candidates = found->candidates;
  return own;
}

void copy_requests(const Batch& from, Batch& to) {
  to.count = from.count;
  to.now = from.now;
  const auto copy = [&](const auto& a, auto& b) {
    if (b.size() < from.count) b.resize(from.count);
    std::copy_n(a.begin(), from.count, b.begin());
  };
  copy(from.input_vc, to.input_vc);
  copy(from.packet, to.packet);
  copy(from.router, to.router);
  copy(from.in_port, to.in_port);
  copy(from.in_vc, to.in_vc);
}

// One request alone.
void copy_request(const Batch& from, u32 i, Batch& to) {
  const u32 at = to.count++;
  const auto copy = [&](const auto& a, auto& b) {
    if (b.size() <= at) b.resize(at + 1);
    b[at] = a[i];
  };
  copy(from.input_vc, to.input_vc);
  copy(from.packet, to.packet);
  copy(from.router, to.router);
  copy(from.in_port, to.in_port);
  copy(from.in_vc, to.in_vc);
  copy(from.out_port, to.out_port);
  copy(from.out_class, to.out_class);
}

// A packet, and what is kept of it.
struct Saved {
  Packet packet;
  PacketDetail detail;
  std::vector<u8> memories;
};
Saved save(const Network& net, const State& s, u32 id) {
  Saved saved{s.packets[id], {}, {}};
  if (id < s.details.size()) saved.detail = s.details[id];
  for (const u32 k : net.packet_memories) {
    const std::size_t size = net.memories[k].entry_bytes();
    saved.memories.insert(saved.memories.end(), s.memory[k].data() + id * size, s.memory[k].data() + (id + 1) * size);
  }
  return saved;
}
void put_back(const Network& net, State& s, u32 id, const Saved& saved) {
  s.packets[id] = saved.packet;
  if (id < s.details.size()) s.details[id] = saved.detail;
  const u8* from = saved.memories.data();
  for (const u32 k : net.packet_memories) {
    const std::size_t size = net.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + id * size, from, size);
    from += size;
  }
}

u64 packets_delivered(const State& s) {
  u64 accepted = 0;
  for (const Terminal& x : s.terminals) accepted += x.sequence;
  return accepted - totals(s).packets_in_network;
}

// What stands and is under way at each port: told apart at once, most states are.
u64 loads_hash(const Network& net, const State& s) {
  u64 sum = 0;
  for (u32 p = 0; p < net.port_count; p++) {
    const Port& o = s.ports[p];
    if (o.load | o.queued) sum += mix64(u64{p} << 32 | u64{o.queued} << 16 | o.load);
  }
  return sum;
}

// Puts a candidate in the place of what was decided for request i, of whose packet the state before is at hand.
void force(const Network& net, State& s, Batch& b, u32 i, const State& before, u16 port, u16 vc_class) {
  const u32 id = b.packet[i];
  s.packets[id] = before.packets[id];
  for (const u32 k : net.packet_memories) {
    const std::size_t size = net.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + id * size, before.memory[k].data() + id * size, size);
  }
  b.out_port[i] = port;
  b.out_class[i] = vc_class;
  if (net.chosen) net.chosen(net, s, b, i);
}

}  // namespace

// Slots of a request with these ways: the first, which is minimal, then the others in their order; of too many, some at
// random. Returns the slot of the one that was taken.
u32 MarginalCost::slots_of(std::vector<Way>& ways, Way took, u32 slots, u64 bits) {
  auto taken = std::find(ways.begin(), ways.end(), took);
  const auto same_port = [&](const Way& w) { return w.port == took.port; };
  if (taken == ways.end()) taken = std::find_if(ways.begin(), ways.end(), same_port);
  if (taken == ways.end()) taken = ways.insert(ways.end(), took);
  auto k = static_cast<u32>(taken - ways.begin());
  if (ways.size() <= slots) return k;
  if (k > 1) std::swap(ways[1], ways[k]);
  k = std::min(k, 1u);
  const auto n = static_cast<u32>(ways.size());
  for (u32 at = k + 1; at < slots; at++) std::swap(ways[at], ways[at + below(mix64(bits + at), n - at)]);
  ways.resize(slots);
  return k;
}

MarginalCost::MarginalCost(const Simulation& simulation, const MarginalCostRule& rule) : rule_(rule) {
  const Network& net = simulation.network();
  const auto within = [](const char* key, u32 value, u32 least, u32 most) {
    if (value < least || value > most)
      throw ConfigError(std::string(key) + ": " + std::to_string(value) + " is not in [" + std::to_string(least) +
                        ", " + std::to_string(most) + "]");
  };
  within("horizon_cycles", rule.horizon, 1, kMostCycles);
  within("slots", rule.slots, 2, kMostTried);
  within("threads", rule.threads, 1, 1024);
  within("forks", rule.forks, 1, kMostForks);
  within("check_cycles", rule.check, 0, kMostCycles);
  if (net.decider != Decider::kRouting)
    throw ConfigError("marginal cost: routing." + net.routing_name +
                      " is decided from outside, and forks go on by themselves; use routing=policy or another that the "
                      "core decides");
  if (net.workload)
    throw ConfigError(
        "marginal cost: it is defined for traffic patterns, where what is sent does not depend on what "
        "has arrived; there is a workload");
  if (net.seam && net.seam->capacity)
    throw ConfigError("marginal cost: forks keep no transitions; leave routing.record at 0");
  if (net.whole_packets && net.router.flit_by_flit)
    throw ConfigError("marginal cost: not with router.packet_stepping=flit, which is a check; use train");
  copy_ = listing_network(net);
  listing_ = copy_ ? copy_.get() : &net;

  // More may be under way when the network is full.
  const u64 each = std::max(state_bytes(simulation.state()), net.memory_bytes) * 5 / 4, running = rule.threads + 1;
  const u64 bytes = each * (rule.forks + running), free = available_memory();
  if (bytes > free) {
    const u64 fit = free / each;
    const auto gb = [](u64 b) { return gigabytes(static_cast<double>(b)); };
    throw ConfigError("forks: " + std::to_string(rule.forks) + " states that wait and " + std::to_string(running) +
                      " that run take " + gb(bytes) + " of memory, " + gb(each) + " each; this machine has " +
                      gb(free) + " free: " +
                      (fit > running ? std::to_string(std::min<u64>(fit - running, kMostForks)) + " fit"
                                     : "none fits beside those that run"));
  }
  claim_memory(bytes, "forks", std::to_string(rule.forks) + " states");
  own_ = std::make_unique<Simulation>(simulation);
  for (u32 k = 0; k < rule.threads; k++) {
    workers_.push_back(std::make_unique<Worker>());
    prepare(net, workers_.back()->workspace);
  }
  can_meet_ = rule.check > 0 && futures_can_meet(net, rule.others);
}

MarginalCost::~MarginalCost() = default;

LabelledDecisions MarginalCost::label(Simulation& simulation, u32 decisions, double part, u64 most_cycles,
                                      const KeepGoing& keep_going) {
  const State& s = simulation.state();
  if (&simulation.network() != &own_->network())
    throw ConfigError("label(): this simulation is not the one that marginal costs were set up for, nor a fork of it");
  if (!(part > 0 && part <= 1)) throw ConfigError("part: " + std::to_string(part) + " is not in (0, 1]");
  if (decisions == 0) throw ConfigError("decisions: 0; give at least one");
  if (s.part.totals.collected) throw CoreError("label() between collect() and apply(): apply the choices first");
  const u64 begin = s.part.totals.now;
  if (begin + rule_.horizon >= kEndOfTime)
    throw CoreError("the forks would pass cycle " + std::to_string(kEndOfTime) + ", the end of simulated time");
  const u64 end = std::min(begin + most_cycles, u64{kEndOfTime} - rule_.horizon);

  const LimitScope scope(keep_going);
  LabelledDecisions out;
  const Seam* const seam = own_->network().seam.get();
  out.slots = seam ? seam->slots : rule_.slots;
  out.width = seam ? seam->width : 0;
  while (out.count < decisions && s.part.totals.now < end) {
    used_ = 0;
    trials_.clear();
    run_.clear();
    ways_.assign(std::max<std::size_t>(ways_.size(), 1024), Step{});
    ways_used_ = 0;
    kept_.clear();
    run_from_ = s.part.totals.now;
    while (used_ < rule_.forks && out.count < decisions && s.part.totals.now < end && ways_used_ < kMostWays) {
      if (used_ == 0) {  // nothing before the first moment is needed
        run_.clear();
        run_from_ = s.part.totals.now;
      }
      note_run(s);
      sample(simulation, decisions - out.count, part, out);
      worked(32 + totals(s).flits_in_network);
    }
    if (used_ == 0) continue;
    finish_run(s);
    try_all(out);
  }
  return out;
}

// One cycle of the simulation, with a look at what is decided in it.
void MarginalCost::sample(Simulation& simulation, u32 most, double part, LabelledDecisions& out) {
  const Network& net = own_->network();
  simulation.collect();
  const Batch& b = simulation.batch();
  State& s = simulation.state();
  const auto bits = [&](u32 i) {
    const Packet& p = s.packets[b.packet[i]];
    return draw(rule_.seed ^ kSampleSeed, u64{p.source} << 32 | p.sequence, u64{p.hops} << 32 | b.router[i]);
  };
  listed_.count = 0;
  listed_.now = b.now;
  std::vector<u32> drawn;
  for (u32 i = 0; i < b.count; i++)
    if (part >= 1 || unit(bits(i)) < part) {
      drawn.push_back(i);
      copy_request(b, i, listed_);
    }
  std::vector<Found> found;
  if (!drawn.empty()) {
    list(s);
    for (u32 k = 0; k < drawn.size() && found.size() < most; k++) {
      Found one{drawn[k], 0, {}};
      for (u32 at = listed_.offsets[k]; at < listed_.offsets[k + 1]; at++) {
        const Way way{listed_.candidate_port[at], listed_.candidate_class[at]};
        if (std::find(one.ways.begin(), one.ways.end(), way) == one.ways.end()) one.ways.push_back(way);
      }
      one.candidates = static_cast<u32>(one.ways.size());
      if (one.candidates > 1) found.push_back(std::move(one));
    }
  }
  if (!found.empty()) {
    if (moments_.size() <= used_) moments_.push_back(std::make_unique<Moment>());
    Moment& moment = *moments_[used_++];
    moment.state = s;
    copy_requests(b, moment.batch);
    moment.delivered = packets_delivered(s);  // some in this very cycle
  }
  simulation.apply(nullptr, 0);
  note_ways(s, b);
  for (Found& one : found) {
    const u32 i = one.request;
    const Way took{b.out_port[i], b.out_class[i]};
    u32 taken = kNone;
    const float* row = nullptr;
    if (net.seam) {
      const Decisions& d = b.decisions;
      const auto j = static_cast<u32>(std::find(d.request.begin(), d.request.begin() + d.count, i) - d.request.begin());
      if (j == d.count)
        throw CoreError("marginal cost: a request with candidates was no decision of routing." + net.routing_name);
      one.ways.clear();
      for (u32 k = j * out.slots; k < j * out.slots + d.slot_count[j]; k++)
        one.ways.push_back({d.ports[k], d.classes[k]});
      taken = d.chosen[j];
      row = d.observation + std::size_t{j} * out.width;
    } else {
      taken = slots_of(one.ways, took, out.slots, bits(i));
    }
    note_decision(one, taken, row, out);
  }
}

// Asks for the candidates of the listed requests. What it may do to their packets on the way is undone.
void MarginalCost::list(State& s) {
  const Network& net = own_->network();
  std::vector<Saved> saved;
  for (u32 k = 0; k < listed_.count; k++) saved.push_back(save(net, s, listed_.packet[k]));
  if (listed_.scratch.empty()) listed_.scratch = own_->batch().scratch;
  listing_->candidates(*listing_, s, listed_);
  for (u32 k = 0; k < listed_.count; k++) put_back(net, s, listed_.packet[k], saved[k]);
}

void MarginalCost::note_decision(const Found& one, u32 taken, const float* observation, LabelledDecisions& out) {
  const Network& net = own_->network();
  const Moment& moment = *moments_[used_ - 1];
  const u32 i = one.request, tried = static_cast<u32>(one.ways.size());
  const Packet& p = moment.state.packets[moment.batch.packet[i]];
  out.cycle.push_back(moment.state.part.totals.now);
  out.router.push_back(moment.batch.router[i]);
  out.source.push_back(p.source);
  out.destination.push_back(p.destination);
  out.sequence.push_back(p.sequence);
  out.hops.push_back(p.hops);
  out.came_by.push_back(static_cast<u8>(net.channels[net.port(moment.batch.router[i], moment.batch.in_port[i])].kind));
  out.candidates.push_back(one.candidates);
  out.tried.push_back(tried);
  out.taken.push_back(taken);
  for (u32 k = 0; k < out.slots; k++) {
    const Way way = k < tried ? one.ways[k] : Way{0, 0};
    out.port.push_back(way.port);
    out.vc_class.push_back(way.vc_class);
    out.cost.push_back(0);
    out.settled.push_back(k == taken);
    out.cycles.push_back(0);
    if (k < tried && k != taken) trials_.push_back({out.count, k, used_ - 1, i});
  }
  if (observation) out.observation.insert(out.observation.end(), observation, observation + out.width);
  out.count++;
}

// At the beginning of a cycle of the run.
void MarginalCost::note_run(const State& s) {
  const Network& net = own_->network();
  RunPoint point{packets_delivered(s), totals(s).packets_in_network, 0, 0};
  if (looks_at(s.part.totals.now)) {
    point.loads = loads_hash(net, s);
    point.future = future_hash(net, s, rule_.others);
  }
  run_.push_back(point);
}

namespace {
// Never 0.
inline u64 key_of(const Packet& p) { return (u64{p.source} << 40 | u64{p.sequence} << 8 | p.hops) + 1; }
}  // namespace

void MarginalCost::note_ways(const State& s, const Batch& b) {
  if (rule_.others != Ahead::kKnown || used_ == 0) return;
  const Network& net = own_->network();
  for (u32 i = 0; i < b.count; i++) {
    if (2 * ++ways_used_ > ways_.size()) {
      std::vector<Step> fewer(2 * ways_.size());
      fewer.swap(ways_);
      for (const Step& one : fewer)
        if (one.key) place_of(one.key) = one;
    }
    const u32 id = b.packet[i];
    const Packet& p = s.packets[id];
    // One that has found no room asks again at the same router: what it took in the end stands.
    place_of(key_of(p)) = {key_of(p),
                           b.router[i],
                           static_cast<u32>(kept_.size()),
                           b.out_port[i],
                           b.out_class[i],
                           p.phase,
                           p.nonminimal,
                           net.learns ? s.details[id].row : 0,
                           net.learns ? s.details[id].value : 0,
                           net.learns ? s.details[id].arrived : 0};
    for (const u32 k : net.packet_memories) {
      const std::size_t size = net.memories[k].entry_bytes();
      const u8* const entry = s.memory[k].data() + id * size;
      kept_.insert(kept_.end(), entry, entry + size);
    }
  }
}

MarginalCost::Step& MarginalCost::place_of(u64 key) {
  const std::size_t mask = ways_.size() - 1;
  std::size_t at = mix64(key) & mask;
  while (ways_[at].key && ways_[at].key != key) at = (at + 1) & mask;
  return ways_[at];
}

const MarginalCost::Step* MarginalCost::way_of(const Packet& p) const {
  const u64 key = key_of(p);
  const std::size_t mask = ways_.size() - 1;
  for (std::size_t at = mix64(key) & mask; ways_[at].key; at = (at + 1) & mask)
    if (ways_[at].key == key) return &ways_[at];
  return nullptr;
}

// Decides on a batch as the run did, but for packet `but` and those that the run has not seen at that router with so
// many hops behind them. Where the packet whose way was forced comes to a router as in the run, it goes on as in the
// run, too: so what a fork would do is known once it has become equal to the run, whatever a routing's tables hold.
void MarginalCost::follow_run(State& s, Batch& b, u32 but) const {
  const Network& net = own_->network();
  constexpr u32 kAtOnce = 64;
  const Step* found[kAtOnce];
  const auto look_up = [&](u32 i) {
    const Step* const way = b.packet[i] == but ? nullptr : way_of(s.packets[b.packet[i]]);
    return way && way->router == b.router[i] ? way : nullptr;
  };
  bool all = b.count <= kAtOnce;
  for (u32 i = 0; i < b.count && i < kAtOnce; i++) all &= (found[i] = look_up(i)) != nullptr;
  if (!all) decide(net, s, b);
  for (u32 i = 0; i < b.count; i++) {
    const Step* const way = i < kAtOnce ? found[i] : look_up(i);
    if (!way) continue;
    const u32 id = b.packet[i];
    b.out_port[i] = way->port;
    b.out_class[i] = way->vc_class;
    s.packets[id].phase = static_cast<Phase>(way->phase);
    s.packets[id].nonminimal = way->nonminimal;
    if (net.learns) {
      s.details[id].row = way->row;
      s.details[id].value = way->value;
      s.details[id].arrived = way->arrived;
    }
    const u8* from = kept_.data() + way->kept;
    for (const u32 k : net.packet_memories) {
      const std::size_t size = net.memories[k].entry_bytes();
      std::memcpy(s.memory[k].data() + id * size, from, size);
      from += size;
    }
  }
}

// The run goes on in a copy until the last fork's end.
void MarginalCost::finish_run(const State& now) {
  const Network& net = own_->network();
  State& s = own_->state();
  s = now;
  const Cycle end = moments_[used_ - 1]->state.part.totals.now + rule_.horizon;
  while (s.part.totals.now < end) {
    note_run(s);
    Workspace& w = workers_[0]->workspace;
    collect(net, s, w);  // step() need not make a batch
    decide(net, s, w.batch);
    apply(net, s, w);
    note_ways(s, w.batch);
    worked(32 + totals(s).flits_in_network);
  }
  note_run(s);
}

void MarginalCost::try_all(LabelledDecisions& out) {
  if (!team_ || !team_->here()) team_ = std::make_unique<Team>(rule_.threads);
  std::atomic<u32> next{0};
  std::atomic<bool> stop{false};
  team_->run([&](u32 thread) {
    try {
      for (u32 k; !stop.load(std::memory_order_relaxed) && (k = next.fetch_add(1)) < trials_.size();) {
        try_one(*workers_[thread], trials_[k], out);
        worked(kPatience);
      }
    } catch (...) {
      stop = true;
      throw;
    }
  });
}

void MarginalCost::try_one(Worker& worker, const Trial& trial, LabelledDecisions& out) const {
  const Network& net = own_->network();
  const Moment& moment = *moments_[trial.moment];
  const std::size_t at = std::size_t{trial.row} * out.slots + trial.slot;
  State& s = worker.state;
  Workspace& w = worker.workspace;
  s = moment.state;
  for (u32 k = 0; k < net.partitions(); k++) {
    partition(s, k).window = Window{};
    partition(s, k).window.open = 1;  // it counts what is delivered
  }
  copy_requests(moment.batch, w.batch);
  w.routes.clear();
  decide(net, s, w.batch);
  force(net, s, w.batch, trial.request, moment.state, out.port[at], out.vc_class[at]);
  apply(net, s, w);

  const u32 forced = moment.batch.packet[trial.request];
  const u32 source = s.packets[forced].source, sequence = s.packets[forced].sequence, hops = s.packets[forced].hops;
  const RunPoint* const run = run_.data() + (moment.state.part.totals.now - run_from_);  // by cycles since the decision
  i64 behind = 0;
  u32 cycles = 1;
  for (;; cycles++) {
    u64 delivered = 0;
    for (u32 k = 0; k < net.partitions(); k++) delivered += partition(s, k).window.delivered;
    const u64 expected = run[cycles].delivered - moment.delivered;
    behind += static_cast<i64>(expected) - static_cast<i64>(delivered);
    if (looks_at(s.part.totals.now) && delivered == expected &&
        totals(s).packets_in_network == run[cycles].in_network && loads_hash(net, s) == run[cycles].loads &&
        future_hash(net, s, rule_.others) == run[cycles].future) {
      out.settled[at] = 1;
      break;
    }
    if (cycles == rule_.horizon) break;
    if (rule_.others == Ahead::kRouted) {
      step(net, s, w);
      continue;
    }
    collect(net, s, w);
    // While it waits for room it may be asked again. Its place in the pool goes to another packet once it is delivered.
    const Packet& p = s.packets[forced];
    follow_run(s, w.batch, p.source == source && p.sequence == sequence && p.hops == hops ? forced : kNone);
    apply(net, s, w);
  }
  out.cost[at] = static_cast<double>(behind);
  out.cycles[at] = cycles;
}

}  // namespace flitgym
