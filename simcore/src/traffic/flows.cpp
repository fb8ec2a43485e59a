// Flows. Without sizes and without a file, named terminals send packets to one destination each, which serves small
// networks whose best routing is known. With sizes, flows are drawn: Poisson arrivals at every terminal, or at random
// groups of terminals (incast). A file lists flows (simcore/_demand.py).
#include "core/traffic_setup.hpp"
#include "simcore/traffic/draws.hpp"
#include "traffic/flow_sizes.hpp"

namespace flitgym::traffic::flows {

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Partners>();
  auto sources = params.counts("sources"), destinations = params.counts("destinations");
  if (sources.empty() && destinations.empty())
    for (u32 t = 0; t < net.terminals; t++) {
      sources.push_back(t);
      destinations.push_back((t + net.terminals / 2) % net.terminals);
    }
  if (sources.size() != destinations.size())
    throw ConfigError("traffic.flows.destinations: ", destinations.size(), " destinations for ", sources.size(),
                      " sources; a flow has one of each");
  data->to.assign(net.terminals, kNone);
  for (std::size_t k = 0; k < sources.size(); k++) {
    for (const u32 t : {sources[k], destinations[k]})
      if (t >= net.terminals)
        throw ConfigError("traffic.flows: terminal ", t, " does not exist; the network has ", net.terminals,
                          " terminals");
    if (data->to[sources[k]] != kNone)
      throw ConfigError("traffic.flows.sources: terminal ", sources[k], " appears twice; a terminal has one flow");
    data->to[sources[k]] = destinations[k];
  }
  return data;
}

struct Drawn : FlowProgram {
  FlowSizes sizes;
  Pattern pattern;
  std::vector<double> gap;  // [ranks] mean time between two flows in ps; 0: the rank is silent
  u64 seed = 0;

  u64 bytes(u32 rank, u64 number) const { return sizes.drawn(unit(draw(seed, u64{rank} << 32 | number, kDrawSize))); }
  u64 after(u64 before, double mean, u32 rank, u64 number) const {
    const double gap_ps = -log_unit(unit(draw(seed, u64{rank} << 32 | number, kDrawGap))) * mean;
    return before + static_cast<u64>(std::min(1e18, gap_ps));
  }
  Flow flow(const Network& net, u32 rank, u64 number) const override {
    const u32 n = static_cast<u32>(number);
    return {bytes(rank, number), pattern.destination(net, *pattern.data, seed, rank, n, n, 0), 0};
  }
  u64 flow_time(u32 rank, u64& number, u64 before) const override {
    return gap[rank] > 0 ? after(before, gap[rank], rank, number) : kNoFlow;
  }
};

// All flows of an event begin at the same time. Terminal t has the place a (t - receiver) mod n in a random order,
// where a has no factor in common with n. The receiver has place 0, and the senders have the next places.
struct Incast : Drawn {
  u32 senders = 0;

  u32 receiver(u64 event) const { return below(draw(seed, event, kDrawFlow), ranks); }
  bool sends(u32 rank, u64 event) const {
    u32 factor = 0;
    for (u64 k = 1; std::gcd(factor, ranks) != 1; k++) factor = below(draw(seed, event, kDrawFlow + k), ranks);
    const u64 place = u64{factor} * (rank + ranks - receiver(event)) % ranks;
    return place >= 1 && place <= senders;
  }
  Flow flow(const Network&, u32 rank, u64 event) const override { return {bytes(rank, event), receiver(event), 0}; }
  u64 flow_time(u32 rank, u64& event, u64 before) const override {
    for (u64 when = before; gap[rank] > 0; event++, worked()) {
      when = after(when, gap[rank], kNone, event);
      if (sends(rank, event)) return when;
    }
    return kNoFlow;
  }
};

