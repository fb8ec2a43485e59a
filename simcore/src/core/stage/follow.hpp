// Moves packets that keep together flit by flit (router.packet_stepping=flit). The heads move as in train.hpp, and the
// functions here move the flits that follow. The model is the same, but the time at which a tail passes is not
// calculated. Every port and VC is visited in every cycle, so this implementation is slow. It is the reference for
// tests of trains.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

struct Frame;

void declare_followers(Network& net);  // declares the memory for positions of flits

// Handles an arriving flit. Returns true for a head at a router, which the caller adds to the input VC.
bool follow_arrival(Frame& f, const FlitEvent& e);
void follow_on_channel(Frame& f, u32 port, u32 vc, u32 packet);  // the head has started on the channel
// The head has won the switch.
void follow_through_crossbar(Frame& f, u32 input_vc, u32 output_vc, u32 packet);
void follow_channels(Frame& f);   // sends the flits that start on channels in this cycle
void follow_crossbars(Frame& f);  // moves the flits that cross the crossbar in this cycle
void follow_waits(Frame& f);      // counts this cycle for each channel that carries flits (core/hosts/blame.hpp)

// Number of flits of packets whose head has reached its terminal and whose tail has not.
u64 flits_at_terminals(const Network& net, const State& s);

}  // namespace flitgym
