#include "tables/dependencies.hpp"

#include "simcore/tables/walk.hpp"
#include "tables/layering.hpp"

namespace flitgym::tables {

u64 layers_from(const ChannelGraph& g, const ForwardingTable& table, u32 s, u32 d) {
  if (table.layer_by != LayerBy::kTerminal) return g.terminals_at(s) ? u64{1} << table.layer_of(s, 0, d) : 0;
  u64 layers = 0;
  for (u32 k = g.first_terminal[s]; k < g.first_terminal[s + 1]; k++)
    layers |= u64{1} << table.layer_of(s, g.terminal_of[k], d);
  return layers;
}

namespace {

// Dependencies between lanes of consecutive channels. Each pair of channels that meet at a switch has one word of
// lanes. If packets change lanes, each lane of the first channel has its own word.
class Waits {
 public:
  Waits(const ChannelGraph& g, u32 lanes, bool change) : index_(g), lanes_(lanes), change_(change) {
    const u64 words = index_.size() * (change ? lanes : 1);
    g.claim(words * 8, "the dependencies of ", g.channels, " channels");
    word_.assign(words, 0);
  }
  void same_lane(u32 c, u32 next, u64 lanes) { word_[index_.at(c, next)] |= lanes; }
  void change(u32 c, u32 lane, u32 next, u32 next_lane) {
    word_[index_.at(c, next) * lanes_ + lane] |= u64{1} << next_lane;
  }
  // Lanes of channel first[to[c]] + k on which lane `lane` of channel c depends.
  u64 waits(u32 c, u32 k, u32 lane) const {
    const u64 at = index_.first(c) + k;
    return change_ ? word_[at * lanes_ + lane] : word_[at] & u64{1} << lane;
  }

 private:
  const DependencyIndex index_;
  const u32 lanes_;
  const bool change_;
  std::vector<u64> word_;
};

void note_routes(const ChannelGraph& g, const ForwardingTable& table, Waits& waits) {
  for (u32 s = 0; s < g.switches; s++)
    for (u32 d = 0; g.terminals_at(s) && d < table.destinations(); d++) {
      u32 in = kNone;
      const u64 layers = table.lanes ? 0 : layers_from(g, table, s, d);
      if (!table.lanes)
        each_channel(g, table, s, d, [&](u32 c) {
          worked();
          if (in != kNone) waits.same_lane(in, c, layers);
          in = c;
        });
      // The first lane may depend on the port of the terminal.
      for (u32 k = g.first_terminal[s]; table.lanes && k < g.first_terminal[s + 1]; k++) {
        const u32 source = g.terminal_of[k], layer = table.layer_of(s, source, d);
        u32 lane = 0;
        in = kNone;
        each_channel(g, table, s, d, [&](u32 c) {
          worked();
          const u32 out = lane_of(g, table, layer, in, source, c);
          if (in != kNone) waits.change(in, lane, c, out);
          lane = out;
          in = c;
        });
      }
    }
}

// Returns a representative per channel. Channels of one complete ring share a representative, because with bubble flow
// control waiting along the ring cannot cause a deadlock. If a channel of the ring is missing, the remaining channels
// form a line, which cannot close a cycle.
std::vector<u32> ring_representatives(const ChannelGraph& g, const ForwardingTable& table) {
  std::vector<u32> whole(g.channels);
  for (u32 c = 0; c < g.channels; c++) whole[c] = c;
  const auto next = [&](u32 c) { return g.channel(g.to[c], g.port[c]); };
  for (u32 c = 0; c < g.channels; c++) {
    if (!table.bubble || g.ring[c] == kNoRing || whole[c] != c) continue;
    u32 at = next(c);
    while (at != kNone && at != c) at = next(at);
    if (at != c) continue;
    for (at = next(c); at != c; at = next(at)) whole[at] = c;
  }
  return whole;
}

// Depth-first search for a cycle. A node is a lane of a channel, or of a whole ring.
class Search {
 public:
  Search(const ChannelGraph& g, const Waits& waits, std::vector<u32> whole, u32 lanes)
      : g_(g), waits_(waits), whole_(std::move(whole)), lanes_(lanes), seen_(std::size_t{g.channels} * lanes, 0) {
    for (u32 c = 0; c < g.channels; c++)
      if (whole_[c] != c) others_[whole_[c]].push_back(c);
  }
  std::vector<LaneChannel> cycle() {
    for (u32 c = 0; c < g_.channels; c++)
      for (u32 lane = 0; lane < lanes_; lane++)
        if (whole_[c] == c && !seen(c, lane))
          if (auto found = from({c, lane}); !found.empty()) return found;
    return {};
  }

 private:
  struct Level {
    LaneChannel by;                 // channel through which the search entered the node, and the lane
    std::vector<LaneChannel> left;  // dependencies of the node that the search has not followed, the next one last
  };
  u8& seen(u32 c, u32 lane) { return seen_[std::size_t{whole_[c]} * lanes_ + lane]; }

