#include <chrono>

#include "simcore/mapping/problem.hpp"
#include "simcore/rng.hpp"

namespace flitgym::mapping {

namespace {

constexpr u64 kAcceptingStream = u64{0x74687265} << 32;
constexpr u32 kRounds = 100;  // thresholds on the way to zero; the last tenth of them are zero
constexpr u64 kClock = 64;    // trials between two checks of the progress
// Two descents. The first begins with a threshold high enough to leave any start. It may gain nothing if the start is
// good, or on a fat tree, where distances change in steps of two hops. So the second starts from the better of the
// start and the first result, with a lower threshold, and changes that mapping less.
struct Part {
  double share, height;  // fraction of the budget, and of the first threshold
};
constexpr Part kParts[] = {{0.85, 1}, {0.15, 0.1}};
constexpr u32 kSample = 2000;  // trials that determine the first threshold

class Search {
 public:
  Search(const MappingProblem& problem, const Mapping& start, u64 seed)
      : g_(problem.application), sites_(problem.sites), slot_(start), rank_(problem.sites.slots(), kNone),
        site_(start.size()), seed_(seed) {
    for (u32 r = 0; r < slot_.size(); r++) {
      rank_[slot_[r]] = r;
      site_[r] = sites_.site_of[slot_[r]];
    }
    find_near();
  }

  const Mapping& mapping() const { return slot_; }

  // Proposes a move: a rank, and any slot or a slot near one of its partners. False if the rank would stay at its site.
  bool propose(u64 trial, u32& rank, u32& slot) const {
    const u64 bits = draw(seed_, kAcceptingStream, trial), more = mix64(bits);
    rank = below(bits, static_cast<u32>(slot_.size()));
    const auto partners = static_cast<u32>(g_.end(rank) - g_.begin(rank));
    if (partners == 0 || (more & 7) == 0) {
      slot = below(mix64(more), sites_.slots());
    } else {
      const u32 partner = g_.peer[g_.begin(rank) + below(more, partners)], there = site_[partner];
      const u64 last = mix64(more);
      const u32 near =
          near_[first_near_[there] + below(last, static_cast<u32>(first_near_[there + 1] - first_near_[there]))];
      slot = sites_.first_slot[near] + below(mix64(last), sites_.room(near));
    }
    return sites_.site_of[slot] != site_[rank];
  }

  // The bytes x hops that the move would add.
  double change(u32 rank, u32 slot) const {
    const u32 other = rank_[slot], from = site_[rank], to = sites_.site_of[slot];
    double sum = moved(rank, from, to, other);
    if (other != kNone) sum += moved(other, to, from, rank);
    return sum;
  }

  void apply(u32 rank, u32 slot) {
    const u32 other = rank_[slot], from = slot_[rank];
    rank_[slot] = rank;
    rank_[from] = other;
    slot_[rank] = slot;
    site_[rank] = sites_.site_of[slot];
    if (other == kNone) return;
    slot_[other] = from;
    site_[other] = sites_.site_of[from];
  }

 private:
  double moved(u32 rank, u32 from, u32 to, u32 other) const {
    const u16 *const old = sites_.hops_from(from), *const now = sites_.hops_from(to);
    double sum = 0;
    for (u64 e = g_.begin(rank); e < g_.end(rank); e++)
      if (const u32 partner = g_.peer[e]; partner != other)
        sum += g_.weight[e] * (static_cast<int>(now[site_[partner]]) - static_cast<int>(old[site_[partner]]));
    worked(g_.end(rank) - g_.begin(rank));
    return sum;
  }

  // Finds the nearest sites of each site. A site with room for two is also near itself.
  void find_near() {
    first_near_.push_back(0);
    for (u32 s = 0; s < sites_.count; s++) {
      const u16* const hops = sites_.hops_from(s);
      u32 least = kNone;
      for (u32 t = 0; t < sites_.count; t++)
        if (t != s) least = std::min<u32>(least, hops[t]);
      for (u32 t = 0; t < sites_.count; t++)
        if (t == s ? sites_.room(s) > 1 || sites_.count == 1 : hops[t] == least) near_.push_back(t);
      worked(sites_.count);
      first_near_.push_back(near_.size());
    }
  }

  const WeightedGraph& g_;
  const Sites& sites_;
  Mapping slot_;
  std::vector<u32> rank_;        // [slots] kNone: free
  std::vector<u32> site_;        // [ranks]
  std::vector<u64> first_near_;  // [sites + 1]
  std::vector<u32> near_;
  const u64 seed_;
};

// The threshold as a fraction of the first threshold. It falls to zero, more slowly towards the end, and the last tenth
// is zero.
double falling(double done) {
  const double left = std::max(0.0, 1 - done / 0.9);
  return left * left;
}

// Half of the mean cost of a trial that makes the mapping worse.
double first_threshold(const Search& search, u64 steps) {
  double sum = 0;
  u32 worse = 0;
  for (u64 k = 0; k < std::min<u64>(kSample, steps); k++) {
    u32 rank, slot;
    if (!search.propose(~k, rank, slot)) continue;
    const double change = search.change(rank, slot);
    if (change <= 0) continue;
    sum += change;
    worse++;
  }
  return worse ? 0.5 * sum / worse : 0;
}

// One descent from the first threshold to zero, while progress() goes from 0 to 1. The cost is only computed at the end
// of each round. `factor`: of the first threshold that the start suggests.
template <class Progress>
Mapping descend(const MappingProblem& problem, const Mapping& start, u64 seed, u64 steps, double factor,
                Progress&& progress) {
  Search search(problem, start, seed);
  Mapping best = start;
  double least = hop_bytes(problem, start);
  const auto keep_if_better = [&] {
    const double cost = hop_bytes(problem, search.mapping());
    if (cost >= least) return;
    least = cost;
    best = search.mapping();
  };
  const double first = factor * first_threshold(search, steps);
  double threshold = first;
  u32 round = 0;
  for (u64 trial = 0;; trial++) {
    if (trial % kClock == 0) {
      const double done = progress(trial);
      if (done >= 1) break;
      if (const u32 next = static_cast<u32>(done * kRounds); next != round) {
        round = next;
        threshold = first * falling(done);
        keep_if_better();
      }
    }
    worked(16);
    u32 rank, slot;
    if (!search.propose(trial, rank, slot)) continue;
    if (const double change = search.change(rank, slot); change < threshold || change < 0) search.apply(rank, slot);
  }
  keep_if_better();
  return best;
}

}  // namespace

Mapping threshold_accepting(const MappingProblem& problem, const Mapping& start, const Refinement& how) {
  if (start.size() < 2 || problem.sites.count < 2 || (how.steps == 0 && how.seconds <= 0)) return start;
  Mapping best = start;
  u64 number = 0;
  for (const auto& [share, height] : kParts) {
    const auto began = std::chrono::steady_clock::now();
    const double steps = how.seconds > 0 ? kSample : share * static_cast<double>(how.steps);
    const auto progress = [&, part = share](u64 trial) {
      if (how.seconds <= 0) return static_cast<double>(trial) / std::max(1.0, steps);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / (part * how.seconds);
    };
    best = descend(problem, best, draw(problem.seed, kAcceptingStream, number++), static_cast<u64>(steps), height,
                   progress);
  }
  return best;
}

}  // namespace flitgym::mapping
