// Local search on forwarding tables: starts from the table of another engine and changes one next hop at a time, which
// moves all routes that come through that switch. The dependencies of every virtual layer stay free of circles, the
// layers stay as many and every route in its own. What is tried is drawn from a seed; the best table that was met is
// the result, the start at the worst.
//
// goal=edge_forwarding_index: min-conflicts (Minton et al., Artificial Intelligence 58, 1992). A target lies just below
// the highest load; routes are moved off channels above it, by the change that lessens their excess most, until none is
// left and the target sinks.
//
// goal=bisection: the effective bisection bandwidth falls with every two pairs of a random matching that share a
// channel. How many do in the mean is a sum over channels in closed form: all pairs of routes through it but those of
// one source or one destination. No load rises above the highest of the start.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "tables/quality.hpp"
#include "tables/reroute.hpp"
#include "tables/walk.hpp"

namespace flitgym::tables::engines::local_search {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kNever = std::numeric_limits<double>::infinity();

// A set of small numbers of which one can be drawn.
class Drawn {
 public:
  explicit Drawn(u32 n) : place_(n, kNone) {}
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
  u64 seed = 0, steps = 0;
  double seconds = 0;
  u32 detours = 0;
};

class Search {
 public:
  Search(const ChannelGraph& g, Rerouting& routes, const Options& options)
      : g_(g), routes_(routes), options_(options), begin_(Clock::now()), hops_(g.switches) {}
  virtual ~Search() = default;
  void run();
  // What was changed since the best table, the latest last.
  const std::vector<Rerouting::Change>& since() const { return journal_; }

 protected:
  // whose next hop to look at; false: there is nothing to gain
  virtual bool pick(u32& s, u32& d) = 0;
  virtual double gain(const Rerouting::Change& change) = 0;         // above 0: a change for the better
  virtual double second(const Rerouting::Change&) { return 0; }     // that decides between equals
  virtual void changed(const Rerouting::Change&, double gain) = 0;  // it was made
  virtual bool best() = 0;                                          // so it is better than any before
  u32 drawn(u32 n) { return below(draw(options_.seed, 0, counter_++), n); }

  const ChannelGraph& g_;
  Rerouting& routes_;
  const Options options_;

 private:
  bool short_enough(const Rerouting::Change& change);
  bool late() const { return std::chrono::duration<double>(Clock::now() - begin_).count() > options_.seconds; }

  Clock::time_point begin_;
  u64 counter_ = 0;
  std::vector<Rerouting::Change> journal_;
  std::vector<std::vector<u32>> hops_;  // [switches] to each destination's switch, as far as they were asked for
  Rerouting::Change change_;
};

// No route becomes longer; with detours none more than so many hops longer than the shortest. Of several addresses each
// has its lengths for a reason (PARX): they stay.
bool Search::short_enough(const Rerouting::Change& change) {
  if (routes_.table().lmc) return change.gained.size() == change.lost.size();
  if (change.gained.size() <= change.lost.size()) return true;
  if (options_.detours == 0) return false;
  const std::size_t more = change.gained.size() - change.lost.size();
  const u32 last = g_.terminal_switch[change.d];
  if (hops_[last].empty()) {
    claim_memory(u64{g_.switches} * 4, "topology." + g_.topology_name, "hops to switch " + g_.switch_name(last));
    hops_to(g_, last, hops_[last]);
  }
  std::vector<std::pair<u32, std::size_t>> open;  // switches whose routes are moved, and how long theirs become
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

void Search::run() {
  constexpr u32 kNoise = 500;  // one in so many changes may be for the worse
  struct Way {
    double gain, second;
    u32 c;
  };
  std::vector<Way> ways;
  // What has not become better for so long, every next hop having been drawn many times, is left as it is.
  const u64 patience = 50000 + 20 * u64{g_.switches} * routes_.table().destinations();
  for (u64 step = 0, better = 0; step < options_.steps && step - better < patience; step++) {
    if (options_.seconds > 0 && step % 64 == 0 && late()) return;
    u32 s, d;
    if (!pick(s, d)) return;
    ways.clear();
    const u32 n = g_.first[s + 1] - g_.first[s], from = drawn(n);  // so that equals take turns
    for (u32 k = 0; k < n; k++) {
      const u32 c = g_.first[s] + (from + k < n ? from + k : from + k - n);
      if (!routes_.plan(s, d, c, change_) || !short_enough(change_)) continue;
      worked(change_.lost.size() + change_.gained.size());
      if (const double more = gain(change_); more > -kNever) ways.push_back({more, second(change_), c});
    }
    std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
      return std::pair(a.gain, a.second) > std::pair(b.gain, b.second);
    });
    for (const Way& way : ways) {  // the best of those that close no circle
      if (way.gain < 0 && drawn(kNoise)) break;
      const u32 before = routes_.next(s, d);
      routes_.plan(s, d, way.c, change_);
      if (!routes_.apply(change_)) continue;
      changed(change_, way.gain);
      journal_.push_back({s, d, before, {}, {}, 0});
      if (best()) {
        journal_.clear();
        better = step;
      }
      break;
    }
  }
}