  // Grey nodes (1) are on the stack, black nodes (2) are finished.
  std::vector<LaneChannel> from(LaneChannel start) {
    enter(start);
    while (!stack_.empty()) {
      worked();
      Level& at = stack_.back();
      if (at.left.empty()) {
        seen(at.by.channel, at.by.lane) = 2;
        stack_.pop_back();
        continue;
      }
      const LaneChannel next = at.left.back();
      at.left.pop_back();
      const auto same_node = [&](const LaneChannel& a) {
        return whole_[a.channel] == whole_[next.channel] && a.lane == next.lane;
      };
      if (same_node(at.by)) continue;  // the dependency stays within its ring
      const u8 known = seen(next.channel, next.lane);
      if (known == 0) enter(next);
      if (known != 1) continue;
      std::vector<LaneChannel> cycle;
      for (const Level& level : stack_)
        if (!cycle.empty() || same_node(level.by)) cycle.push_back(level.by);
      return cycle;
    }
    return {};
  }
  void enter(LaneChannel by) {
    seen(by.channel, by.lane) = 1;
    Level& level = stack_.emplace_back(Level{by, {}});
    const auto list = [&](u32 c) {
      for (u32 next = g_.first[g_.to[c]]; next < g_.first[g_.to[c] + 1]; next++)
        for (u64 lanes = waits_.waits(c, next - g_.first[g_.to[c]], by.lane); lanes; lanes &= lanes - 1)
          level.left.push_back({next, static_cast<u32>(__builtin_ctzll(lanes))});
    };
    list(whole_[by.channel]);
    if (const auto ring = others_.find(whole_[by.channel]); ring != others_.end())
      for (const u32 c : ring->second) list(c);
    std::reverse(level.left.begin(), level.left.end());
  }

  const ChannelGraph& g_;
  const Waits& waits_;
  const std::vector<u32> whole_;
  const u32 lanes_;
  std::vector<u8> seen_;
  std::map<u32, std::vector<u32>> others_;  // by representative: the other channels of its ring
  std::vector<Level> stack_;
};

// Places by the longest chain of dependencies from a node on, within each lane if packets do not change lanes. So
// channels of first hops come before those of last hops. A channel that no route uses in a lane comes last.
std::vector<u32> places_of(const ChannelGraph& g, const Waits& waits, u32 lanes, bool change) {
  std::vector<u32> before(std::size_t{g.channels} * lanes, 0), chain = before, place = before, order;
  const auto each_next = [&](u32 node, auto&& visit) {
    const u32 first = g.first[g.to[node / lanes]], end = g.first[g.to[node / lanes] + 1];
    worked();
    for (u32 c = first; c < end; c++)
      for (u64 left = waits.waits(node / lanes, c - first, node % lanes); left; left &= left - 1)
        visit(c * lanes + static_cast<u32>(__builtin_ctzll(left)));
  };
  for (u32 node = 0; node < before.size(); node++) each_next(node, [&](u32 next) { before[next]++; });
  for (u32 node = 0; node < before.size(); node++)
    if (before[node] == 0) order.push_back(node);
  for (u32 at = 0; at < order.size(); at++)
    each_next(order[at], [&](u32 next) {
      if (--before[next] == 0) order.push_back(next);
    });
  for (std::size_t at = order.size(); at-- > 0;)
    each_next(order[at], [&](u32 next) { chain[order[at]] = std::max(chain[order[at]], chain[next] + 1); });
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    if (!change && a % lanes != b % lanes) return a % lanes < b % lanes;
    return chain[a] > chain[b];
  });
  for (u32 at = 0; at < order.size(); at++) place[order[at]] = at + 1;
  return place;
}

}  // namespace

std::vector<LaneChannel> find_cycle(const ChannelGraph& g, const ForwardingTable& table, std::vector<u32>* place) {
  const u32 lanes = table.classes();
  Waits waits(g, lanes, table.lanes > 0);
  if (table.source_routed() || table.lanes) {
    note_routes(g, table, waits);
  } else {
    Tree tree(g);
    std::vector<u64> passing(g.switches);
    for (u32 d = 0; d < table.destinations(); d++) {
      tree.follow(table, d);
      std::fill(passing.begin(), passing.end(), 0);
      tree.each([&](u32 s, u32 c) {
        const u64 layers = passing[s] | layers_from(g, table, s, d);
        passing[g.to[c]] |= layers;
        if (const u32 next = tree.next[g.to[c]]; next != kNone) waits.same_lane(c, next, layers);
      });
    }
  }
  auto cycle = Search(g, waits, ring_representatives(g, table), lanes).cycle();
  if (place && cycle.empty()) *place = places_of(g, waits, lanes, table.lanes > 0);
  return cycle;
}

std::string cycle_name(const ChannelGraph& g, const std::vector<LaneChannel>& cycle) {
  constexpr std::size_t kShown = 12;
  std::string text;
  bool one_lane = true;
  for (const LaneChannel& at : cycle) one_lane &= at.lane == cycle.front().lane;
  for (std::size_t k = 0; k < cycle.size() && k < kShown; k++)
    text += (k ? ", " : "") + g.channel_name(cycle[k].channel) +
            (one_lane ? "" : " (lane " + std::to_string(cycle[k].lane) + ")");
  if (cycle.size() > kShown) text += ", ... (" + std::to_string(cycle.size()) + " channels)";
  return cycle.empty() ? text : text + (one_lane ? " in lane " + std::to_string(cycle.front().lane) : "");
}

}  // namespace flitgym::tables
