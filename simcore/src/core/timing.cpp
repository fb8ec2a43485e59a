// All times in cycles.
#include <tuple>

#include "core/router_setup.hpp"

namespace flitgym {

namespace {

// Returns the delay line of a delay, creating it for a new delay.
u16 line_of(Network& net, u32 cycles) {
  const auto found = std::find(net.delays.begin(), net.delays.end(), cycles);
  const auto line = static_cast<u16>(found - net.delays.begin());
  if (found == net.delays.end()) {
    if (net.delays.size() == 4096)
      throw ConfigError(
          "router.cycle_ns: the links have more than 4096 different delays in cycles; choose a longer cycle");
    net.delays.push_back(cycles);
  }
  return line;
}

struct LinkCycles {
  u32 hop = 1, nic_hop = 1, flit = 1, credit = 1, nic_credit = 1;
};

// Converts physical times in ns to cycles and records the rounding error. An error of a bandwidth above 1 % is refused.
// A latency may differ by half a cycle, but a delay does not become 0.
class Clock {
 public:
  Clock(const Params& params, std::vector<Rounding>& report) : params_(params), report_(report) {}

  u32 cycles(const std::string& quantity, double ns, u32 least, bool bandwidth = false) {
    const double exact = ns / cycle_ns_;
    const u32 rounded = std::max(least, static_cast<u32>(std::lround(std::min(exact, 4e9))));
    const double error = ns == 0 ? 0 : rounded * cycle_ns_ / ns - 1;
    report_.push_back({quantity, ns, rounded, error});
    const bool near = !bandwidth && rounded > 0 && std::abs(rounded - exact) <= 0.5 + 1e-9;
    if ((std::abs(error) > 0.01 && !near) || (ns == 0 && least > 0))
      throw ConfigError("router.cycle_ns: with ", cycle_ns_, " ns, ", quantity, " = ", ns, " ns becomes ", rounded,
                        " cycles = ", rounded * cycle_ns_, " ns, an error above ", bandwidth ? "1 %" : "half a cycle",
                        "; choose a cycle length that nearly divides ", quantity);
    return rounded;
  }

  double latency_ns(const Link& link) const {
    return link.latency_ns >= 0 ? link.latency_ns : params_.real("link_latency_ns_" + name(link.kind));
  }
  // The times of a link by the router model and, if given, its own latency and bandwidth.
  // Sums are rounded, not their parts: output, link and input latency are always passed in series. The two host
  // channels of a path are also passed in series, so they are rounded together.
  LinkCycles link_cycles(const Link& link, const std::string& own) {
    const std::string kind = own.empty() ? name(link.kind) : name(link.kind) + own;
    const double link_ns = latency_ns(link), flit_bytes = params_.real("flit_bytes");
    const double of_kind = params_.real("link_bandwidth_gb_per_s_" + name(link.kind)), given = link.bandwidth_gb_per_s,
                 bandwidth = given > 0 ? given : -given * of_kind;  // a negative value is a factor
    LinkCycles t;
    if (!credit_by_hop_)
      t.credit = t.nic_credit = cycles("credit on a " + kind + " link (credit_latency=link)", link_ns, 1);
    if (link.kind == PortKind::kTerminal) {
      const u32 both =
          cycles(kind + " channels there and back (2 link + input + output latency)", 2 * link_ns + ends_ns_, 2);
      t.nic_hop = std::clamp(static_cast<u32>((link_ns + params_.real("input_latency_ns")) / cycle_ns_), 1u, both - 1);
      t.hop = both - t.nic_hop;
    } else {
      t.hop = t.nic_hop = cycles(kind + " hop (output + link + input latency)",
                                 params_.real("output_latency_ns") + link_ns + params_.real("input_latency_ns"), 1);
    }
    t.flit = cycles(kind + " flit time (flit_bytes / link_bandwidth_gb_per_s_" + name(link.kind) + ")",
                    flit_bytes / bandwidth, 1, given > 0 || given == -1);
    // A credit takes the channel from its receiver back to its sender. Its delay is that channel's hop or link.
    if (credit_by_hop_) t.credit = t.hop, t.nic_credit = t.nic_hop;
    t.nic_credit += credit_delay_;  // from a terminal to its router
    if (link.kind != PortKind::kTerminal) t.credit += credit_delay_;
    longest_hop = std::max({longest_hop, t.hop, t.nic_hop, t.credit, t.nic_credit});
    longest_flit = std::max(longest_flit, t.flit);
    return t;
  }

