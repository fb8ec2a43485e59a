// Local knowledge of a router, as times relative to the mean hop of the network (Seam::hop_scale_ns). A value then has
// the same meaning for every link rate, buffer depth, packet length, network size and topology. A queue is given as the
// time that the link needs to send it. For example, 20 flits of 32 ns and 120 flits of 5.3 ns count alike.
#include "learning/hops.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::relative {

// Heads of input VCs that request this output now. On a router without output queues, these heads are the queue.
u32 heads_asking(const Network& net, const State& s, u32 port) {
  if (net.router.crossbar_per_vc) return 0;  // with one crossbar port per VC they do not compete
  const u64* const words = &s.requests[std::size_t{port} * net.request_words];
  if (net.request_words == 1) return static_cast<u32>(std::popcount(*words));
  u32 heads = 0;
  for (u32 w = 0; w < net.request_words; w++) heads += static_cast<u32>(std::popcount(words[w]));
  return heads;
}

void write(const Network& net, const State& s, const Asked& asked, float* general, float* slots, u32 stride) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const Packet& p = asked.packet;
  const float per_ns = 1.0f / seam.hop_scale_ns;
  const float per_cycle = per_ns * static_cast<float>(net.cycle_ns);
  const Way way(net, graph, asked);
  const u32 hops = way.hops(asked.router);
  const float direct = way.flight_ns(asked.router);

  const Port* const ports = &s.ports[net.port(asked.router, 0)];
  const Channel* const channels = &net.channels[net.port(asked.router, 0)];
  u32 backlog = 0, links = 0;  // cycles
  each_link(net, graph, asked.router, [&](u32 k) {
    backlog += ports[k].load * channels[k].flit_cycles;
    links++;
  });
  const u32 in_port = net.port(asked.router, asked.in_port);
  const InputVc& in = s.input_vcs[net.vc_id(in_port, asked.in_vc)];
  const u32 size = p.flits * channels[asked.ports[0]].flit_cycles;
  const float age = static_cast<float>(asked.now - p.injected) * per_cycle;
  general[0] = std::min(static_cast<float>(hops) * 0.125f, 4.0f);
  general[1] = bounded(direct * per_ns);
  general[2] = std::min(static_cast<float>(p.hops) * 0.125f, 4.0f);
  general[3] = bounded(static_cast<float>(size) * per_cycle);
  general[4] = bounded(static_cast<float>(backlog) * per_cycle / static_cast<float>(links));
  general[5] = bounded(static_cast<float>(in.count * channels[asked.ports[0]].flit_cycles) * per_cycle);
  general[6] = age / (age + 8.0f);

  const float room = 1.0f / static_cast<float>(net.router.input_depth + net.router.output_depth);
  const u32 first_port = net.port(asked.router, 0);
  const u32* const next_routers = &seam.next_router[first_port];
  const float* const hop_ns = &seam.hop_ns[first_port];
  const OutputVc* const output_vcs = &s.output_vcs[net.vc_id(first_port, 0)];
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 local = asked.ports[k], next = next_routers[local];
    const float flit = static_cast<float>(channels[local].flit_cycles) * per_cycle;
    const u32 queued = ports[local].queued;
    const u32 least = ahead_in_class(net, output_vcs + net.vc_id(local, 0), asked.classes[k]);
    const auto more_hops = static_cast<float>(1 + way.hops(next)) - static_cast<float>(hops);
    slots[0] = bounded(static_cast<float>(queued) * flit);
    slots[1] = bounded(static_cast<float>(ports[local].load - queued) * flit);
    slots[2] = bounded(static_cast<float>(least) * flit);
    slots[3] = static_cast<float>(least) * room;
    slots[4] = bounded(static_cast<float>(heads_asking(net, s, first_port + local) * size) * per_cycle);
    slots[5] = std::clamp((hop_ns[local] + way.flight_ns(next) - direct) * per_ns, -8.0f, kMostRelative);
    slots[6] = more_hops * 0.5f;
    slots[7] = bounded(hop_ns[local] * per_ns);
  }
}

const Register<ObservationSpec> entry({
    .name = "relative",
    .summary = "path, packet and queues, as times relative to the mean hop of the network",
    .general = {{"hops_left", 0, 32, "router-to-router hops of a minimal path / 8"},
                {"time_left", 0, kMostRelative, "time along a minimal path without queueing / mean hop"},
                {"hops", 0, 4, "router-to-router hops so far / 8"},
                {"packet_time", 0, kMostRelative, "time that the packet needs on a link / mean hop"},
                {"backlog", 0, kMostRelative,
                 "time of the flits queued for a link or without returned credit, mean over links / mean hop"},
                {"behind", 0, kMostRelative, "time of the flits in the packet's input buffer / mean hop"},
                {"age", 0, 1, "age a since the NIC accepted the packet: a / (a + 8 mean hops)"}},
    .per_slot = {{"queued", 0, kMostRelative, "time of the flits in the link's output queues / mean hop"},
                 {"uncredited", 0, kMostRelative, "time of the flits sent without returned credit / mean hop"},
                 {"class_time", 0, kMostRelative,
                  "time of the queued and uncredited flits in the emptiest VC of the packet's class / mean hop"},
                 {"class_fill", 0, 1, "queued and uncredited flits in that VC / size of its buffers"},
                 {"asking", 0, kMostRelative,
                  "time of the packets that request the link now, taken as equally long / mean hop; with "
                  "allocation=sequential also of those that the router has routed to it earlier in this cycle"},
                 {"more_time", -8, kMostRelative,
                  "time that the path through this candidate is longer, without queueing / mean hop"},
                 {"more_hops", -1, 16, "extra hops of the path through this candidate / 2"},
                 {"hop_time", 0, kMostRelative, "time of the hop itself / mean hop"}},
    .write = write,
    .local = true,
    .distances = true,
});

}  // namespace flitgym::learning::observation::relative
