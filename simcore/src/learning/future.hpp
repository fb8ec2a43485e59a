// Detects that two states of one network have the same future. State::hash() covers every bit. The hash here identifies
// packets by name instead of pool index, treats all past times alike, and omits statistics.
#pragma once

#include "simcore/state.hpp"

namespace flitgym::learning {

// Selects how the routes of later packets are decided: by the routing from the state that it then sees (kRouted), or as
// in a recorded run (kKnown).
enum class Ahead : u8 { kRouted, kKnown };

// Returns whether states of this network can become equal again. They cannot if a learned table, which depends on its
// whole history, will be read again. They cannot either if decisions depend on the order of requests within a cycle,
// which the hash omits.
bool futures_can_meet(const Network&, Ahead);

// Hash of all data that determines the future, between two cycles. If two hashes are equal, the same packets arrive in
// the same cycles.
u64 future_hash(const Network&, const State&, Ahead);

}  // namespace flitgym::learning