class LowerIndex final : public Search {
 public:
  LowerIndex(const ChannelGraph& g, Rerouting& routes, const Options& options)
      : Search(g, routes, options), hot_(g.channels) {
    least_ = highest();
    mean_ = std::accumulate(routes.loads().begin(), routes.loads().end(), 0.0) / std::max(1u, g.channels);
    aim();
  }

 private:
  double highest() const { return *std::max_element(routes_.loads().begin(), routes_.loads().end()); }
  double over(double load) const { return std::max(0.0, load - target_); }
  void aim() {
    constexpr double kReach = 0.03;  // of what is left above the mean
    target_ = least_ - kReach * (least_ - mean_);
    target_ = std::min(target_, least_ * (1 - 1e-9));
    if (least_ <= mean_ * (1 + 1e-9)) target_ = least_;  // all are alike: there is nothing to gain
    for (u32 c = 0; c < g_.channels; c++) hot_.put(c, routes_.load(c) > target_);
  }
  // A channel above the target, a destination that it leads to, and one of the switches whose routes come through it.
  bool pick(u32& s, u32& d) override {
    if (hot_.empty()) return false;
    const u32 c = hot_[drawn(hot_.size())];
    const u32 destinations = routes_.table().destinations(), from = drawn(destinations);
    s = g_.from[c];
    for (u32 k = 0; k < destinations; k++) {
      d = from + k < destinations ? from + k : from + k - destinations;
      if (routes_.next(s, d) == c && routes_.flow(s, d) > 0) break;
    }
    for (;;) {  // against the stream
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

  Drawn hot_;  // channels above the target
  double target_ = 0, least_ = 0, mean_ = 0;
};

// Pairs of routes that share a channel although neither source nor destination is the same: with L routes through a
// channel, a_d of them to destination d and b_t from terminal t, L^2 - sum a_d^2 - sum b_t^2 + L. All terminals of a
// switch are taken as alike.
class FewerMeetings final : public Search {
 public:
  FewerMeetings(const ChannelGraph& g, Rerouting& routes, const Options& options) : Search(g, routes, options) {
    const u32 destinations = routes.table().destinations();
    claim_memory(
        u64{g.channels} * g.switches * 4, "topology." + g.topology_name,
        "what " + std::to_string(g.channels) + " channels carry for " + std::to_string(g.switches) + " switches");
    from_.assign(std::size_t{g.channels} * g.switches, 0);
    highest_ = *std::max_element(routes.loads().begin(), routes.loads().end());
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
      // What begins at the switches whose routes would move.
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

  double fewer_ = 0, fewest_ = 0;                // meetings since the start, and the most of them
  double highest_ = 0;                           // load at the start: none becomes higher
  std::vector<float> from_;                      // [channels, switches] what a channel carries of a switch's terminals
  std::vector<std::pair<u32, double>> sources_;  // of the change that is looked at
  std::vector<u32> open_;
};

const std::vector<ParamSpec>& own_params() {
  static const std::vector<ParamSpec> all{
      choice("start", "dfsssp", {}, "engine whose table the search starts from; its parameters are given beside"),
      choice("goal", "edge_forwarding_index", {"edge_forwarding_index", "bisection"},
             "lower the highest load of a channel, or raise the effective bisection bandwidth"),
      integer("steps", 1000000, 0, i64{1} << 40, "", "next hops that are looked at"),
      real("time_s", 0, 0, 1e6, "s",
           "wall-clock time after which the search ends, whatever the steps: not the same everywhere; 0 = by steps"),
      integer(
          "detours", 0, 0, 1000, "hops",
          "by which routes may be longer than the shortest; 0, or several addresses: none becomes longer than it was"),
      integer("search_seed", 1, 0, i64{1} << 53, "", "of what the search tries"),
  };
  return all;
}

ForwardingTable start_of(const Params& params, const ChannelGraph& g, const Demand& demand) {
  EngineChoice choice{params.text("start"), {}, nullptr};
  auto valid = registered_names<EngineSpec>();
  std::erase(valid, "local_search");
  const auto found = registry<EngineSpec>().find(choice.name);
  if (choice.name == "local_search")
    throw ConfigError("routing.table.start: local_search starts from the table of another engine; valid are " +
                      join(valid));
  for (const ParamSpec& p : all_engine_params())
    if (std::none_of(own_params().begin(), own_params().end(), [&](const ParamSpec& own) { return own.key == p.key; }))
      choice.values[p.key] = params.value(p.key);
  if (found != registry<EngineSpec>().end() && found->second.balances && !demand.empty())
    choice.demand = std::make_shared<const Demand>(demand);
  ForwardingTable table = make_table("routing.table", choice, g, "start");
  if (table.source_routed() || table.lanes)
    throw ConfigError("routing.table.start: the table of " + choice.name +
                      (table.lanes ? " changes lanes on the way" : " has whole routes by source") +
                      "; local_search moves next hops of routes that keep their layer");
  return table;
}

// By more than chance in random patterns, which are the same for both, would have it.
bool wider(const ChannelGraph& g, const ForwardingTable& found, const ForwardingTable& start) {
  constexpr u32 kPatterns = 200;
  std::vector<u32> orders(std::size_t{kPatterns} * g.terminals);
  for (u32 k = 0; k < kPatterns; k++) draw_order(1, k, g.terminals, orders.data() + std::size_t{k} * g.terminals);
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
  Options options;
  options.seed = static_cast<u64>(params.integer("search_seed"));
  options.steps = static_cast<u64>(params.integer("steps"));
  options.seconds = params.real("time_s");
  options.detours = params.count("detours");
  const bool bisection = params.text("goal") == "bisection";
  std::unique_ptr<Search> search;
  if (bisection) search = std::make_unique<FewerMeetings>(g, routes, options);
  else search = std::make_unique<LowerIndex>(g, routes, options);
  search->run();
  ForwardingTable found = routes.table();
  for (auto k = search->since().rbegin(); k != search->since().rend(); ++k) found.at(k->s, k->d) = g.port[k->c];
  if (bisection && !wider(g, found, table)) found = std::move(table);
  found.engine = "local_search";
  return found;
}

const Register<EngineSpec> entry([] {
  EngineSpec spec{
      .name = "local_search",
      .summary = "another engine's table, with routes moved off the fullest channels and its layers kept",
      .params = own_params(),
      .make = make,
  };
  spec.balances = true;
  spec.passes_on = true;
  return spec;
}());

}  // namespace

}  // namespace flitgym::tables::engines::local_search
