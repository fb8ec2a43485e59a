// Partitions: a network is cut into ranges of routers, and each is simulated for a while on its own.
//
// Whatever goes from one partition to another takes at least `lookahead` cycles, the shortest delay of the channels
// between them (conservative parallel simulation: Chandy and Misra, CACM 24(4), 1981). So a partition may run a whole
// window of that many cycles before it must know what the others have sent, and its state stays in the cache meanwhile;
// and several threads may run several partitions. What leaves a partition is put on delay lines of their own; at the
// end of the window it is handed over, cycle by cycle and within a cycle in the order of the partitions it comes from.
// Cutting is a property of the network alone, so a run comes to the same state whoever runs its partitions, and however
// often it is called.
#pragma once

#include <functional>

#include "simcore/network.hpp"
#include "simcore/state.hpp"

namespace flitgym {

// Cuts a network whose routing and traffic are known; `wanted`: so many partitions, 0 = as the caches like it. Channels
// that lead from one to another get delay lines of their own.
void choose_partitions(Network& net, u32 wanted);

// Packet ids for whatever the terminals of each partition may inject in a window: the pool does not grow within one.
void provide_packets(const Network& net, State& s);
u64 packets_provided(const Network& net);  // for the first window of all; 0 with one partition

// What was sent to the partitions `first` .. `end`-1 in the cycles `from` .. `until`-1 of this window is handed over.
// Each partition's outgoing lines may be read by several threads meanwhile; forget_sent() empties them.
void hand_over(const Network& net, State& s, Cycle from, Cycle until, u32 first, u32 end);
void forget_sent(const Network& net, State& s);

// The first cycle after `now` at which everyone has to be at the same point: the end of a window, or links that change.
Cycle window_end(const Network& net, const State& s, Cycle now);

}  // namespace flitgym
