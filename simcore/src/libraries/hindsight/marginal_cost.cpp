#include "hindsight/marginal_cost.hpp"

#include <algorithm>

#include "simcore/control.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "simcore/team.hpp"

namespace flitgym::learning {

// limit of noted routes (about 100 MB); at this limit, label() runs the forks of the decisions sampled so far
constexpr u32 kMostSteps = 1 << 20;
constexpr u32 kMostForks = 1 << 16, kMostCycles = 1 << 24, kMostTried = 64;
constexpr u64 kSampleSeed = 0x6d617267696e616cull;  // the sampling is independent of the simulation's streams

// Selects the candidates that fill the slots of a request. The first one is minimal. The others follow in their order,
// or a random subset of them if there are too many. Returns the slot of the candidate that was taken.
u32 MarginalCost::slots_of(std::vector<Candidate>& candidates, Candidate took, u32 slots, u64 bits) {
  auto taken = std::find(candidates.begin(), candidates.end(), took);
  const auto same_port = [&](const Candidate& w) { return w.port == took.port; };
  if (taken == candidates.end()) taken = std::find_if(candidates.begin(), candidates.end(), same_port);
  if (taken == candidates.end()) taken = candidates.insert(candidates.end(), took);
  auto k = static_cast<u32>(taken - candidates.begin());
  if (candidates.size() <= slots) return k;
  if (k > 1) std::swap(candidates[1], candidates[k]);
  k = std::min(k, 1u);
  const auto n = static_cast<u32>(candidates.size());
  for (u32 at = k + 1; at < slots; at++) std::swap(candidates[at], candidates[at + below(mix64(bits + at), n - at)]);
  candidates.resize(slots);
  return k;
}

MarginalCost::MarginalCost(const Simulation& simulation, const MarginalCostRule& rule) : rule_(rule) {
  const Network& net = simulation.network();
  const auto within = [](const char* key, u32 value, u32 least, u32 most) {
    if (value < least || value > most) throw ConfigError(key, ": ", value, " is not in [", least, ", ", most, "]");
  };
  within("horizon_cycles", rule.horizon, 1, kMostCycles);
  within("slots", rule.slots, 2, kMostTried);
  within("threads", rule.threads, 1, 1024);
  within("forks", rule.forks, 1, kMostForks);
  if (net.decider != Decider::kRouting)
    throw ConfigError("marginal cost: routing.", net.routing_name,
                      " is decided outside the core, but forks run inside it; use routing=policy or another routing "
                      "that the core decides");
  if (net.workload)
    throw ConfigError(
        "marginal cost: a workload is set; use a traffic pattern, whose packets do not depend on deliveries");
  if (net.seam && net.seam->capacity)
    throw ConfigError("marginal cost: forks record no transitions; set routing.record=0");
  if (net.control && net.control->ack_flits)
    throw ConfigError("marginal cost: acknowledgements are packets; set congestion_control.ack_bytes=0");
  copy_ = listing_network(net, "marginal cost");
  listing_ = copy_ ? copy_.get() : &net;

  // A quarter is added because a full network has more packets than this state.
  const u64 each = std::max(state_bytes(simulation.state()), net.memory_bytes) * 5 / 4, running = rule.threads + 1;
  const u64 bytes = each * (rule.forks + running), free = available_memory();
  if (bytes > free) {
    const u64 fit = free / each;
    const auto gb = [](u64 b) { return gigabytes(static_cast<double>(b)); };
    throw ConfigError("forks: ", rule.forks, " waiting states and ", running, " running states need ", gb(bytes),
                      " of memory (", gb(each), " each); this machine has ", gb(free), " free, enough for ",
                      fit > running ? std::to_string(std::min<u64>(fit - running, kMostForks)) + " waiting states"
                                    : "none besides the running states");
  }
  claim_memory(bytes, "forks", rule.forks, " states");
  own_ = std::make_unique<Simulation>(simulation);
  for (u32 k = 0; k < rule.threads; k++) {
    workers_.push_back(std::make_unique<Worker>());
    prepare(net, workers_.back()->workspace);
  }
}

MarginalCost::~MarginalCost() = default;

LabelledDecisions MarginalCost::label(Simulation& simulation, u32 decisions, double part, u64 most_cycles,
                                      const KeepGoing& keep_going) {
  const State& s = simulation.state();
  if (&simulation.network() != &own_->network())
    throw ConfigError("label(): the simulation must be the one that MarginalCost was created for, or a fork of it");
  if (!(part > 0 && part <= 1)) throw ConfigError("part: ", std::to_string(part), " is not in (0, 1]");
  if (decisions == 0) throw ConfigError("decisions: 0; give at least one");
  if (s.part.totals.collected) throw CoreError("label() was called between collect() and apply(); call apply() first");
  const u64 begin = s.part.totals.now;
  if (begin + rule_.horizon >= kEndOfTime)
    throw CoreError("the forks would run past cycle ", kEndOfTime, ", the end of simulated time");
  const u64 end = std::min(begin + most_cycles, u64{kEndOfTime} - rule_.horizon);

  const LimitScope scope(keep_going);
  LabelledDecisions out;
  const Seam* const seam = own_->network().seam.get();
  out.slots = seam ? seam->slots : rule_.slots;
  out.width = seam ? seam->width : 0;
  while (out.count < decisions && s.part.totals.now < end) {
    used_ = 0;
    trials_.clear();
    routes_ = {};
    while (used_ < rule_.forks && out.count < decisions && s.part.totals.now < end && routes_.noted() < kMostSteps) {
      if (used_ == 0) {  // the recorded run begins at the first cycle with sampled decisions
        run_.clear();
        run_from_ = s.part.totals.now;
      }
      run_.push_back(packets_delivered(s));
      sample(simulation, decisions - out.count, part, out);
      worked(32 + totals(s).flits_in_network);
    }
    if (trials_.empty()) continue;
    finish_run(s);
    try_all(out);
  }
  return out;
}

// Simulates one cycle and samples its decisions.
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
      copy_requests(b, i, i + 1, listed_);
    }
  std::vector<Found> found;
  if (!drawn.empty()) {
    list_candidates_of(net, listing_, s, listed_);
    for (u32 k = 0; k < drawn.size() && found.size() < most; k++) {
      Found one{drawn[k], 0, {}};
      for (u32 at = listed_.offsets[k]; at < listed_.offsets[k + 1]; at++) {
        const Candidate candidate{listed_.candidate_port[at], listed_.candidate_class[at]};
        if (std::find(one.list.begin(), one.list.end(), candidate) == one.list.end()) one.list.push_back(candidate);
      }
      one.candidates = static_cast<u32>(one.list.size());
      if (one.candidates > 1) found.push_back(std::move(one));
    }
  }
  if (!found.empty()) {
    if (moments_.size() <= used_) moments_.push_back(std::make_unique<Moment>());
    Moment& moment = *moments_[used_++];
    moment.state = s;
    moment.batch.count = 0;
    copy_requests(b, 0, b.count, moment.batch);
    moment.delivered = packets_delivered(s);  // includes deliveries of this cycle
  }
  simulation.apply(nullptr, 0);
  note_routes(s, b);
  for (Found& one : found) {
    const u32 i = one.request;
    const Candidate took{b.out_port[i], b.out_class[i]};
    u32 taken = kNone;
    const float* row = nullptr;
    if (net.seam) {
      const Decisions& d = b.decisions;
      const auto j = static_cast<u32>(std::find(d.request.begin(), d.request.begin() + d.count, i) - d.request.begin());
      if (j == d.count)
        throw CoreError("marginal cost: a request with candidates was no decision of routing.", net.routing_name);
      one.list.clear();
      for (u32 k = j * out.slots; k < j * out.slots + d.slot_count[j]; k++)
        one.list.push_back({d.ports[k], d.classes[k]});
      taken = d.chosen[j];
      row = d.observation.data() + std::size_t{j} * out.width;
    } else {
      taken = slots_of(one.list, took, out.slots, bits(i));
    }
    note_decision(s, b, one, taken, row, out);
  }
}

