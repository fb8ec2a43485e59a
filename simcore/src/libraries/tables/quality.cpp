#include "tables/quality.hpp"

#include "simcore/rng.hpp"
#include "simcore/tables/walk.hpp"

namespace flitgym::tables {

// Adds up loads over the routes to one destination at a time.
class Sums {
 public:
  Sums(const ChannelGraph& g, const ForwardingTable& table, Loads& loads)
      : g_(g), table_(table), loads_(loads), tree_(g), passing_(g.switches) {}

  // sent: [switches] traffic of the terminals of each switch.
  void add(u32 destination, const std::vector<double>& sent) {
    if (table_.source_routed()) {
      for (u32 s = 0; s < g_.switches; s++)
        if (sent[s] > 0) each_channel(g_, table_, s, destination, [&](u32 c) { loads_.channel[c] += sent[s]; });
      worked(g_.switches);
      return;
    }
    // The load of a channel is the traffic of the subtree that sends through it.
    tree_.follow(table_, destination);
    std::copy(sent.begin(), sent.end(), passing_.begin());
    tree_.each([&](u32 s, u32 c) {
      loads_.channel[c] += passing_[s];
      passing_[g_.to[c]] += passing_[s];
    });
  }
  // Channels from a switch with terminals to the destination. Call it after add().
  u32 hops(u32 s, u32 destination) const {
    return table_.source_routed() ? table_.route_length(s, destination) : tree_.depth[s];
  }

