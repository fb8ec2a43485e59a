// Flows, as hash-based routings distinguish them, and the hash that selects a port.
#pragma once

#include "simcore/routing/paths.hpp"

namespace flitgym::routing::graph {

struct Flows {
  bool by_message = false, shared_hash = false;

  // Names the flow of a packet. Without a workload every packet is a message.
  u64 name(const Network& net, const State& s, u32 packet) const {
    const Packet& p = s.packets[packet];
    const u64 pair = mix64(u64{p.source} << 32 | p.destination);
    if (!by_message) return pair;
    return mix64(pair ^ (net.workload ? s.payloads[packet].number : p.sequence));
  }
  u32 index(const Network& net, u64 flow, u32 router, u32 n) const {
    return below(mix64(mix64(flow + net.seed) + (shared_hash ? 0 : router + 1)), n);
  }
};

inline ParamSpec flow_param() {
  return choice("flow", "pair", {"pair", "message"},
                "packets that take one path: pair = all packets of a source and a destination; message = the packets "
                "of one message (without a workload, each packet is a message)");
}
inline ParamSpec hash_param() {
  return choice("hash", "per_router", {"per_router", "shared"},
                "per_router = each router has another hash function; shared = all routers have the same function, so "
                "that the choices of successive routers depend on each other (hash polarisation)");
}
inline Flows flows_of(const Params& params) {
  return {params.text("flow") == "message", params.text("hash") == "shared"};
}

}  // namespace flitgym::routing::graph
