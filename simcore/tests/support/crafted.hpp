// A State that holds a single packet, and a Batch with the request of that packet. A test sets any congestion and sees
// which route the routing chooses at any router.
#pragma once

#include "simcore/route_computation.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace scenes {

struct Step {  // port: router-local
  u32 port, vc_class;
  auto operator<=>(const Step&) const = default;
};

struct Place {  // position of a head flit: the input VC is the first of its class
  u32 router, in_port, in_class;
};

struct Lone {
  std::shared_ptr<const Network> network;
  const Network& net;
  State state;
  Batch batch;

  explicit Lone(std::shared_ptr<const Network> built) : network(std::move(built)), net(*network) {
    initialise(net, state);
    Workspace workspace;
    prepare(net, workspace);
    batch = std::move(workspace.batch);
    resize(1);
  }
  // One packet per request.
  void resize(u32 requests) {
    batch.count = requests;
    state.packets.resize(requests);
    state.details.resize(requests);
    for (u32 id = 0; id < requests; id++) begin_packet(net, state, id);
    for (auto* ids : {&batch.input_vc, &batch.packet, &batch.router}) ids->resize(requests);
    for (auto* numbers : {&batch.in_port, &batch.in_vc, &batch.out_port, &batch.out_class}) numbers->resize(requests);
  }

  Packet& packet() { return state.packets[0]; }
  // The routing's memory of the packet, as bytes.
  std::vector<u8> kept() const {
    std::vector<u8> all;
    for (const u32 k : net.packet_memories)
      all.insert(all.end(), state.memory[k].begin(),
                 state.memory[k].begin() + static_cast<std::ptrdiff_t>(net.memories[k].entry_bytes()));
    return all;
  }
  void keep(const std::vector<u8>& all) {
    auto from = all.begin();
    for (const u32 k : net.packet_memories) {
      const auto size = static_cast<std::ptrdiff_t>(net.memories[k].entry_bytes());
      std::copy_n(from, size, state.memory[k].begin());
      from += size;
    }
  }
  u32& intermediate() { return *scenes::kept<u32>(net, state, "intermediate"); }
  // Makes a new packet and returns its first place.
  Place send(u32 source, u32 destination, u32 sequence = 0) {
    packet() = Packet{};
    begin_packet(net, state, 0);
    packet().source = source;
    packet().destination = destination;
    packet().sequence = sequence;
    packet().flits = 1;
    return {net.terminal_router[source], net.terminal_port[source], 0};
  }
  void request(u32 i, const Place& at, u32 id = 0) {
    batch.router[i] = at.router;
    batch.in_port[i] = static_cast<u16>(at.in_port);
    batch.in_vc[i] = static_cast<u16>(at.in_class);
    batch.input_vc[i] = net.vc_id(net.port(at.router, at.in_port), at.in_class);
    batch.packet[i] = id;
  }
  // The routing's choice.
  Step ask(const Place& at) {
    request(0, at);
    net.route(net, state, batch);
    mark_nonminimal(net, state, batch);
    return {batch.out_port[0], batch.out_class[0]};
  }
  // All candidates of the routing.
  std::vector<Step> candidates(const Place& at) {
    request(0, at);
    net.candidates(net, state, batch);
    std::vector<Step> steps;
    for (u32 k = batch.offsets[0]; k < batch.offsets[1]; k++)
      steps.push_back({batch.candidate_port[k], batch.candidate_class[k]});
    return steps;
  }
  bool ejects(u32 router, const Step& step) const { return !net.is_link(net.port(router, step.port)); }
  // The place after a step to another router.
  Place behind(u32 router, const Step& step) const {
    const u32 peer = net.channels[net.port(router, step.port)].peer;
    return {net.router_of_port(peer), net.local_port(peer), step.vc_class};
  }

  // Follows the path up to the ejection and calls visit(router, step) at every hop.
  template <class Visit>
  u32 walk(u32 source, u32 destination, u32 sequence, Visit&& visit) {
    return walk_on(send(source, destination, sequence), visit);
  }
  template <class Visit>
  u32 walk_on(Place at, Visit&& visit) {
    for (;;) {
      const Step step = ask(at);
      if (ejects(at.router, step)) {
        if (at.router != net.terminal_router[packet().destination] ||
            step.port != net.terminal_port[packet().destination])
          throw testing::Failure("ejected at router " + std::to_string(at.router));
        return packet().hops;
      }
      visit(at.router, step);
      at = behind(at.router, step);
      if (++packet().hops > net.routing_facts.max_hops)
        throw testing::Failure(net.routing_name + " takes more hops than it says");
    }
  }
};

inline Lone lone(const Section& topology, const Section& routing, const Values& router = input_queued()) {
  return Lone(build(config(topology, router, routing, {"uniform", {}})));
}

// Puts all flits of a port on one VC: `queued` in the output queue, `downstream` in the buffer of the next router.
inline void congest(Lone& lone, u32 router, u32 port, u32 vc, u32 queued, u32 downstream) {
  Port& o = lone.state.ports[lone.net.port(router, port)];
  OutputVc& out = lone.state.output_vcs[lone.net.vc_id(lone.net.port(router, port), vc)];
  o.load += queued + downstream - out.count - (lone.net.router.input_depth - out.credits);
  o.queued += queued - out.count;
  out.count = static_cast<u16>(queued);
  out.credits = static_cast<u16>(lone.net.router.input_depth - downstream);
  if (const Sensed& sensed = lone.net.sensed; sensed.kept())
    sensed.memory.of(lone.state)[sensed.at(lone.net.port(router, port), vc)] =
        static_cast<u16>(sensed.queue() * queued + sensed.slots() * downstream);
}

}  // namespace scenes
