// Traffic classes. Each class has its own VCs at every port: a copy of the VCs that the routing needs. A packet stays
// in the VCs of its class, so the classes are as free of deadlock as the routing. Outputs arbitrate among classes first
// (src/core/stage/class_arbitration.hpp). Model: De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect",
// SC 2020.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

struct TrafficClass {
  std::string name;
  u32 rank;             // 1 + number of classes with a higher priority
  double share, limit;  // of the bandwidth of each output: guaranteed while packets wait, and at most
  double sources;       // part of the terminals whose traffic pattern or drawn flows belong to it
};

// The first rule that fits a message decides its class.
struct ClassRule {
  enum class Fits : u8 { kJob, kControl, kCollective, kBelow };
  Fits fits;
  u64 value;  // number of a job, or bytes
  u32 to;
};

struct TrafficClasses {
  std::vector<TrafficClass> all;
  std::vector<ClassRule> rules;
  std::vector<u8> of_terminal;  // [terminals] of synthetic traffic and drawn flows
  bool listed = false;          // a file gives the classes of flows
  double packet = 0;            // cycles of the longest packet on the slowest channel
  double slack = 0;             // cycles for which an unused share or limit is kept
  // [ports, channel and crossbar, classes, share and limit] cycle up to which the sent flits use the share or limit
  Kept<double> used;
  Kept<double> sums;     // [partitions, classes] packets, flits, hops, sum of latencies and longest latency, cycles
  Kept<u32> histograms;  // [partitions, classes, bins] latency of packets
  u32 count() const { return static_cast<u32>(all.size()); }
};
inline constexpr u32 kClassSums = 5;

inline u32 class_count(const Network& net) { return net.classes ? net.classes->count() : 1; }
inline u32 class_of_vc(const Network& net, u32 vc) { return vc / net.class_vcs; }

// ---- src/core/traffic_classes.cpp ----

const std::vector<ParamSpec>& class_params();  // of each entry of router.classes
// Reads router.classes before the routing is chosen; null without classes.
std::shared_ptr<TrafficClasses> read_classes(const Config& config, Network& net);
// The rest, when all other parts of the network are known.
void finish_classes(const Config& config, TrafficClasses& classes, Network& net);
u32 class_of_message(const Network& net, const Message& m);
void count_class(const Network& net, State& s, u32 partition, const Packet& packet, u32 latency);
void clear_class_sums(const Network& net, State& s);

}  // namespace flitgym
