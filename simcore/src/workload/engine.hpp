// The schedule engine: ranks run their programs, and messages go through the network (network_interface.cpp).
#pragma once

#include "simcore/workload.hpp"
#include "stage/stage.hpp"

namespace flitgym {

void shape_workload(const Network& network, State& state, Shaper& make);
void start_workload(const Network& network, State& state);

// Everything that is due at the hosts up to a time in ps. May be interrupted between two events.
void host_events(Frame& f, u64 until);

void push_event(State& s, u64 when, HostAction action, u32 id);
void put_event(State& s, const HostEvent& event);  // one whose order is known

// network_interface.cpp
u32 new_message(State& s);
void free_message(State& s, u32 id);
void hand_over(Frame& f, u32 message);                 // the present transfer of a message goes to its NIC
void fill_from_outbox(Frame& f, u32 terminal);         // packets into the NIC's buffer while there is room
void packet_delivered(Frame& f, u32 packet);           // its tail has reached its terminal

inline bool from_destination(Transfer t) { return t == Transfer::kFetch || t == Transfer::kAcknowledge; }
inline bool carries_data(Transfer t) { return t == Transfer::kEager || t == Transfer::kData; }

// What the ranks that have not finished wait for, the first `most` of them, a line each.
std::string waiting_report(const Network& network, const State& state, u32 most);

}  // namespace flitgym
