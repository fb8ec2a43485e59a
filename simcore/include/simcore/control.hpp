// Congestion control: a NIC decides when its packets may enter the network. Routers may mark packets that meet a long
// queue. The receiver acknowledges each packet. The acknowledgement takes the time of an idle path back to the source
// and no bandwidth, or is itself a packet.
#pragma once

#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/state.hpp"

namespace flitgym {

// A control; one file in src/congestion. Its functions read and change only the flow, its own memory, and no time but
// `now`, so that a run is the same on any number of threads.
struct ControlSpec {
  std::string name, summary;
  std::vector<ParamSpec> params = {};
  // Sets Control::first, data and marks, and declares memory. Null: the NICs are not controlled.
  void (*setup)(const Params&, Network&, Control&) = nullptr;
  // Returns the first cycle in which a packet may go, or kNone: not before an acknowledgement. Null: the window
  // decides.
  Cycle (*may_go)(const Control&, const SenderFlow&, u32 flits, Cycle now) = nullptr;
  void (*sent)(const Control&, SenderFlow&, u32 flits, Cycle now) = nullptr;
  void (*acknowledged)(const Control&, SenderFlow&, const Acknowledgement&, Cycle now) = nullptr;
  // Called before may_go() and acknowledged(): time has passed since the last call.
  void (*elapsed)(const Control&, SenderFlow&, Cycle now) = nullptr;
  // Called at the receiver for every packet; returns Acknowledgement::grant.
  u32 (*grant)(const Network&, State&, const Control&, const Packet&, Cycle now) = nullptr;
  std::string plugin = {};  // plugin that registers it; empty: built in
};

struct Control {
  const ControlSpec* spec = nullptr;
  std::shared_ptr<const ComponentData> data;
  SenderFlow first = {};      // a flow at the beginning
  Kept<u32> pace;             // [routers, places, flows, 2] of rates: first cycle of the next packet, 1/65536 cycles
  std::vector<u32> place;     // [terminals] of rates: index of a terminal among those of its router
  u32 flows = 1;              // of a source
  u32 packet = 1;             // flits of the largest packet
  u32 ack_flits = 0;          // flits of an acknowledgement; 0: it is no packet
  u32 ack_class = 0;          // traffic class of acknowledgements
  Kept<u32> acks;             // [packet pool] the Acknowledgement that a packet carries; without flits: none
  u32 round_trip = 1;         // cycles of the longest path there and back without queueing
  u32 longest_return = 1;     // cycles of the longest way of an acknowledgement
  float product = 1;          // bandwidth-delay product of `round_trip`, flits
  u32 mark_flits = kNone;     // a packet that meets a longer queue is marked
  bool marks_at_end = false;  // only queues of ports to terminals count
  bool notices = false;       // such a port notifies the source when it marks a packet
  u32 period = 0;             // cycles between the decisions of an agent outside the core; 0: there is none
};

template <class Rule>
const Rule& rule_of(const Control& control) {
  return static_cast<const Rule&>(*control.data);
}

// Any window lets at least one packet go.
inline Cycle go_by_window(const SenderFlow& flow, u32 flits, Cycle now) {
  return flow.in_flight == 0 || static_cast<float>(flow.in_flight + flits) <= flow.window ? now : kNone;
}

inline SenderFlow& flow_of(const Network& net, State& s, u32 source, u32 destination) {
  const u32 flows = net.control->flows;
  return s.sender_flows[std::size_t{source} * flows + destination % flows];
}

// ---- src/core/control.cpp ----

ParamSpec flows_param();   // Control::flows
ParamSpec ack_param();     // Control::ack_flits
ParamSpec window_param();  // Control::first.window
ParamSpec mark_param();    // Control::mark_flits
// Read these parameters. Throw ConfigError if a window is smaller than a packet, or a mark would never be set.
void read_window(const Params& params, const Network& net, Control& control);
void read_mark(const Params& params, const Network& net, Control& control);
// Makes SenderFlow::window a rate, as a part of that of the link. It spaces the packets of a flow.
void use_rates(Network& net, Control& control, float first);
// Cycles of a parameter in ns; `usual` if it is 0.
double cycles_in(const char* key, const Params& params, const Network& net, double usual);
// Sets Network::control from the section `congestion_control`.
void choose_control(const Config& config, Network& net);

// ---- src/core/stage/acknowledgement.cpp ----

// Cycles from a NIC's acceptance of a head to its arrival at the destination, on an idle minimal path.
u32 idle_cycles(const Network& net, const Graph& graph, u32 source, u32 destination);

// ---- src/congestion/agent.cpp, for agents outside the core: only with Control::period ----

namespace congestion::agent {

extern const std::vector<Feature> features;
extern const std::vector<float> factors;  // that a decision multiplies the window by

bool asks(const Control&, const SenderFlow&, Cycle now);
void observe(const Control&, const SenderFlow&, Cycle now, float* row);  // of a flow that asks; [features]
void decide(const Control&, SenderFlow&, Cycle now, u32 factor);

}  // namespace congestion::agent

}  // namespace flitgym
