// Q-adaptive (Kang, Wang, Lan, HPDC 2021): a two-level Q-table per router, at most five router-to-router hops.
// Semantics from the authors' code (SPEAR-IIT/sst-elements, merlin/topology/dragonfly.cc 1256-1511, 1880-2295).
//
// Table of a router:
//   row     d * p + slot; d is the number of the destination group, with the router's own group left out of the count;
//           slot is the index of the sender on its source router
//   column  non-terminal port
//   value   estimated time in ns from this input buffer to arrival in the destination group
// VC class = router-to-router hops done.
#include "routing/dragonfly/learned.hpp"

namespace flitgym::routing::dragonfly::q_adaptive {

static u32 row_of(const Network& net, const Dragonfly& df, const Packet& p, u32 own_group, u32 destination_group) {
  return number_among_others(own_group, destination_group) * df.p + net.terminal_port[p.source];
}

// The generator of the authors' simulator (sst-core, rng/xorshift.cc). With a small seed and three words of 0, its
// first numbers are so small that they are below epsilon.
struct XorShift {
  u32* const word;  // [4] x, y, z, w
  u32 next() const {
    const u32 t = word[0] ^ word[0] << 11, w = word[3];
    std::copy(word + 1, word + 4, word);
    return word[3] = w ^ w >> 19 ^ t ^ t >> 8;
  }
  double uniform() const { return next() / 4294967295.0; }
};

struct Rule : QRule {
  Kept<u32> generators;  // [routers, 4] if the authors' generator is used
  bool authors() const { return generators.memory != kNone; }
  XorShift generator(State& s, u32 router) const { return {generators.of(s) + std::size_t{4} * router}; }
};

// The chosen port, or with probability epsilon a random port.
static u32 explore(const Network& net, State& s, const Rule& rule, const Packet& p, u32 router, u32 port) {
  const auto any = [&](auto&& draw) { return random_link(net, *net.graphs[0], router, draw); };
  if (!rule.authors())
    return explores(net, s, rule, p) ? any([&](u32 n) { return below(route_draw(net, p, 1), n); }) : port;
  if (!(rule.epsilon > 0) || s.part.totals.frozen) return port;
  const XorShift generator = rule.generator(s, router);
  return generator.uniform() < rule.epsilon ? any([&](u32 n) { return generator.next() % n; }) : port;
}

static u32 random_local_port(const Network& net, State& s, const Dragonfly& df, const Rule& rule, const Packet& p,
                             u32 router) {
  if (!rule.authors()) return df.p + below(route_draw(net, p, 2), df.a - 1);
  const u32 own = router % df.a;
  for (u32 draws = 0; draws < 1000; draws++)
    if (const u32 to = rule.generator(s, router).next() % df.a; to != own) return df.p + to - (to > own);
  throw CoreError("routing.q_adaptive: the memory 'xorshift' of router ", router, " is damaged");
}

// Decision at the source router: the best port if it beats the minimal port by at least q_thld1 (relative).
static u32 from_source(const Network& net, State& s, const Dragonfly& df, const Rule& rule, const Packet& p, u32 router,
                       const float* row, float least, u32 k_min) {
  const float q_min_port = row[k_min - df.p];
  u32 port = k_min;
  if (q_min_port > least && !((q_min_port - least) / q_min_port < rule.q_thld1))
    port = df.p + q_argmin(row, rule.table.stride, least);
  return explore(net, s, rule, p, router, port);
}

// Decision at the first router of an intermediate group: a random local port if it beats the minimal port by at least
// q_thld2 (relative).
static u32 from_intermediate(const Network& net, State& s, const Dragonfly& df, const Rule& rule, const Packet& p,
                             u32 router, const float* row, u32 k_min) {
  if (df.is_global(k_min) || df.a < 2) return k_min;
  const u32 k_random = random_local_port(net, s, df, rule, p, router);
  const float q_min_port = row[k_min - df.p], q_random = row[k_random - df.p];
  const u32 port = (q_min_port - q_random) / q_min_port < rule.q_thld2 ? k_min : k_random;
  return explore(net, s, rule, p, router, port);
}

// The destination of a request, and its row of the table (kNone in the destination group).
struct Lookup {
  u32 to, destination_group, row;
};
constexpr u32 kBlock = 16;  // requests

// The table exceeds the inner caches. So the rows of a block of requests are prefetched before the first row is read.
static void look_up(const Network& net, State& s, const Dragonfly& df, const QRule& rule, const Batch& b, u32 first,
                    u32 count, Lookup* lookup) {
  const u32 *const ids = b.packet.data() + first, *const routers = b.router.data() + first;
  const Packet* const packets = s.packets.data();
  for (u32 i = 0; i < count; i++) {
    const Packet& p = packets[ids[i]];
    const u32 to = net.terminal_router[p.destination], group = df.group(routers[i]), destination_group = df.group(to);
    // There is no row for the destination group. The prefetch then gets row 0.
    const u32 row = select(group == destination_group, 0u, row_of(net, df, p, group, destination_group));
    __builtin_prefetch(rule.table.place(s, routers[i], row), 1);
    lookup[i] = {to, destination_group, select(group == destination_group, kNone, row)};
  }
}

static void decide(const Network& net, State& s, const Dragonfly& df, const Rule& rule, Batch& b, u32 i,
                   const Lookup& lookup) {
  const u32 router = b.router[i];
  Packet& p = s.packets[b.packet[i]];
  PacketDetail& detail = s.details[b.packet[i]];
  const Channel& back = net.channels[net.port_of_vc(b.input_vc[i])];
  const PortKind in_kind = back.kind;
  float value = -1.0f;  // no feedback
  u32 port;
  if (lookup.row == kNone) {
    // In the destination group the estimate is 0. A packet that arrived over a local link was already in this group at
    // the previous router. The table of that router has no row for it, so no feedback is sent.
    if (in_kind == PortKind::kGlobal) value = 0.0f;
    port = router == lookup.to ? net.terminal_port[p.destination] : df.local_port(router, lookup.to);
  } else {
    float space[Memory::kMostColumns];
    const float* const row = rule.table.values(s, router, lookup.row, space);
    const float least = q_min(row, rule.table.stride);
    const u32 k_min = port = df.towards(net, router, lookup.to, df.turn(net, router, p));
    if (in_kind == PortKind::kTerminal) {
      port = from_source(net, s, df, rule, p, router, row, least, k_min);
    } else {
      value = least;  // off-policy: the least value, whichever port is taken
      if (in_kind == PortKind::kGlobal && p.hops == 1)
        port = from_intermediate(net, s, df, rule, p, router, row, k_min);
    }
    if (port != k_min) [[unlikely]]
      df.mark_detour(net, p, router, port);
  }
  detail.value = value;
  if (value >= 0) detail.row = row_of(net, df, p, df.group(net.router_of_port(back.peer)), lookup.destination_group);
  choose(b, i, {port, class_of(p, router == lookup.to)});
}

// The order of a router's decisions affects its generator, so it must not depend on the order of events.
static void route_in_order(const Network& net, State& s, const Dragonfly& df, const Rule& rule, Batch& b) {
  std::vector<u32> order(b.count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](u32 i, u32 k) { return b.input_vc[i] < b.input_vc[k]; });
  for (const u32 i : order) {
    Lookup lookup;
    look_up(net, s, df, rule, b, i, 1, &lookup);
    decide(net, s, df, rule, b, i, lookup);
  }
}

