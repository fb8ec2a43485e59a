// Local search on forwarding tables. It starts from the table of another engine and changes one next hop at a time,
// which moves all routes that pass that switch. The dependencies of every virtual layer stay acyclic, and every route
// stays in its layer. A seed determines the random choices. The result is the best table found, which may be the
// starting table.
//
// goal=edge_forwarding_index: min-conflicts (Minton et al., Artificial Intelligence 58, 1992). A target lies just below
// the highest load. The search moves routes off channels whose load exceeds the target. It makes the change that
// reduces the excess most. When no load exceeds the target, the target is lowered.
//
// goal=bisection: two routes of a random matching that share a channel reduce the effective bisection bandwidth. The
// mean number of such conflicts has a closed form: the sum, over channels, of all pairs of routes without a common
// source or destination. A load may not exceed the highest load of the starting table.
#include <chrono>

#include "simcore/registry.hpp"
#include "simcore/tables/walk.hpp"
#include "simcore/traffic/draws.hpp"
#include "tables/quality.hpp"
#include "tables/reroute.hpp"

namespace flitgym::tables::engines::local_search {

using Clock = std::chrono::steady_clock;
constexpr double kNever = std::numeric_limits<double>::infinity();

// A set of small numbers from which a random member can be drawn.
class RandomSet {
 public:
  explicit RandomSet(u32 n) : place_(n, kNone) {}
  bool empty() const { return members_.empty(); }
  u32 size() const { return static_cast<u32>(members_.size()); }
  u32 operator[](u32 k) const { return members_[k]; }
  void put(u32 x, bool in) {
    if (in == (place_[x] != kNone)) return;
    if (in) {
      place_[x] = size();
      members_.push_back(x);
    } else {
      place_[members_.back()] = place_[x];
      members_[place_[x]] = members_.back();
      members_.pop_back();
      place_[x] = kNone;
    }
  }

 private:
  std::vector<u32> place_, members_;
};

struct Options {
  u64 seed, steps;
  double seconds;
  u32 detours;
};

class Search {
 public:
  Search(const ChannelGraph& g, Rerouting& routes, const Options& options)
      : g_(g), routes_(routes), options_(options), begin_(Clock::now()), hops_(g.switches) {}
  virtual ~Search() = default;
  void run() {
    constexpr u32 kNoise = 500;  // one in kNoise changes may make the table worse
    struct Candidate {
      double gain, second;
      u32 c;
    };
    std::vector<Candidate> candidates;
    // The search ends after this many steps without gain. By then every next hop has been drawn many times.
    const u64 patience = 50000 + 20 * u64{g_.switches} * routes_.table().destinations();
    for (u64 step = 0, better = 0; step < options_.steps && step - better < patience; step++) {
      if (options_.seconds > 0 && step % 64 == 0 && late()) return;
      u32 s, d;
      if (!pick(s, d)) return;
      candidates.clear();
      const u32 n = g_.first[s + 1] - g_.first[s], from = drawn(n);  // random start, so that ties alternate
      for (u32 k = 0; k < n; k++) {
        const u32 c = g_.first[s] + (from + k < n ? from + k : from + k - n);
        if (!routes_.plan(s, d, c, change_) || !short_enough(change_)) continue;
        worked(change_.lost.size() + change_.gained.size());
        if (const double more = gain(change_); more > -kNever) candidates.push_back({more, second(change_), c});
      }
      std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return std::pair(a.gain, a.second) > std::pair(b.gain, b.second);
      });
      for (const Candidate& candidate : candidates) {  // takes the best change that does not close a cycle
        if (candidate.gain < 0 && drawn(kNoise)) break;
        const u32 before = routes_.next(s, d);
        routes_.plan(s, d, candidate.c, change_);
        if (!routes_.apply(change_)) continue;
        changed(change_, candidate.gain);
        journal_.push_back({s, d, before, {}, {}, 0});
        if (best()) {
          journal_.clear();
          better = step;
        }
        break;
      }
    }
  }
  // Changes since the best table, in order of time.
  const std::vector<Rerouting::Change>& since() const { return journal_; }

 protected:
  // Picks the next hop to change. False: no gain is possible.
  virtual bool pick(u32& s, u32& d) = 0;
  virtual double gain(const Rerouting::Change& change) = 0;         // above 0: an improvement
  virtual double second(const Rerouting::Change&) { return 0; }     // breaks ties
  virtual void changed(const Rerouting::Change&, double gain) = 0;  // called after the change
  virtual bool best() = 0;                                          // true: the table is the best so far
  u32 drawn(u32 n) { return below(draw(options_.seed, 0, counter_++), n); }

  const ChannelGraph& g_;
  Rerouting& routes_;
  const Options options_;

 private:
  // Without `detours`, no route becomes longer. With it, no route exceeds the shortest by more than `detours` hops.
  // With several addresses per terminal, detours are intended (PARX), so lengths do not change.
  bool short_enough(const Rerouting::Change& change) {
    if (routes_.table().lmc) return change.gained.size() == change.lost.size();
    if (change.gained.size() <= change.lost.size()) return true;
    if (options_.detours == 0) return false;
    const std::size_t more = change.gained.size() - change.lost.size();
    const u32 last = g_.terminal_switch[change.d];
    if (hops_[last].empty()) {
      g_.claim(u64{g_.switches} * 4, "hops to switch ", g_.switch_name(last));
      hops_[last] = hops_to(g_, last);
    }
    std::vector<std::pair<u32, std::size_t>> open;  // switches whose routes move, and their new lengths
    std::size_t length = more;
    for (u32 v = change.s; v != last; v = g_.to[routes_.next(v, change.d)]) length++;
    open.push_back({change.s, length});
    while (!open.empty()) {
      const auto [v, hops] = open.back();
      open.pop_back();
      if (g_.terminals_at(v) && hops > hops_[last][v] + options_.detours) return false;
      routes_.each_child(v, change.d, [&, h = hops](u32 child) { open.push_back({child, h + 1}); });
    }
    return true;
  }
  bool late() const { return std::chrono::duration<double>(Clock::now() - begin_).count() > options_.seconds; }

  Clock::time_point begin_;
  u64 counter_ = 0;
  std::vector<Rerouting::Change> journal_;
  std::vector<std::vector<u32>> hops_;  // [switches] hops to each destination's switch, computed on first use
  Rerouting::Change change_;
};