FlowSizes sizes_of(const Params& params) {
  FlowSizes sizes = flow_sizes(params.text("sizes"));
  if (params.text("sizes") == "points") {
    const auto &bytes = params.reals("point_bytes"), &shares = params.reals("point_shares");
    if (bytes.empty() || bytes.size() != shares.size() || shares.back() != 1)
      throw ConfigError("traffic.flows.point_shares: ", to_string(Value{shares}),
                        " for point_bytes = ", to_string(Value{bytes}),
                        "; each size needs a share, and the last share is 1");
    sizes = {{}, 1};
    for (std::size_t k = 0; k < bytes.size(); k++) {
      if (k > 0 && (bytes[k] <= bytes[k - 1] || shares[k] < shares[k - 1]))
        throw ConfigError("traffic.flows.point_bytes: point ", k + 1,
                          " is not above the one before; sizes increase, and shares do not decrease");
      sizes.points.push_back({bytes[k], shares[k]});
    }
  }
  const double scale = params.real("size_scale") > 0 ? params.real("size_scale") : sizes.scale;
  for (FlowSizes::Point& point : sizes.points) point.bytes *= scale;
  return sizes;
}

Pattern pattern_of(const Params& params, const Network& net) {
  const bool named = !params.reals("sources").empty() || !params.reals("destinations").empty();
  if (!named) return pattern_in_words("traffic.flows.pattern", params.text("pattern"), net);
  return {.data = setup(params, net), .destination = partner, .round_size = partner_round, .share = partner_share};
}

template <class T>
std::shared_ptr<T> drawn(const Params& params, const Network& net) {
  auto program = std::make_shared<T>();
  program->ranks = net.terminals;
  program->seed = net.seed;
  program->sizes = sizes_of(params);
  program->gap.assign(net.terminals, 0);
  return program;
}

std::shared_ptr<const Program> flows(const Params& params, const Network& net) {
  if (params.text("sizes") == "packets") return nullptr;
  const Section section = in_words("traffic.flows.pattern", params.text("pattern"));
  const double load = params.real("load"), flit_ps = net.flit_cycles_host * net.cycle_ns * 1000;
  const auto mean_ps = [&](const Drawn& program) {
    const u32 packet = packet_bytes_of(params, net);
    return program.sizes.mean_flits(packet, static_cast<u32>(net.flit_bytes)) * flit_ps;
  };
  if (section.name == "incast") {
    const auto program = drawn<Incast>(params, net);
    const Params own("traffic.incast", {integer("senders", 8, 1, net.terminals - 1, "", "")}, section.values, net.seed);
    program->senders = own.count("senders");
    if (load > 0) program->gap.assign(net.terminals, program->senders * mean_ps(*program) / (load * net.terminals));
    return program;
  }
  const auto program = drawn<Drawn>(params, net);
  program->pattern = pattern_of(params, net);
  const double mean = mean_ps(*program);
  for (u32 t = 0; t < net.terminals; t++) {
    const Pattern& p = program->pattern;
    const double own = load * (p.share ? p.share(net, *p.data, t) : 1);
    if (own > 0) program->gap[t] = mean / own;
  }
  return program;
}

const Register<TrafficSpec> entry({
    .name = "flows",
    .summary = "flows: drawn sizes and times, a file, or named terminals that send packets to one destination each",
    .params =
        {
            choice(
                "sizes", "packets", {"packets", "websearch", "hadoop", "storage", "points"},
                "distribution of the sizes of drawn flows (docs/flows.md): web search, Hadoop, Alibaba's storage, or "
                "own points; packets = single packets between named terminals"),
            real("size_scale", 0, 0, 1e6, "",
                 "factor on the sizes; 0 = 0.001 for websearch, 0.01 for hadoop, 0.05 for storage, 1 for points"),
            list("point_bytes", {}, 0, 1e12, "bytes", "sizes=points: sizes in ascending order"),
            list("point_shares", {}, 0, 1, "", "sizes=points: share of the flows up to each size; the last is 1"),
            choice(
                "pattern", "uniform self=false", {},
                "receivers of drawn flows: a pattern with its parameters, such as permutation, or 'incast senders=8'"),
            choice("file", "", {},
                   "a list of flows (.csv or .parquet) with the columns time_ns,source,destination,bytes[,class]"),
            choice("nic_order", "packet", {"packet", "message"},
                   "order in which a terminal sends: packet = packets of all its flows in turn, message = one flow "
                   "after the other"),
            integer_list("sources", {}, 0, 1 << 20, "",
                         "terminals that send; empty = every terminal, with sizes=packets to the terminal half the "
                         "network ahead"),
            integer_list("destinations", {}, 0, 1 << 20, "", "destination of each source, in the same order"),
        },
    .setup = setup,
    .destination = partner,
    .round_size = partner_round,
    .share = partner_share,
    .flows = flows,
});

}  // namespace flitgym::traffic::flows