static void route(const Network& net, State& s, Batch& b) {
  const Dragonfly& df = as_dragonfly(net);
  const auto& rule = static_cast<const Rule&>(*net.routing);
  if (rule.authors()) return route_in_order(net, s, df, rule, b);
  Lookup lookup[kBlock];
  for (u32 first = 0; first < b.count; first += kBlock) {
    const u32 count = std::min(kBlock, b.count - first);
    look_up(net, s, df, rule, b, first, count, lookup);
    for (u32 k = 0; k < count; k++) decide(net, s, df, rule, b, first + k, lookup[k]);
  }
}

// A new memory holds zeros.
static void seed_generators(const Network& net, State& s) {
  for (u32 r = 0; r < net.routers; r++) static_cast<const Rule&>(*net.routing).generator(s, r).word[0] = r + 1;
}

static RoutingFacts setup(const Params& params, Network& net, Rule& rule) {
  read_rates(params, rule);
  rule.row = row_of_group<row_of>;
  rule.q_thld2 = params.real("q_thld2");
  need_links_behind(net, "q_adaptive", as_dragonfly(net).p);
  shape_table(net, rule, (as_dragonfly(net).g - 1) * as_dragonfly(net).p,
              "q_adaptive: (destination group without own, source slot) x non-terminal port", estimate_by_links, true);
  if (params.text("generator") == "xorshift")
    rule.generators = declare<u32>(net, {.name = "xorshift",
                                         .meaning = "words x, y, z and w of each router's random number generator",
                                         .per = Per::kRouter,
                                         .columns = 4,
                                         .initialise = seed_generators});
  return {.classes = 5, .max_hops = 5, .marks = true};
}

// The least value of a row, and the gain of its port over the minimal port. The gain is compared with a product, since
// (a - b) / a < t is a - b < t a.
static Operations row_operations(const Network& net, double) {
  const double columns = net.feedback.columns;
  return {.multiplications = 1, .additions = 1, .comparisons = columns + 1, .reads = columns};
}

const Register<RoutingSpec> entry({
    .name = "q_adaptive",
    .summary = "two-level Q-table per router, at most five hops (Kang et al., HPDC 2021)",
    .topologies = {"dragonfly"},
    .params = joined(
        q_adaptive_params(),
        {real("q_thld2", 0.35, -1e9, 1e9, "",
              "relative gain of a random local port below which the first router of an intermediate group keeps the "
              "minimal port; large = always"),
         choice("generator", "counter", {"counter", "xorshift"},
                "random numbers: counter = draws of the seed and the packet; xorshift = a generator per router, seeded "
                "as in the authors' code, with which a router explores in the first decisions")}),
    .setup = with_rule<setup>,
    .route = route,
    .learn = q_learn,
    .operations = row_operations,
});

}  // namespace flitgym::routing::dragonfly::q_adaptive