void MarginalCost::note_decision(const State& s, const Batch& b, const Found& one, u32 taken, const float* observation,
                                 LabelledDecisions& out) {
  const Network& net = own_->network();
  const u32 i = one.request, tried = static_cast<u32>(one.list.size());
  const Packet& p = s.packets[b.packet[i]];
  out.cycle.push_back(b.now);
  out.router.push_back(b.router[i]);
  out.source.push_back(p.source);
  out.destination.push_back(p.destination);
  out.sequence.push_back(p.sequence);
  out.hops.push_back(p.hops);
  out.came_by.push_back(static_cast<u8>(net.channels[net.port(b.router[i], b.in_port[i])].kind));
  out.candidates.push_back(one.candidates);
  out.tried.push_back(tried);
  out.taken.push_back(taken);
  for (u32 k = 0; k < out.slots; k++) {
    const Candidate candidate = k < tried ? one.list[k] : Candidate{0, 0};
    out.port.push_back(candidate.port);
    out.vc_class.push_back(candidate.vc_class);
    out.cost.push_back(0);
    if (k < tried && k != taken) trials_.push_back({out.count, k, used_ - 1, i, b.now});
  }
  if (observation) out.observation.insert(out.observation.end(), observation, observation + out.width);
  out.count++;
}

}  // namespace flitgym::learning