 private:
  const ChannelGraph& g_;
  const ForwardingTable& table_;
  Loads& loads_;
  Tree tree_;
  std::vector<double> passing_;
};

static Loads no_loads(const ChannelGraph& g, const Demand& demand) {
  if (!demand.empty()) check_size("demand: ", demand, g.terminals);
  Loads loads;
  loads.channel.assign(g.channels, 0);
  loads.from_terminal.assign(g.terminals, 0);
  loads.to_terminal.assign(g.terminals, 0);
  return loads;
}

static void add_terminals(const ChannelGraph& g, const Demand& demand, Loads& loads) {
  if (demand.empty()) {
    const double others = g.terminals ? g.terminals - 1 : 0;
    std::fill(loads.from_terminal.begin(), loads.from_terminal.end(), others);
    std::fill(loads.to_terminal.begin(), loads.to_terminal.end(), others);
    return;
  }
  for (u32 t = 0; t < g.terminals; t++)
    for (u64 k = demand.first[t]; k < demand.first[t + 1]; k++)
      if (demand.source[k] != t) {
        loads.from_terminal[demand.source[k]] += demand.weight[k];
        loads.to_terminal[t] += demand.weight[k];
      }
}

// Calls each(switch with terminals, one of its terminals, traffic of each switch to that terminal).
template <class Each>
static void each_terminal(const ChannelGraph& g, const Demand& demand, Each&& each) {
  std::vector<double> sent;
  for (u32 to = 0; to < g.switches; to++)
    for (u32 k = g.first_terminal[to]; k < g.first_terminal[to + 1]; k++) {
      demand_towards(g, demand, g.terminal_of[k], sent);
      each(to, g.terminal_of[k], sent);
    }
}

static void summarise(const ChannelGraph& g, double shortest, Quality& q) {
  const std::vector<double>& load = q.loads.channel;
  const double sum = std::accumulate(load.begin(), load.end(), 0.0);
  q.routes = std::accumulate(q.loads.to_terminal.begin(), q.loads.to_terminal.end(), 0.0);
  q.hops_mean = q.routes > 0 ? sum / q.routes : 0;
  q.edge_forwarding_index = greatest(load);
  q.terminal_forwarding_index = std::max(greatest(q.loads.from_terminal), greatest(q.loads.to_terminal));
  if (g.channels == 0) return;
  q.load_mean = sum / g.channels;
  q.load_mean_minimal = shortest / g.channels;
  q.load_least = *std::min_element(load.begin(), load.end());
  double squares = 0;
  for (const double x : load) {
    squares += (x - q.load_mean) * (x - q.load_mean);
    q.channels_unused += x <= 0;
  }
  q.load_deviation = std::sqrt(squares / g.channels);
}

// Calls visit(channel) for each channel of the routes of a pair, to all addresses of the destination.
template <class Visit>
static void each_of_pair(const ChannelGraph& g, const ForwardingTable& table, u32 source, u32 destination,
                         Visit&& visit) {
  const u32 addresses = 1u << table.lmc, from = g.terminal_switch[source];
  for (u32 a = 0; a < addresses; a++) each_channel(g, table, from, destination << table.lmc | a, visit);
  worked(addresses);
}

static void check_flow(const ChannelGraph& g, const Flow& f, std::size_t number) {
  const std::string name = "flow " + std::to_string(number);
  for (const u32 t : {f.source, f.destination})
    if (t >= g.terminals) throw ConfigError(name, ": there is no terminal ", t, "; they are 0 to ", g.terminals - 1);
  if (f.source == f.destination) throw ConfigError(name, ": terminal ", g.terminal_name(f.source), " sends to itself");
  if (!(f.weight > 0) || !std::isfinite(f.weight))
    throw ConfigError(name, ": weight ", std::to_string(f.weight), "; valid are finite numbers above 0");
}

static void check_order(const ChannelGraph& g, const u32* order, std::size_t number, std::vector<u8>& seen) {
  std::fill(seen.begin(), seen.end(), 0);
  for (u32 k = 0; k < g.terminals; k++)
    if (order[k] >= g.terminals || seen[order[k]]++)
      throw ConfigError("orders: number ", number, " does not contain each of the terminals 0 to ", g.terminals - 1,
                        " exactly once");
}

double greatest(const std::vector<double>& loads) {
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

std::pair<double, double> unevenness(const std::vector<double>& loads) {
  return {greatest(loads), std::inner_product(loads.begin(), loads.end(), loads.begin(), 0.0)};
}

Loads loads(const ChannelGraph& g, const ForwardingTable& table, const Demand& demand) {
  Loads loads = no_loads(g, demand);
  Sums sums(g, table, loads);
  each_terminal(g, demand, [&](u32, u32 t, const std::vector<double>& sent) {
    for (u32 a = 0; a < 1u << table.lmc; a++) sums.add(t << table.lmc | a, sent);
  });
  for (double& x : loads.channel) x /= 1u << table.lmc;
  add_terminals(g, demand, loads);
  return loads;
}

Quality quality(const ChannelGraph& g, const ForwardingTable& table, const Demand& demand) {
  Quality q;
  q.loads = no_loads(g, demand);
  Sums sums(g, table, q.loads);
  double shortest = 0;
  std::vector<u32> distance;
  u32 distance_to = kNone;
  each_terminal(g, demand, [&](u32 to, u32 t, const std::vector<double>& sent) {
    if (distance_to != to) distance = hops_to(g, distance_to = to);
    for (u32 s = 0; s < g.switches; s++)
      if (sent[s] > 0) shortest += sent[s] * distance[s];
    for (u32 a = 0; a < 1u << table.lmc; a++) {
      const u32 d = t << table.lmc | a;
      sums.add(d, sent);
      for (u32 s = 0; s < g.switches; s++) {
        if (g.terminals_at(s) == 0) continue;
        const u32 hops = sums.hops(s, d);
        if (sent[s] > 0) q.hops_max = std::max(q.hops_max, hops);
        q.minimal &= hops == distance[s];
      }
    }
  });
  for (double& x : q.loads.channel) x /= 1u << table.lmc;
  add_terminals(g, demand, q.loads);
  summarise(g, shortest, q);
  q.layers = table.classes();
  q.cycle = find_cycle(g, table);
  return q;
}

FlowLoads flow_loads(const ChannelGraph& g, const ForwardingTable& table, const std::vector<Flow>& flows) {
  FlowLoads all;
  all.channel.assign(g.channels, 0);
  std::vector<double> out(g.terminals, 0), in(g.terminals, 0);
  double sum = 0;
  for (std::size_t k = 0; k < flows.size(); k++) {
    check_flow(g, flows[k], k);
    sum += flows[k].weight;
  }
  if (!std::isfinite(sum)) throw ConfigError("flows: the sum of their weights overflows; scale the weights down");
  for (const Flow& f : flows) {
    out[f.source] += f.weight;
    in[f.destination] += f.weight;
    each_of_pair(g, table, f.source, f.destination, [&](u32 c) { all.channel[c] += f.weight; });
  }
  for (double& x : all.channel) x /= 1u << table.lmc;
  for (const Flow& f : flows) {
    double fullest = f.weight;  // the link of its terminal carries at least this
    each_of_pair(g, table, f.source, f.destination, [&](u32 c) { fullest = std::max(fullest, all.channel[c]); });
    all.flow.push_back(fullest);
    all.endpoint.push_back(std::max(out[f.source], in[f.destination]));
  }
  return all;
}

std::vector<double> bisection_bandwidth(const ChannelGraph& g, const ForwardingTable& table,
                                        const std::vector<u32>& orders, bool both_ways) {
  const u32 half = g.terminals / 2, addresses = 1u << table.lmc;
  if (half == 0) throw ConfigError("effective bisection bandwidth: the network needs at least two terminals");
  if (orders.size() % g.terminals)
    throw ConfigError("orders: ", orders.size(), " entries are not a multiple of the number of terminals, ",
                      g.terminals);
  std::vector<u32> count(g.channels);  // [channels] number of routes, one per pair and address
  std::vector<u8> seen(g.terminals);
  std::vector<double> bandwidth;
  for (std::size_t first = 0; first < orders.size(); first += g.terminals) {
    const u32 *const from = orders.data() + first, *const to = from + half;
    check_order(g, from, first / g.terminals, seen);
    std::fill(count.begin(), count.end(), 0);
    for (u32 k = 0; k < half; k++) {
      each_of_pair(g, table, from[k], to[k], [&](u32 c) { count[c]++; });
      if (both_ways) each_of_pair(g, table, to[k], from[k], [&](u32 c) { count[c]++; });
    }
    const auto share = [&](u32 source, u32 destination) {
      u32 fullest = addresses;
      each_of_pair(g, table, source, destination, [&](u32 c) { fullest = std::max(fullest, count[c]); });
      return static_cast<double>(addresses) / fullest;
    };
    double sum = 0;
    for (u32 k = 0; k < half; k++) sum += share(from[k], to[k]) + (both_ways ? share(to[k], from[k]) : 0);
    bandwidth.push_back(sum / (both_ways ? 2 * half : half));
  }
  return bandwidth;
}

}  // namespace flitgym::tables