class LowerIndex final : public Search {
 public:
  LowerIndex(const ChannelGraph& g, Rerouting& routes, const Options& options)
      : Search(g, routes, options), hot_(g.channels) {
    least_ = highest();
    mean_ = std::accumulate(routes.loads().begin(), routes.loads().end(), 0.0) / std::max(1u, g.channels);
    aim();
  }

 private:
  double highest() const { return greatest(routes_.loads()); }
  double over(double load) const { return std::max(0.0, load - target_); }
  void aim() {
    constexpr double kReach = 0.03;  // fraction of the distance to the mean load
    target_ = least_ - kReach * (least_ - mean_);
    target_ = std::min(target_, least_ * (1 - 1e-9));
    if (least_ <= mean_ * (1 + 1e-9)) target_ = least_;  // all loads are equal, so there is nothing to gain
    for (u32 c = 0; c < g_.channels; c++) hot_.put(c, routes_.load(c) > target_);
  }
  // Draws a channel above the target, a destination of its routes, and a switch whose routes pass the channel.
  bool pick(u32& s, u32& d) override {
    if (hot_.empty()) return false;
    const u32 c = hot_[drawn(hot_.size())];
    const u32 destinations = routes_.table().destinations(), from = drawn(destinations);
    s = g_.from[c];
    for (u32 k = 0; k < destinations; k++) {
      d = from + k < destinations ? from + k : from + k - destinations;
      if (routes_.next(s, d) == c && routes_.flow(s, d) > 0) break;
    }
    for (;;) {  // moves upstream
      u32 n = 0, up = s;
      routes_.each_child(s, d, [&](u32 child) {
        if (routes_.flow(child, d) > 0 && drawn(++n) == 0) up = child;
      });
      if (n == 0 || drawn(3) == 0) return true;
      s = up;
    }
  }
  double gain(const Rerouting::Change& change) override {
    const double moved = routes_.flow(change.s, change.d);
    double less = 0;
    for (const u32 c : change.lost) less += over(routes_.load(c)) - over(routes_.load(c) - moved);
    for (const u32 c : change.gained) less += over(routes_.load(c)) - over(routes_.load(c) + moved);
    return less;
  }
  double second(const Rerouting::Change& change) override {
    const double moved = routes_.flow(change.s, change.d);
    double less = 0;
    for (const u32 c : change.lost) less += 2 * routes_.load(c) - moved;
    for (const u32 c : change.gained) less -= 2 * routes_.load(c) + moved;
    return less;
  }
  void changed(const Rerouting::Change& change, double) override {
    for (const u32 c : change.lost) hot_.put(c, routes_.load(c) > target_);
    for (const u32 c : change.gained) hot_.put(c, routes_.load(c) > target_);
  }
  bool best() override {
    if (!hot_.empty()) return false;
    least_ = highest();
    aim();
    return true;
  }

