// The flits behind their heads, one by one, for packets that keep together (router.packet_stepping=flit). The same
// model as trains (train.hpp) without their arithmetic: nobody knows when a tail will have passed until it has. Every
// place is looked at in every cycle, so this is slow; it is there to check the other against.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

struct Frame;

void declare_followers(Network& net);  // what it remembers

// An event of a channel; returns whether it is the head of a packet at a router, which the caller lets in.
bool follow_arrival(Frame& f, const FlitEvent& e);
void follow_on_channel(Frame& f, u32 port, u32 vc, u32 packet);  // its head has started on the channel
// And has won the switch.
void follow_through_crossbar(Frame& f, u32 input_vc, u32 output_vc, u32 packet);
void follow_channels(Frame& f);   // flits that start on channels in this cycle
void follow_crossbars(Frame& f);  // and those that cross
void follow_waits(Frame& f);      // a cycle in which packets wait for channels that carry others (workload/blame.hpp)

// Flits of packets whose head has reached its terminal and whose tail has not.
u64 flits_at_terminals(const Network& net, const State& s);

}  // namespace flitgym
