#include "tables/layering.hpp"

namespace flitgym::tables {

DependencyIndex::DependencyIndex(const ChannelGraph& g) : g_(g) {
  first_.reserve(g.channels + 1);
  first_.push_back(0);
  for (u32 c = 0; c < g.channels; c++) first_.push_back(first_.back() + (g.first[g.to[c] + 1] - g.first[g.to[c]]));
}

AcyclicLayer::AcyclicLayer(const DependencyIndex& index) : index_(&index) {
  const ChannelGraph& g = index.graph();
  g.claim(index.size() * 8 + u64{g.channels} * 5, "a virtual layer's dependencies between ", g.channels, " channels");
  count_.assign(index.size(), 0);
  refused_.assign(index.size(), 0);
  place_.resize(g.channels);
  std::iota(place_.begin(), place_.end(), 0u);
  marked_.assign(g.channels, 0);
}

bool AcyclicLayer::add(u32 c, u32 next) {
  const u64 at = index_->at(c, next);
  if (count_[at] == 0) {
    if (refused_[at] == epoch_) return false;
    if (place_[c] > place_[next] && !make_room(c, next)) {
      refused_[at] = epoch_;
      return false;
    }
  }
  count_[at]++;
  return true;
}

void AcyclicLayer::remove(u32 c, u32 next) {
  if (--count_[index_->at(c, next)] == 0) next_epoch();
}

void AcyclicLayer::next_epoch() {
  if (++epoch_) return;
  std::fill(refused_.begin(), refused_.end(), 0);
  epoch_ = 1;
}

void AcyclicLayer::clear() {
  std::fill(count_.begin(), count_.end(), 0);
  next_epoch();
}

bool AcyclicLayer::add_route(std::span<const u32> channels) {
  effort_ += channels.size();
  // A dependency that was refused on its own cannot be added. Most refused routes fail this quick test.
  for (std::size_t k = 1; k < channels.size(); k++)
    if (refused_[index_->at(channels[k - 1], channels[k])] == epoch_) return false;
  bool fits = true;
  added_.clear();
  for (std::size_t k = 1; fits && k < channels.size(); k++) {
    const u32 c = channels[k - 1], next = channels[k];
    const u64 at = index_->at(c, next);
    if (count_[at]) continue;
    if (place_[c] > place_[next] && !make_room(c, next)) {
      fits = false;
      if (added_.empty()) refused_[at] = epoch_;  // otherwise dependencies of the same route may cause the cycle
    } else {
      count_[at] = 1;
      added_.push_back(static_cast<u32>(k));
    }
  }
  for (const u32 k : added_) count_[index_->at(channels[k - 1], channels[k])] = 0;
  if (!fits) return false;  // the order is also valid without the removed dependencies
  for (std::size_t k = 1; k < channels.size(); k++) count_[index_->at(channels[k - 1], channels[k])]++;
  return true;
}

// Algorithm of Pearce and Kelly. The channels before c that `next` reaches, and the channels after `next` that reach c,
// exchange positions. All others stay. The two searches alternate. If they meet, there is a cycle, so a cycle is found
// early.
bool AcyclicLayer::make_room(u32 c, u32 next) {
  const u32 low = place_[next], high = place_[c];
  ahead_.assign(1, next);
  behind_.assign(1, c);
  marked_[next] = kAhead;
  marked_[c] = kBehind;
  bool free = c != next;
  for (std::size_t a = 0, b = 0; free && (a < ahead_.size() || b < behind_.size());) {
    if (a < ahead_.size()) free = forward(ahead_[a++], high);
    if (free && b < behind_.size()) free = backward(behind_[b++], low);
  }
  for (const u32 v : ahead_) marked_[v] = 0;
  for (const u32 v : behind_) marked_[v] = 0;
  worked(ahead_.size() + behind_.size());
  effort_ += ahead_.size() + behind_.size();
  if (!free) return false;
  const auto by_place = [&](u32 a, u32 b) { return place_[a] < place_[b]; };
  std::sort(behind_.begin(), behind_.end(), by_place);
  std::sort(ahead_.begin(), ahead_.end(), by_place);
  behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
  places_.clear();
  for (const u32 v : behind_) places_.push_back(place_[v]);
  std::sort(places_.begin(), places_.end());
  for (std::size_t k = 0; k < behind_.size(); k++) place_[behind_[k]] = places_[k];
  return true;
}

// Collects the channels on which c depends, up to position `bound`. Returns false on meeting the other search.
bool AcyclicLayer::forward(u32 c, u32 bound) {
  const ChannelGraph& g = index_->graph();
  const u32 begin = g.first[g.to[c]], end = g.first[g.to[c] + 1];
  const u32* const count = count_.data() + index_->first(c);
  for (u32 next = begin; next < end; next++) {
    if (count[next - begin] == 0 || place_[next] > bound || marked_[next] == kAhead) continue;
    if (marked_[next] == kBehind) return false;
    marked_[next] = kAhead;
    ahead_.push_back(next);
  }
  return true;
}

// Collects the channels that depend on c, down to position `bound`. Returns false on meeting the other search.
bool AcyclicLayer::backward(u32 c, u32 bound) {
  const ChannelGraph& g = index_->graph();
  const u32 s = g.from[c];
  for (u32 k = g.first[s]; k < g.first[s + 1]; k++) {
    const u32 before = g.reverse[k];
    if (count_[index_->at(before, c)] == 0 || place_[before] < bound || marked_[before] == kBehind) continue;
    if (marked_[before] == kAhead) return false;
    marked_[before] = kBehind;
    behind_.push_back(before);
  }
  return true;
}

}  // namespace flitgym::tables
