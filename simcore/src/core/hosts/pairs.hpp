// Pairs of ranks that have exchanged messages: a hash table with open addressing, one per partition. It grows with the
// number of pairs and never shrinks, because message numbers must not be reused.
#pragma once

#include "simcore/rng.hpp"
#include "simcore/state.hpp"

namespace flitgym::workload {

// Index at which the search for a pair begins in a table of `size` entries, a power of two.
inline std::size_t pair_home(u32 sender, u32 receiver, std::size_t size) {
  return mix64(u64{sender} << 32 | receiver) & (size - 1);
}

// Index of a pair, or of the free entry for it. The table must not be empty.
inline std::size_t pair_place(const std::vector<Pair>& pairs, u32 sender, u32 receiver) {
  std::size_t at = pair_home(sender, receiver, pairs.size());
  while (pairs[at].sender != kNone && (pairs[at].sender != sender || pairs[at].receiver != receiver))
    at = (at + 1) & (pairs.size() - 1);
  return at;
}

inline void grow_pairs(Hosts& hosts) {
  std::vector<Pair> larger(hosts.pairs.empty() ? 64 : hosts.pairs.size() * 2, Pair{kNone, kNone, 0, 0, 0, kNone});
  for (const Pair& pair : hosts.pairs)
    if (pair.sender != kNone) larger[pair_place(larger, pair.sender, pair.receiver)] = pair;
  hosts.pairs.swap(larger);
}

// The reference is valid until the next call.
inline Pair& pair_of(Hosts& hosts, u32 sender, u32 receiver) {
  if (2 * std::size_t{hosts.totals.pairs} >= hosts.pairs.size()) [[unlikely]]
    grow_pairs(hosts);
  Pair& pair = hosts.pairs[pair_place(hosts.pairs, sender, receiver)];
  if (pair.sender == kNone) {
    pair.sender = sender;
    pair.receiver = receiver;
    hosts.totals.pairs++;
  }
  return pair;
}

}  // namespace flitgym::workload
