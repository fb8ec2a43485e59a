#include "mapping/bisection.hpp"

#include <queue>

#include "simcore/traffic/draws.hpp"

namespace flitgym::mapping {

namespace {

constexpr u64 kStream = u64{0x62697365} << 32;
constexpr u32 kSmall = 48;  // contraction ends at this number of vertices
constexpr u32 kStarts = 8;  // start vertices from which halves of the smallest graph are grown
constexpr u32 kPasses = 8;  // maximum number of passes at each level
constexpr u32 kTries = 3;   // complete runs; the best is kept

struct Level {
  WeightedGraph graph;
  std::vector<u32> size;
  std::vector<double> bias;
  std::vector<u32> coarse;  // [vertices] the vertex of the next coarser level that contains each vertex

  u64 total() const { return std::accumulate(size.begin(), size.end(), u64{0}); }
  u32 largest() const { return size.empty() ? 0 : *std::max_element(size.begin(), size.end()); }
};

// Contracts each vertex with the unmatched neighbour to which it has the heaviest edge.
Level contracted(Level& fine, u64 seed) {
  const WeightedGraph& g = fine.graph;
  const u32 n = g.vertices();
  // With larger vertices, balanced sides might be impossible.
  const u64 most = std::max<u64>(fine.total() / 12, 2);
  fine.coarse.assign(n, kNone);
  Level small;
  std::vector<u32> order(n);
  traffic::draw_order(seed, kStream, n, order.data());
  for (const u32 v : order) {
    if (fine.coarse[v] != kNone) continue;
    u32 partner = kNone;
    double heaviest = 0;
    for (u64 e = g.begin(v); e < g.end(v); e++)
      if (const u32 u = g.peer[e];
          fine.coarse[u] == kNone && u != v && g.weight[e] > heaviest && u64{fine.size[v]} + fine.size[u] <= most) {
        partner = u;
        heaviest = g.weight[e];
      }
    worked(4 + g.end(v) - g.begin(v));
    const auto number = static_cast<u32>(small.size.size());
    fine.coarse[v] = number;
    small.size.push_back(fine.size[v]);
    small.bias.push_back(fine.bias[v]);
    if (partner == kNone) continue;
    fine.coarse[partner] = number;
    small.size.back() += fine.size[partner];
    small.bias.back() += fine.bias[partner];
  }
  small.graph = quotient(g, fine.coarse, static_cast<u32>(small.size.size()));
  return small;
}

// The sides of the vertices of one level. Improving them moves vertices between the sides.
class Balance {
 public:
  Balance(const Level& level, u64 target, std::vector<u8>& side)
      : level_(level), side_(side), target_(static_cast<i64>(target)) {
    measure();
  }

  double cost() const { return cost_; }
  u64 off() const { return static_cast<u64>(off_ < 0 ? -off_ : off_); }

  // Runs passes until a pass gains nothing. A state counts as balanced if the size of side 0 is off by at most
  // `tolerance`.
  void improve(u64 tolerance) {
    for (u32 k = 0; k < kPasses; k++)
      if (!pass(static_cast<i64>(tolerance))) break;
  }

 private:
  struct Candidate {
    double gain;
    u32 vertex;
    bool operator<(const Candidate& o) const { return gain != o.gain ? gain < o.gain : vertex > o.vertex; }
  };

  void measure() {
    const WeightedGraph& g = level_.graph;
    cost_ = 0;
    off_ = -target_;
    for (u32 v = 0; v < g.vertices(); v++) {
      if (side_[v] == 0) off_ += level_.size[v];
      else cost_ += level_.bias[v];
      for (u64 e = g.begin(v); e < g.end(v); e++)
        if (v < g.peer[e] && side_[v] != side_[g.peer[e]]) cost_ += g.weight[e];
    }
  }

  double gain_of(u32 v) const {
    const WeightedGraph& g = level_.graph;
    double gain = side_[v] ? level_.bias[v] : -level_.bias[v];
    for (u64 e = g.begin(v); e < g.end(v); e++) gain += side_[g.peer[e]] != side_[v] ? g.weight[e] : -g.weight[e];
    worked(2 + g.end(v) - g.begin(v));
    return gain;
  }

  // Rank of a state: imbalance beyond the tolerance, then cost; smaller is better.
  std::pair<i64, double> worth(i64 tolerance) const { return {std::max(std::abs(off_), tolerance), cost_}; }

