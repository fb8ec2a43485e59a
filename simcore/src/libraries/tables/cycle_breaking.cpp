#include "tables/layer_assignment.hpp"

#include "simcore/tables/walk.hpp"
#include "tables/layering.hpp"

namespace flitgym::tables {

// Processes one layer after the other. A layer begins with all routes that are not in an earlier layer. For each cycle,
// the routes of one dependency move to the next layer. The routes of a dependency are not stored. They are looked up in
// the table, where the routes of a dependency towards one destination form a subtree.
class Breaking {
 public:
  Breaking(const ChannelGraph& g, BreakEdge rule, ForwardingTable& table)
      : g_(g), rule_(rule), table_(table), index_(g), destinations_(table.destinations()) {
    g.claim(index_.size() * 4 + u64{g.channels} * 13, "the dependencies of ", g.channels, " channels");
    count_.resize(index_.size());
    colour_.resize(g.channels);
    cursor_.resize(g.channels);
  }

  bool run() {
    for (layer_ = 0; layer_ < 255; layer_++) {  // a layer is stored in one byte
      if (layer_ == 0) count_all();
      else count_moved();
      moved_ = 0;
      search();
      table_.layers = layer_ + 1;
      if (!moved_) return true;
    }
    return false;
  }

 private:
  u8& layer(u32 s, u32 d) { return table_.layer[std::size_t{s} * destinations_ + d]; }
  bool uses(u32 c, u32 d) const { return table_.at(g_.from[c], d) == g_.port[c]; }

  void count_all() {
    Tree tree(g_);
    std::vector<u32> passing(g_.switches);
    std::fill(count_.begin(), count_.end(), 0);
    for (u32 d = 0; d < destinations_; d++) {
      tree.follow(table_, d);
      std::fill(passing.begin(), passing.end(), 0);
      tree.each([&](u32 s, u32 c) {
        passing[s] += g_.terminals_at(s) > 0;
        passing[g_.to[c]] += passing[s];
        if (const u32 next = tree.next[g_.to[c]]; next != kNone) count_[index_.at(c, next)] += passing[s];
      });
    }
  }

  void count_moved() {
    std::fill(count_.begin(), count_.end(), 0);
    for (u32 s = 0; s < g_.switches; s++) {
      if (g_.terminals_at(s) == 0) continue;
      worked(destinations_);
      for (u32 d = 0; d < destinations_; d++)
        if (layer(s, d) == layer_) {
          u32 in = kNone;
          each_channel(g_, table_, s, d, [&](u32 c) {
            if (in != kNone) count_[index_.at(in, c)]++;
            in = c;
          });
        }
    }
  }

  enum : u8 { kWhite, kGrey, kBlack };

  // Depth-first search. A black channel cannot reach a cycle. It remains black because the search only removes
  // dependencies.
  void search() {
    std::fill(colour_.begin(), colour_.end(), kWhite);
    for (u32 start = 0; start < g_.channels; start++) {
      if (colour_[start] != kWhite) continue;
      open(start);
      while (!stack_.empty()) {
        const u32 c = stack_.back();
        const u32 begin = g_.first[g_.to[c]], degree = g_.first[g_.to[c] + 1] - begin;
        u32& k = cursor_[c];
        while (k < degree && (count_[index_.first(c) + k] == 0 || colour_[begin + k] == kBlack)) k++;
        if (k == degree) {
          colour_[c] = kBlack;
          stack_.pop_back();
        } else if (colour_[begin + k] == kWhite) {
          open(begin + k);
        } else {
          break_cycle(begin + k);
        }
      }
    }
  }
  void open(u32 c) {
    colour_[c] = kGrey;
    cursor_[c] = 0;
    stack_.push_back(c);
    worked();
  }