  RandomSet hot_;  // channels above the target
  double target_ = 0, least_ = 0, mean_ = 0;
};

// Number of pairs of routes that share a channel but neither source nor destination. A channel has L^2 - sum a_d^2 -
// sum b_t^2 + L such pairs. L is the number of its routes; a_d of them go to destination d, and b_t of them come from
// terminal t. All terminals of a switch are treated alike.
class FewerConflicts final : public Search {
 public:
  FewerConflicts(const ChannelGraph& g, Rerouting& routes, const Options& options) : Search(g, routes, options) {
    const u32 destinations = routes.table().destinations();
    g.claim(u64{g.channels} * g.switches * 4, "the loads of ", g.channels, " channels by ", g.switches,
            " source switches");
    from_.assign(std::size_t{g.channels} * g.switches, 0);
    highest_ = greatest(routes.loads());
    for (u32 d = 0; d < destinations; d++)
      for (u32 s = 0; s < g.switches; s++) {
        const double own = routes.passes(s, d) ? routes.own(s, d) : 0;
        if (own > 0)
          for (u32 c = routes.next(s, d); c != kNone; c = routes.next(g.to[c], d))
            from(c, s) += static_cast<float>(own);
      }
  }

 private:
  float& from(u32 c, u32 s) { return from_[std::size_t{c} * g_.switches + s]; }
  bool pick(u32& s, u32& d) override {
    constexpr u32 kPatience = 1000;
    for (u32 k = 0; k < kPatience; k++) {
      d = drawn(routes_.table().destinations());
      s = drawn(g_.switches);
      if (routes_.next(s, d) == kNone || !(routes_.flow(s, d) > 0)) continue;
      // Traffic that starts at the switches whose routes would move.
      sources_.clear();
      open_.assign(1, s);
      while (!open_.empty()) {
        const u32 v = open_.back();
        open_.pop_back();
        double rest = routes_.flow(v, d);
        routes_.each_child(v, d, [&](u32 child) {
          open_.push_back(child);
          rest -= routes_.flow(child, d);
        });
        if (rest > 0) sources_.push_back({v, rest});
      }
      return true;
    }
    return false;
  }
  double gain(const Rerouting::Change& change) override {
    const double moved = routes_.flow(change.s, change.d);
    double fewer = 0;
    for (std::size_t k = 0; k < change.lost.size(); k++) {
      const u32 c = change.lost[k];
      fewer += 2 * moved * (routes_.load(c) - routes_.flow(g_.from[c], change.d)) + moved;
      for (const auto& [s, w] : sources_) fewer -= w * (2.0 * from(c, s) - w) / g_.terminals_at(s);
    }
    for (std::size_t k = 0; k < change.gained.size(); k++) {
      const u32 c = change.gained[k];
      if (routes_.load(c) + moved > highest_) return -kNever;
      fewer -= 2 * moved * (routes_.load(c) - (k ? routes_.flow(g_.from[c], change.d) : 0)) + moved;
      for (const auto& [s, w] : sources_) fewer += w * (2.0 * from(c, s) + w) / g_.terminals_at(s);
    }
    return fewer;
  }
  void changed(const Rerouting::Change& change, double gain) override {
    fewer_ += gain;
    for (const auto& [s, w] : sources_) {
      for (const u32 c : change.lost) from(c, s) -= static_cast<float>(w);
      for (const u32 c : change.gained) from(c, s) += static_cast<float>(w);
    }
  }
  bool best() override {
    if (fewer_ <= fewest_) return false;
    fewest_ = fewer_;
    return true;
  }

  double fewer_ = 0, fewest_ = 0;                // conflicts removed since the start: now, at best
  double highest_ = 0;                           // highest load at the start, which is the limit
  std::vector<float> from_;                      // [channels, switches] load by source switch
  std::vector<std::pair<u32, double>> sources_;  // of the change under test
  std::vector<u32> open_;
};

