// Two states of one network whose futures are the same. State::hash() is of every bit; here packets go by their names
// instead of their places in the pool, times that have passed are all alike, and what was only counted is left out.
#pragma once

#include "simcore/state.hpp"

namespace flitgym::learning {

// Who decides on the ways of the packets to come: the routing, by what it sees then; or somebody who knows them
// already.
enum class Ahead : u8 { kRouted, kKnown };

// Can states of this network become equal again at all? Not where a learned table remembers everything and is asked
// again, nor where the order of a cycle's requests weighs in their decisions, which the hash leaves out.
bool futures_can_meet(const Network&, Ahead);

// Of all that decides what happens from here on, between two cycles. Equal: the same packets will arrive at the same
// cycles.
u64 future_hash(const Network&, const State&, Ahead);

}  // namespace flitgym::learning