  // The top of the stack depends on channel `back`, which is further down on the stack. This closes a cycle.
  void break_cycle(u32 back) {
    const auto begin = static_cast<std::size_t>(std::find(stack_.begin(), stack_.end(), back) - stack_.begin());
    worked(stack_.size() - begin);
    u32 best = stack_.back(), best_next = back;
    if (rule_ != BreakEdge::kFirst)
      for (std::size_t k = begin; k + 1 < stack_.size(); k++) {
        const u32 count = count_[index_.at(stack_[k], stack_[k + 1])], least = count_[index_.at(best, best_next)];
        if (rule_ == BreakEdge::kWeakest ? count >= least : count <= least) continue;
        best = stack_[k];
        best_next = stack_[k + 1];
      }
    move_routes(best, best_next);
    // Moving routes may have removed dependencies along the stack. The search then drops the part above the first
    // removed one. It visits those channels again if another dependency leads to them.
    for (std::size_t k = 0; k + 1 < stack_.size(); k++)
      if (count_[index_.at(stack_[k], stack_[k + 1])] == 0) {
        for (std::size_t i = k + 1; i < stack_.size(); i++) colour_[stack_[i]] = kWhite;
        stack_.resize(k + 1);
        break;
      }
  }

  // Moves all routes of this layer that continue from channel c to channel `next` to the next layer.
  void move_routes(u32 c, u32 next) {
    const u16* const by = &table_.port[std::size_t{g_.from[c]} * destinations_];
    const u16* const then = &table_.port[std::size_t{g_.to[c]} * destinations_];
    const u16 port = g_.port[c], next_port = g_.port[next];
    worked(destinations_);
    for (u32 d = 0; d < destinations_; d++)
      if (by[d] == port && then[d] == next_port && g_.terminal_switch[d >> table_.lmc] != g_.to[c])
        move_subtree(c, next, d);
    if (count_[index_.at(c, next)]) throw CoreError("break_cycles: routes of a dependency are not found");
  }

  struct Below {
    u32 channel, parent, moved;  // channel of the subtree; index of its parent; routes moved off it
  };
  void move_subtree(u32 c, u32 next, u32 d) {
    below_.assign(1, {c, 0, 0});
    for (u32 k = 0; k < below_.size(); k++) {
      const u32 s = g_.from[below_[k].channel];
      if (g_.terminals_at(s) && layer(s, d) == layer_) {
        layer(s, d)++;
        below_[k].moved++;
      }
      for (u32 out = g_.first[s]; out < g_.first[s + 1]; out++) {
        const u32 in = g_.reverse[out];
        if (count_[index_.at(in, below_[k].channel)] && uses(in, d)) below_.push_back({in, k, 0});
      }
    }
    worked(below_.size());
    for (u32 k = static_cast<u32>(below_.size()); k-- > 1;) {
      count_[index_.at(below_[k].channel, below_[below_[k].parent].channel)] -= below_[k].moved;
      below_[below_[k].parent].moved += below_[k].moved;
    }
    const u32 moved = below_[0].moved;
    if (!moved) return;
    moved_ += moved;
    const u32 last = g_.terminal_switch[d >> table_.lmc];
    count_[index_.at(c, next)] -= moved;
    while (g_.to[next] != last) {
      const u32 before = next;
      next = g_.channel(g_.to[next], table_.at(g_.to[next], d));
      count_[index_.at(before, next)] -= moved;
    }
  }

  const ChannelGraph& g_;
  const BreakEdge rule_;
  ForwardingTable& table_;
  const DependencyIndex index_;
  const u32 destinations_;
  u32 layer_ = 0;
  u64 moved_ = 0;            // routes that move to the next layer
  std::vector<u32> count_;   // [dependencies] routes of this layer that have it
  std::vector<u8> colour_;   // [channels]
  std::vector<u32> cursor_;  // [channels] next dependency to visit
  std::vector<u32> stack_;   // grey channels; each depends on the one above it
  std::vector<Below> below_;
};

bool break_cycles(const ChannelGraph& g, BreakEdge rule, ForwardingTable& table) {
  give_layers(g, table);
  return Breaking(g, rule, table).run();
}

}  // namespace flitgym::tables
