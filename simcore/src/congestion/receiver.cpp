// Credits from the receiver, after Homa (Montazeri et al., SIGCOMM 2018), NDP (Handley et al., SIGCOMM 2017) and the
// receiver-credit control of Ultra Ethernet (RCCC). A receiver divides `total_bytes` equally among the sources that
// send to it, and each acknowledgement carries the share. A flow starts with `window_bytes` without credit.
//
// Differences: no packet is trimmed or lost, so credits need no list of the packets that must be sent again. A share is
// rounded up to whole packets. Sources announce no message sizes, so all sources are equal. A source counts as active
// if the receiver has heard it in the present or the previous period, of two round trips or two turns of all sources.
#include "simcore/control.hpp"
#include "simcore/routing/paths.hpp"

namespace flitgym::congestion::receiver {

struct Counts {
  Cycle begin;              // of the present period
  u32 period, now, before;  // number of the period; sources heard in it, and in the one before it
};

struct Rule : ComponentData {
  std::vector<u32> place;  // [terminals] index of a terminal among those of its router
  u32 places = 1;          // most terminals of a router
  u32 total = 1;           // packets that all sources of a receiver together may have in flight
  Kept<u32> counts;        // [routers, places] Counts
  Kept<u32> heard;         // [routers, places, flows] period in which the receiver has heard the source
};

static u32 grant(const Network& net, State& s, const Control& control, const Packet& p, Cycle now) {
  const Rule& rule = rule_of<Rule>(control);
  const std::size_t own = std::size_t{net.terminal_router[p.destination]} * rule.places + rule.place[p.destination];
  Counts& counts = reinterpret_cast<Counts*>(rule.counts.of(s))[own];
  u32& heard = rule.heard.of(s)[own * control.flows + p.source % control.flows];
  const u32 turn = std::max(counts.now, counts.before) * control.packet * net.flit_cycles_host;
  const u32 length = 2 * std::max(control.round_trip, turn), passed = now - counts.begin;
  if (passed >= length) {
    counts = {now, counts.period + 1, 0, passed < 2 * length ? counts.now : 0};
  }
  if (heard != counts.period + 1) heard = counts.period + 1, counts.now++;
  const u32 active = std::max(counts.now, counts.before);
  return (rule.total + active - 1) / active * control.packet;
}

static void acknowledged(const Control&, SenderFlow& flow, const Acknowledgement& ack, Cycle) {
  flow.window = static_cast<float>(ack.grant);
}

static void setup(const Params& params, Network& net, Control& control) {
  auto rule = std::make_shared<Rule>();
  read_window(params, net, control);
  const double bytes = static_cast<double>(params.integer("total_bytes"));
  const double flits = bytes > 0 ? bytes / net.flit_bytes : static_cast<double>(control.product);
  rule->total = std::max(1u, static_cast<u32>(flits / control.packet));
  rule->place = routing::graph::places_at_routers(net);
  rule->places = std::ranges::max(rule->place) + 1;
  const MemoryShape counts{.name = "receiver_counts",
                           .meaning = "terminal x begin of the period, its number, sources in it, sources before",
                           .per = Per::kRouter,
                           .rows = rule->places,
                           .columns = sizeof(Counts) / sizeof(u32)};
  rule->counts = declare<u32>(net, counts);
  rule->heard = declare<u32>(net, {.name = "receiver_heard",
                                   .meaning = "terminal x flow: 1 + period in which the source was heard",
                                   .per = Per::kRouter,
                                   .rows = rule->places,
                                   .columns = control.flows});
  control.data = rule;
}

const Register<ControlSpec> entry({
    .name = "receiver",
    .summary = "the receiver divides its rate among the sources that send to it",
    .params = {window_param(),
               integer("total_bytes", 0, 0, 1 << 30, "bytes",
                       "bytes in flight to a receiver; 0 = bandwidth-delay product of the longest path"),
               flows_param(), ack_param()},
    .setup = setup,
    .acknowledged = acknowledged,
    .grant = grant,
});

}  // namespace flitgym::congestion::receiver