  u32 longest_hop = 0, longest_flit = 1;  // of all links

 private:
  static std::string name(PortKind kind) {
    return kind == PortKind::kTerminal ? "host" : kind == PortKind::kLocal ? "local" : "global";
  }
  const Params& params_;
  std::vector<Rounding>& report_;
  const double cycle_ns_ = params_.real("cycle_ns");
  const u32 credit_delay_ = cycles("credit_delay_ns", params_.real("credit_delay_ns"), 0);
  const double ends_ns_ = params_.real("input_latency_ns") + params_.real("output_latency_ns");
  const bool credit_by_hop_ = params_.text("credit_latency") == "hop";
};

}  // namespace

void time_channels(const Params& params, Network& net) {
  net.cycle_ns = params.real("cycle_ns");
  Clock clock(params, net.rounding);
  LinkCycles by_kind[3];
  for (u32 k = 0; k < 3; k++) {
    net.link_latency_ns[k] = clock.latency_ns({static_cast<PortKind>(k)});
    by_kind[k] = clock.link_cycles({static_cast<PortKind>(k)}, "");
  }
  RouterParams& r = net.router;
  r.crossbar_cycles = clock.cycles("crossbar flit time (flit_bytes / crossbar_bandwidth_gb_per_s)",
                                   params.real("flit_bytes") / params.real("crossbar_bandwidth_gb_per_s"), 1, true);
  r.pipeline_cycles = clock.cycles("pipeline_ns", params.real("pipeline_ns"), 0);
  r.wake_cycles = params.count("output_wake_flits") * by_kind[1].flit;  // at most 16 flit times
  net.flit_cycles_host = by_kind[0].flit;

  std::map<std::tuple<PortKind, double, double>, LinkCycles> timed;  // links with individual latency or bandwidth
  if (!net.own_links.empty()) net.own_latency_ns.resize(net.port_count);
  const auto time = [&](u32 p, const LinkCycles& t, double latency_ns) {
    Channel& c = net.channels[p];
    const bool nic = net.is_nic(p);
    c.flit_cycles = t.flit;
    c.line = line_of(net, nic ? t.nic_hop : t.hop);
    c.credit_line = line_of(net, nic ? t.nic_credit : t.credit);
    if (!net.own_latency_ns.empty()) net.own_latency_ns[p] = latency_ns;
  };
  for (u32 p = 0; p < net.port_count; p++) {
    worked();
    const auto kind = static_cast<u32>(net.channels[p].kind);
    if (net.channels[p].kind != PortKind::kUnused) time(p, by_kind[kind], net.link_latency_ns[kind]);
  }
  for (const auto& [p, link] : net.own_links) {
    if (net.channels[p].peer == kNone) continue;  // failed link
    const auto [found, fresh] = timed.try_emplace({link.kind, link.latency_ns, link.bandwidth_gb_per_s});
    if (fresh)
      found->second = clock.link_cycles(link, " (router " + net.router_name(net.router_of_port(p)) + " port " +
                                                  std::to_string(net.local_port(p)) + ")");
    for (const u32 end : {p, net.channels[p].peer}) time(end, found->second, clock.latency_ns(link));
  }
  for (const Rounding& rounded : net.rounding)
    if (rounded.cycles > kLongestDelay / 4)
      throw ConfigError("router.cycle_ns: with ", net.cycle_ns, " ns, ", rounded.quantity, " = ", rounded.ns,
                        " ns has too many cycles; choose a longer cycle");
  net.longest_delay = std::max(clock.longest_hop, r.pipeline_cycles) + clock.longest_flit + r.wake_cycles + 4;
}

}  // namespace flitgym
