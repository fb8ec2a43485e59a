// Partitions: a network is cut into ranges of routers, which are simulated independently for a window of cycles.
//
// An event from one partition to another takes at least `lookahead` cycles, the shortest delay of the channels between
// them (conservative parallel simulation: Chandy and Misra, CACM 24(4), 1981). So a partition can run a window of that
// many cycles before it needs the events of the others. Its state stays in the cache during the window, and several
// threads can run several partitions.
//
// Events that leave a partition go onto separate delay lines. At the end of the window they are handed over, cycle by
// cycle and within a cycle in the order of the partitions that sent them. The cut depends only on the configuration. So
// the state of a run depends neither on Simulation::set_threads() nor on how the run is split into calls.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// Cuts a network whose routing and traffic are known into `wanted` partitions; 0: a number that fits the caches, and at
// least `threads`. Channels between partitions get separate delay lines.
void choose_partitions(Network& net, u32 wanted, u32 threads);

// Gives each partition packet ids for all packets that its terminals may inject in a window, because the pool cannot
// grow within a window.
void provide_packets(const Network& net, State& s);
u64 packets_provided(const Network& net);  // for the first window of all; 0 with one partition

// Hands over the events that were sent to the partitions `first` .. `end`-1 in the cycles `from` .. `until`-1 of this
// window. Several threads may read the outgoing lines of a partition at the same time. forget_sent() then empties them.
void hand_over(const Network& net, State& s, Cycle from, Cycle until, u32 first, u32 end);
void forget_sent(const Network& net, State& s);

// Moves time forward to the next event, at most to `until`, if the network is idle until then. The state is the same as
// after stepping through these cycles. Only with a workload (idle.cpp).
void skip_idle(const Network& net, State& s, Cycle until);

// The first cycle after `now` that all partitions must reach together: the end of a window or a change of links.
Cycle window_end(const Network& net, const State& s, Cycle now);

}  // namespace flitgym