const std::vector<ParamSpec>& own_params() {
  static const std::vector<ParamSpec> all{
      choice("start", "dfsssp", {},
             "engine that makes the starting table; set its parameters along with those of local_search"),
      choice("goal", "edge_forwarding_index", {"edge_forwarding_index", "bisection"},
             "lower the highest load of a channel, or raise the effective bisection bandwidth"),
      integer("steps", 1000000, 0, i64{1} << 40, "", "number of next hops to try"),
      real("time_s", 0, 0, 1e6, "s", "wall-clock time limit, which makes results depend on the machine; 0 = no limit"),
      integer(
          "detours", 0, 0, 1000, "hops",
          "extra length that routes may have over the shortest; 0 (always with several addresses per terminal) = no "
          "route becomes longer than at the start"),
      seed_of("the search of local_search", "search_seed"),
  };
  return all;
}

ForwardingTable start_of(const Params& params, const ChannelGraph& g, const Demand& demand) {
  EngineChoice choice{params.text("start"), {}, nullptr, params.run_seed()};
  auto valid = registered_names<EngineSpec>();
  std::erase(valid, "local_search");
  const auto found = registry<EngineSpec>().find(choice.name);
  if (choice.name == "local_search")
    throw ConfigError("routing.table.start: local_search needs the table of another engine; valid names: ",
                      join(valid));
  for (const ParamSpec& p : all_engine_params())
    if (std::none_of(own_params().begin(), own_params().end(), [&](const ParamSpec& own) { return own.key == p.key; }))
      choice.values[p.key] = params.value(p.key);
  if (found != registry<EngineSpec>().end() && found->second.balances && !demand.empty())
    choice.demand = std::make_shared<const Demand>(demand);
  ForwardingTable table = make_table("routing.table", choice, g, "start");
  if (table.source_routed() || table.lanes)
    throw ConfigError("routing.table.start: the table of ", choice.name,
                      table.lanes ? " changes lanes along the route" : " is source-routed",
                      "; local_search needs a table of next hops whose routes keep their layer");
  return table;
}

// Returns whether the bandwidth of `found` is significantly higher. Both tables are measured with the same random
// patterns.
bool significantly_better(const ChannelGraph& g, const ForwardingTable& found, const ForwardingTable& start, u64 seed) {
  constexpr u32 kPatterns = 200;
  std::vector<u32> orders(std::size_t{kPatterns} * g.terminals);
  for (u32 k = 0; k < kPatterns; k++)
    traffic::draw_order(seed, k, g.terminals, orders.data() + std::size_t{k} * g.terminals);
  const std::vector<double> after = bisection_bandwidth(g, found, orders, false);
  const std::vector<double> before = bisection_bandwidth(g, start, orders, false);
  double mean = 0, squares = 0;
  for (u32 k = 0; k < kPatterns; k++) mean += (after[k] - before[k]) / kPatterns;
  for (u32 k = 0; k < kPatterns; k++) squares += (after[k] - before[k] - mean) * (after[k] - before[k] - mean);
  return mean > 2 * std::sqrt(squares) / kPatterns;  // two standard errors
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  ForwardingTable table = start_of(params, g, demand);
  Rerouting routes(g, table, demand);
  const Options options{.seed = params.seed("search_seed"),
                        .steps = static_cast<u64>(params.integer("steps")),
                        .seconds = params.real("time_s"),
                        .detours = params.count("detours")};
  const bool bisection = params.text("goal") == "bisection";
  std::unique_ptr<Search> search;
  if (bisection) search = std::make_unique<FewerConflicts>(g, routes, options);
  else search = std::make_unique<LowerIndex>(g, routes, options);
  search->run();
  ForwardingTable found = routes.table();
  for (auto k = search->since().rbegin(); k != search->since().rend(); ++k) found.at(k->s, k->d) = g.port[k->c];
  if (bisection && !significantly_better(g, found, table, options.seed)) found = std::move(table);
  found.engine = "local_search";
  return found;
}

const Register<EngineSpec> entry({
    .name = "local_search",
    .summary = "the table of another engine, with routes moved off the fullest channels in the same layers",
    .params = own_params(),
    .make = make,
    .balances = true,
    .passes_on = true,
});

}  // namespace flitgym::tables::engines::local_search
