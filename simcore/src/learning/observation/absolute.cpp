// The blocks of the default observation besides q_values. Times are in us, and queues are relative to the buffers.
#include "learning/hops.hpp"
#include "simcore/registry.hpp"

namespace flitgym::learning::observation::absolute {

void write_progress(const Network& net, const State&, const Asked& asked, float* general, float*, u32) {
  const Packet& p = asked.packet;
  general[0] = std::min(p.hops * 0.125f, 4.0f);
  general[1] = std::min(static_cast<float>((asked.now - p.injected) * net.cycle_ns) * 0.001f, 100.0f);
  general[2] = std::min(p.flits * 0.0625f, 16.0f);
}

const Register<ObservationSpec> progress({
    .name = "progress",
    .summary = "hops so far, age and size of the packet",
    .general = {{"hops", 0, 4, "router-to-router hops so far / 8"},
                {"age", 0, 100, "us since the NIC accepted the packet"},
                {"size", 0, 16, "flits / 16"}},
    .write = write_progress,
    .local = true,
});

void write_router(const Network& net, const State& s, const Asked& asked, float* general, float*, u32) {
  const float room = 1.0f / static_cast<float>(net.router.input_depth + net.router.output_depth);
  const Port* const ports = &s.ports[net.port(asked.router, 0)];
  u32 sum = 0, most = 0, links = 0;
  each_link(net, graph_now(net, s), asked.router, [&](u32 k) {
    sum += ports[k].load;
    most = std::max(most, ports[k].load);
    links++;
  });
  const InputVc& in = s.input_vcs[net.vc_id(net.port(asked.router, asked.in_port), asked.in_vc)];
  general[0] = std::min(static_cast<float>(sum) * room / static_cast<float>(links), 32.0f);
  general[1] = std::min(static_cast<float>(most) * room, 32.0f);
  general[2] = std::min(static_cast<float>(in.count) / static_cast<float>(net.router.input_depth), 1.0f);
}

const Register<ObservationSpec> router({
    .name = "router",
    .summary = "load of the router's links, and the packet's input buffer",
    .general =
        {{"load_mean", 0, 32,
          "flits queued for a link or without returned credit, mean over links / buffer size of one VC in flits"},
         {"load_max", 0, 32, "the same for the fullest link"},
         {"queue", 0, 1, "flits in the packet's input buffer / depth of the buffer"}},
    .write = write_router,
    .local = true,
});

// Queues and credits of each candidate, the same data that UGAL reads.
void write_queues(const Network& net, const State& s, const Asked& asked, float*, float* slots, u32 stride) {
  const float room = 1.0f / static_cast<float>(net.router.input_depth + net.router.output_depth);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]);
    slots[0] = std::min(static_cast<float>(s.ports[port].load) * room, 32.0f);
    slots[1] = static_cast<float>(ahead_in_class(net, &s.output_vcs[net.vc_id(port, 0)], asked.classes[k])) * room;
  }
}

const Register<ObservationSpec> queues({
    .name = "queues",
    .summary = "flits ahead of the packet, by link and by VC class",
    .per_slot = {{"link", 0, 32,
                  "flits queued for the link or without returned credit, all VCs / buffer size of one VC in flits"},
                 {"class", 0, 1, "the same for the emptiest VC of the packet's class"}},
    .write = write_queues,
    .local = true,
});

void write_path(const Network& net, const State& s, const Asked& asked, float* general, float* slots, u32 stride) {
  const Seam& seam = *net.seam;
  const Graph& graph = graph_now(net, s);
  const Way way(net, graph, asked);
  const u32 hops = way.hops(asked.router);
  const float direct = way.flight_ns(asked.router);
  general[0] = static_cast<float>(hops) * 0.125f;
  general[1] = std::min(direct * 0.001f, 100.0f);
  for (u32 k = 0; k < asked.slots; k++, slots += stride) {
    const u32 port = net.port(asked.router, asked.ports[k]), next = seam.next_router[port];
    slots[0] = std::clamp((seam.hop_ns[port] + way.flight_ns(next) - direct) * 0.001f, -10.0f, 100.0f);
    slots[1] = static_cast<float>(static_cast<int>(1 + way.hops(next)) - static_cast<int>(hops)) * 0.5f;
    slots[2] = std::min(seam.hop_ns[port] * 0.001f, 100.0f);
    slots[3] = k == 0;
  }
}

const Register<ObservationSpec> path({
    .name = "path",
    .summary = "length of the path to the destination, and how much longer each candidate makes it",
    .general = {{"hops_left", 0, 32, "router-to-router hops of a minimal path / 8"},
                {"time_left", 0, 100, "us along a minimal path without queueing"}},
    .per_slot = {{"more_time", -10, 100, "us that the path through this candidate is longer, without queueing"},
                 {"more_hops", -1, 16, "extra hops of the path through this candidate / 2"},
                 {"hop_time", 0, 100, "us of the hop itself"},
                 {"minimal", 0, 1, "1: the candidate of the minimal path"}},
    .write = write_path,
    .local = true,
    .distances = true,
});

}  // namespace flitgym::learning::observation::absolute