  bool pass(i64 tolerance) {
    const WeightedGraph& g = level_.graph;
    const u32 n = g.vertices();
    std::vector<double> gain(n);
    std::vector<u8> locked(n, 0);
    std::priority_queue<Candidate> queues[2];
    for (u32 v = 0; v < n; v++) {
      gain[v] = gain_of(v);
      queues[side_[v]].push({gain[v], v});
    }
    const auto before = worth(tolerance);
    auto best = before;
    std::vector<u32> moved;
    std::size_t kept = 0;
    const std::size_t patience = 64 + n / 16;  // a pass ends after this many moves without a better state
    while (moved.size() - kept < patience) {
      for (u32 s : {0u, 1u})
        while (!queues[s].empty() &&
               (locked[queues[s].top().vertex] || queues[s].top().gain != gain[queues[s].top().vertex]))
          queues[s].pop();
      u32 from;
      if (off_ > tolerance) from = 0;
      else if (off_ < -tolerance) from = 1;
      else if (queues[0].empty() || queues[1].empty()) from = queues[0].empty() ? 1 : 0;
      else from = queues[1].top().gain > queues[0].top().gain ? 1 : 0;
      if (queues[from].empty()) break;
      const u32 v = queues[from].top().vertex;
      queues[from].pop();
      locked[v] = 1;
      cost_ -= gain[v];
      off_ += from == 0 ? -static_cast<i64>(level_.size[v]) : static_cast<i64>(level_.size[v]);
      side_[v] ^= 1;
      moved.push_back(v);
      for (u64 e = g.begin(v); e < g.end(v); e++)
        if (const u32 u = g.peer[e]; !locked[u]) {
          gain[u] += side_[u] != side_[v] ? 2 * g.weight[e] : -2 * g.weight[e];
          queues[side_[u]].push({gain[u], u});
        }
      worked(8 + 4 * (g.end(v) - g.begin(v)));
      if (const auto now = worth(tolerance);
          now.first < best.first ||
          (now.first == best.first && now.second < best.second - 1e-9 * std::abs(best.second))) {
        best = now;
        kept = moved.size();
      }
    }
    for (std::size_t k = moved.size(); k > kept; k--) side_[moved[k - 1]] ^= 1;
    measure();
    return best < before;
  }

  const Level& level_;
  std::vector<u8>& side_;
  const i64 target_;
  double cost_ = 0;
  i64 off_ = 0;  // size of side 0 above the target
};

// Grows side 0 from a vertex. Each step adds the vertex with the heaviest edges to side 0, until the side is large
// enough.
std::vector<u8> grown(const Level& level, u64 target, u32 start) {
  const WeightedGraph& g = level.graph;
  const u32 n = g.vertices();
  std::vector<u8> side(n, 1);
  std::vector<double> pull(n, 0.0);
  for (u32 v = 0; v < n; v++) pull[v] = level.bias[v];
  pull[start] = std::numeric_limits<double>::infinity();
  std::priority_queue<std::pair<double, u32>> queue;
  for (u32 v = 0; v < n; v++) queue.push({pull[v], v});
  for (u64 size = 0; size < target && !queue.empty();) {
    const auto [gain, v] = queue.top();
    queue.pop();
    if (side[v] == 0 || gain != pull[v]) continue;
    side[v] = 0;
    size += level.size[v];
    for (u64 e = g.begin(v); e < g.end(v); e++)
      if (const u32 u = g.peer[e]; side[u] == 1) {
        pull[u] += 2 * g.weight[e];
        queue.push({pull[u], u});
      }
    worked(8 + 4 * (g.end(v) - g.begin(v)));
  }
  return side;
}

// Distance of the size of side 0 from the target, then the cost; smaller is better.
using Worth = std::pair<u64, double>;

Worth bisect_once(const Level& whole, u64 target, u64 seed, std::vector<u8>& side) {
  std::vector<Level> levels(1, whole);
  while (levels.back().graph.vertices() > kSmall) {
    Level small = contracted(levels.back(), draw(seed, kStream, levels.size()));
    if (small.graph.vertices() > levels.back().graph.vertices() * 19 / 20) break;  // hardly any edges are left
    levels.push_back(std::move(small));
  }

  Worth least;
  const Level& smallest = levels.back();
  const u32 n = smallest.graph.vertices();
  for (u32 k = 0; k < kStarts && n > 0; k++) {
    std::vector<u8> tried = grown(smallest, target, below(draw(seed, kStream + 1, k), n));
    Balance balance(smallest, target, tried);
    balance.improve(smallest.largest() / 2);
    const Worth worth = {std::max<u64>(balance.off(), smallest.largest() / 2), balance.cost()};
    if (!side.empty() && worth >= least) continue;
    least = worth;
    side = std::move(tried);
  }
  for (std::size_t k = levels.size(); k-- > 0;) {
    const Level& level = levels[k];
    if (k + 1 < levels.size()) {
      std::vector<u8> finer(level.graph.vertices());
      for (u32 v = 0; v < finer.size(); v++) finer[v] = side[level.coarse[v]];
      side = std::move(finer);
    }
    Balance balance(level, target, side);
    balance.improve(k == 0 ? 0 : level.largest() / 2);
    least = {balance.off(), balance.cost()};
  }
  return least;
}

}  // namespace

Halves bisect(const WeightedGraph& graph, const std::vector<u32>& size, u64 target, const std::vector<double>& bias,
              u64 seed) {
  const Level whole{graph, size, bias.empty() ? std::vector<double>(graph.vertices(), 0.0) : bias, {}};
  Halves halves;
  Worth least;
  for (u32 k = 0; k < kTries; k++) {
    std::vector<u8> side;
    const Worth worth = bisect_once(whole, target, draw(seed, kStream + 2, k), side);
    if (k > 0 && worth >= least) continue;
    least = worth;
    halves.side = std::move(side);
  }
  for (u32 v = 0; v < graph.vertices(); v++)
    if (halves.side[v] == 0) halves.size0 += size[v];
  return halves;
}

}  // namespace flitgym::mapping
