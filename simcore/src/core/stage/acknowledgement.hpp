// Congestion control in the cycle: packets are held, marked and acknowledged (simcore/control.hpp). Call these
// functions only with Network::control.
#pragma once

#include "core/stage/frame.hpp"
#include "simcore/control.hpp"

namespace flitgym::control {

// Whether a packet may enter the NIC of its source now. If only time is missing, the terminal is tried again then.
bool may_go(Frame& f, u32 source, u32 destination, u32 flits);
void sent(Frame& f, u32 source, u32 destination, u32 flits);  // it has entered the NIC
void mark(const Network& net, State& s, const Batch& b);      // marks the packets of a batch that meet a long queue
// A packet has reached its terminal, so its acknowledgement sets out, or comes back. Returns whether its id is free.
bool delivered(Frame& f, u32 packet);
void returned(Frame& f);  // the stage: acknowledgements come back

void shape(const Network& net, State& s, Shaper& make);
void hand_over(const Network& net, State& s, Cycle from, Cycle until, u32 first, u32 end);  // see core/partition.hpp
bool idle(const State& s, u32 partition);                                                   // nothing is due

// The acknowledgement in a packet; null: it carries data.
inline Acknowledgement* carried(const Network& net, State& s, u32 packet) {
  if (!net.control->acks.kept()) return nullptr;
  auto* const own = reinterpret_cast<Acknowledgement*>(net.control->acks.of(s)) + packet;
  return own->flits ? own : nullptr;
}

}  // namespace flitgym::control
