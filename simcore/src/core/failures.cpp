#include "core/failures.hpp"

#include <set>
#include <sstream>

#include "core/stage/stage.hpp"
#include "simcore/graph.hpp"
#include "simcore/text.hpp"

namespace flitgym {

constexpr u32 kMostRepeats = 10000;             // of an event
constexpr u64 kStream = u64{0x6661696c} << 32;  // stream of the draws, separate from those of packets

struct Cable {
  Wiring::End a, b;  // a.router <= b.router
};

// Splits a list `a, b, c` of names. Throws ConfigError if a name is empty.
static std::vector<std::string> words(const std::string& key, const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text + ",");
  for (std::string word; std::getline(in, word, ',');) {
    out.emplace_back(text::trimmed(word));
    if (out.back().empty())
      throw ConfigError("failures.", key, ": '", text, "' has an empty name; leave out the key if nothing fails");
  }
  return out;
}

static bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text.size() < 10;
}

// Interprets the entries of `failures` for a wiring.
class FailureReader {
 public:
  FailureReader(const Values& given, const Wiring& w, u64 run_seed)
      : given_(given), w_(w), seed_(failure_seed(given, run_seed)) {
    check_keys("failures", failure_params(), given);
    for (u32 r = 0; r < w.routers; r++)
      for (u32 p = w.first[r]; p < w.first[r + 1]; p++) {
        worked();
        if (w.kind[p] != PortKind::kLocal && w.kind[p] != PortKind::kGlobal) continue;
        if (w.peer[p] > p) cables_.push_back({{r, p - w.first[r]}, w.end_of(w.peer[p])});
      }
  }

  const std::vector<Cable>& cables() const { return cables_; }
  std::vector<u32> links() const {
    return chosen("links", static_cast<u32>(cables_.size()), 0,
                  [&](const std::string& name) { return cable("failures.links", name); });
  }
  std::vector<u32> routers() const {
    return chosen("routers", w_.routers, 1,
                  [&](const std::string& name) { return known("router", name, w_.router_names, w_.routers); });
  }
  std::vector<u32> terminals() const {
    const auto n = static_cast<u32>(w_.terminal_port.size());
    return chosen("terminals", n, 2,
                  [&](const std::string& name) { return known("terminal", name, w_.terminal_names, n); });
  }

  // Parses LINK@DOWN_NS, LINK@DOWN_NS-UP_NS or LINK@DOWN_NS-UP_NS/PERIOD_NS*COUNT, where LINK may be a fraction of all
  // links.
  std::vector<Outage> outages() const {
    std::vector<Outage> all;
    const auto found = given_.find("events");
    if (found == given_.end()) return all;
    if (!std::holds_alternative<std::string>(found->second)) throw bad_event(to_string(found->second));
    u32 number = 0;
    for (const std::string& event : words("events", std::get<std::string>(found->second))) {
      const std::size_t at = event.rfind('@');
      if (at == std::string::npos) throw bad_event(event);
      const std::string link = event.substr(0, at);
      std::string times = event.substr(at + 1);
      double period = 0;
      u32 count = 1;
      if (const std::size_t slash = times.find('/'); slash != std::string::npos) {
        const std::string repeats = times.substr(slash + 1);
        const std::size_t star = repeats.find('*');
        if (star == std::string::npos || !is_number(repeats.substr(star + 1))) throw bad_event(event);
        period = time(event, repeats.substr(0, star));
        count = static_cast<u32>(std::stoul(repeats.substr(star + 1)));
        times.resize(slash);
        if (count == 0 || count > kMostRepeats)
          throw ConfigError("failures.events: '", event, "' repeats ", count, " times; valid are 1 to ", kMostRepeats);
      }
      const std::size_t dash = times.find('-');
      const double down = time(event, times.substr(0, dash)), up = dash == std::string::npos
                                                                       ? std::numeric_limits<double>::infinity()
                                                                       : time(event, times.substr(dash + 1));
      if (up <= down) throw ConfigError("failures.events: '", event, "' recovers before it fails");
      if (count > 1 && up - down >= period)
        throw ConfigError("failures.events: '", event, "' fails again before it has recovered");
      number++;
      for (const u32 k : part_or_name(link, number))
        for (u32 n = 0; n < count; n++)
          all.push_back(
              {cables_[k].a, cables_[k].b, down + n * period, up + n * period, name_of(cables_[k]), count > 1});
    }
    return all;
  }

  std::string name_of(const Cable& c) const { return w_.router_name(c.a.router) + "-" + w_.router_name(c.b.router); }

 private:
  static ConfigError bad_event(const std::string& event) {
    return ConfigError("failures.events: '", event,
                       "' is not LINK@DOWN_NS, LINK@DOWN_NS-UP_NS or LINK@DOWN_NS-UP_NS/PERIOD_NS*COUNT, such as "
                       "3-5@20000-60000, 0.05@20000 or 3-5@20000-25000/20000*10");
  }
  static double time(const std::string& event, const std::string& text) {
    char* end = nullptr;
    const double ns = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || !(ns >= 0) || !std::isfinite(ns)) throw bad_event(event);
    return ns;
  }

  u32 find(const std::string& name, const std::vector<std::string>& names, u32 count) const {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) return static_cast<u32>(at - names.begin());
    if (is_number(name) && std::stoul(name) < count) return static_cast<u32>(std::stoul(name));
    return kNone;
  }
  std::vector<u32> known(const std::string& what, const std::string& name, const std::vector<std::string>& names,
                         u32 count) const {
    const u32 id = find(name, names, count);
    if (id == kNone)
      throw ConfigError("failures.", what, "s: there is no ", what, " '", name, "'", did_you_mean(name, names),
                        "; valid are numbers from 0 to ", count - 1, names.empty() ? "" : " and names");
    return {id};
  }

  // Formats: "A-B" for every link between two routers, "A-B#2" for the second of them, "A:5" for the link at a port.
  // Names may contain dashes.
  std::vector<u32> cable(const std::string& where, std::string name) const {
    const std::string whole = name;
    u32 which = 0;
    if (const std::size_t hash = name.rfind('#'); hash != std::string::npos && is_number(name.substr(hash + 1))) {
      which = static_cast<u32>(std::stoul(name.substr(hash + 1)));
      if (which == 0) throw ConfigError(where, ": '", name, "': the links between two routers are numbered from #1");
      name.resize(hash);
    }
    const auto matching = [&](const auto& holds) {
      std::vector<u32> found;
      for (u32 k = 0; k < cables_.size(); k++)
        if (holds(cables_[k])) found.push_back(k);
      if (which > 0) found = which <= found.size() ? std::vector<u32>{found[which - 1]} : std::vector<u32>{};
      return found;
    };
    for (std::size_t dash = name.find('-'); dash != std::string::npos; dash = name.find('-', dash + 1)) {
      const u32 a = find(name.substr(0, dash), w_.router_names, w_.routers),
                b = find(name.substr(dash + 1), w_.router_names, w_.routers);
      if (a == kNone || b == kNone) continue;
      auto found = matching(
          [&](const Cable& c) { return (c.a.router == a && c.b.router == b) || (c.a.router == b && c.b.router == a); });
      if (!found.empty()) return found;
    }
    if (const std::size_t colon = name.rfind(':'); colon != std::string::npos && is_number(name.substr(colon + 1))) {
      const u32 r = find(name.substr(0, colon), w_.router_names, w_.routers),
                port = static_cast<u32>(std::stoul(name.substr(colon + 1)));
      auto found = matching([&](const Cable& c) {
        return (c.a.router == r && c.a.port == port) || (c.b.router == r && c.b.port == port);
      });
      if (!found.empty()) return found;
    }
    throw ConfigError(where, ": there is no link '", whole, "'; name its routers, such as ",
                      cables_.empty() ? "0-1" : name_of(cables_[0]),
                      ", add #2 for the second of several links, or give ROUTER:PORT");
  }
  std::vector<u32> part_or_name(const std::string& link, u32 number) const {
    if (link.find('.') != std::string::npos && link.find_first_not_of("0123456789.") == std::string::npos)
      return drawn("events", std::stod(link), static_cast<u32>(cables_.size()), 16 + number);
    return cable("failures.events", link);
  }

  // Draws `count` of n, by the seed.
  std::vector<u32> sample(u32 count, u32 n, u64 stream) const {
    std::vector<u32> all(n);
    std::iota(all.begin(), all.end(), 0u);
    for (u32 k = 0; k < count; k++) std::swap(all[k], all[k + below(draw(seed_, kStream + stream, k), n - k)]);
    all.resize(count);
    std::sort(all.begin(), all.end());
    return all;
  }
  std::vector<u32> drawn(const std::string& key, double part, u32 n, u64 stream) const {
    if (!(part >= 0 && part < 1))
      throw ConfigError("failures.", key, ": ", part,
                        " is not a fraction from 0 to below 1; give an integer for a number of them");
    const auto count = static_cast<u32>(std::lround(part * n));
    if (count == 0 && part > 0)
      throw ConfigError("failures.", key, ": ", part, " of ", n, " rounds to none; ", 1.0 / n, " is one of them");
    return sample(count, n, stream);
  }
  template <class Named>
  std::vector<u32> chosen(const std::string& key, u32 n, u64 stream, Named named) const {
    const auto found = given_.find(key);
    if (found == given_.end()) return {};
    if (const auto* part = std::get_if<double>(&found->second)) return drawn(key, *part, n, stream);
    if (const auto* count = std::get_if<i64>(&found->second)) {
      if (*count < 0 || *count > i64{n})
        throw ConfigError("failures.", key, ": ", *count, " of ", n,
                          "; give a number up to that, a fraction below 1.0, or names");
      return sample(static_cast<u32>(*count), n, stream);
    }
    std::vector<std::string> names;
    if (const auto* list = std::get_if<std::vector<double>>(&found->second))
      for (const double x : *list) names.push_back(to_string(Value{static_cast<i64>(x)}));
    else if (const auto* text = std::get_if<std::string>(&found->second)) names = words(key, *text);
    else
      throw ConfigError("failures.", key, ": ", to_string(found->second), " is neither a number nor a list of names");
    std::set<u32> ids;
    for (const std::string& name : names)
      for (const u32 id : named(name)) ids.insert(id);
    return {ids.begin(), ids.end()};
  }

  const Values& given_;
  const Wiring& w_;
  u64 seed_;
  std::vector<Cable> cables_;
};

static void cut(Wiring& w, u32 port) {
  for (const u32 p : {port, w.peer[port]}) {
    w.peer[p] = kNone;
    w.kind[p] = PortKind::kUnused;
    w.own.erase(p);
  }
}

u64 failure_seed(const Values& failures, u64 run_seed) {
  const auto found = failures.find("seed");
  if (found == failures.end()) return run_seed;
  const auto* seed = std::get_if<i64>(&found->second);
  if (!seed || *seed < 0) throw ConfigError("failures.seed: ", to_string(found->second), " is not an integer from 0");
  return static_cast<u64>(*seed);
}

const std::vector<ParamSpec>& failure_params() {
  static const std::vector<ParamSpec> specs = {
      choice("links", "", {},
             "failed links between routers: names (0-5, 0-5#2 for the second of several, or ROUTER:PORT), a number "
             "of links, or a fraction of all below 1.0"),
      choice("routers", "", {},
             "failed routers, with their terminals: names, a number of routers, or a fraction of all"),
      choice("terminals", "", {},
             "failed terminals: names, a number of terminals, or a fraction of all; the others are renumbered "
             "without gaps"),
      seed_of("failures that are a number or a fraction", "seed"),
      choice("events", "", {},
             "links that fail during the run: LINK@DOWN_NS or LINK@DOWN_NS-UP_NS, where LINK is a name or a fraction "
             "of all links, such as 0.05; /PERIOD_NS*COUNT after it repeats the failure, so the link flaps"),
  };
  return specs;
}

std::vector<Outage> apply_failures(const Values& failures, u64 run_seed, Wiring& w,
                                   std::vector<std::string>& failed_links) {
  if (failures.empty()) return {};
  const FailureReader reader(failures, w, run_seed);
  const std::vector<u32> links = reader.links(), routers = reader.routers(), terminals = reader.terminals();
  std::vector<u8> gone(w.routers, 0);
  for (const u32 r : routers) gone[r] = 1;
  // before the wiring changes, because the names refer to the original wiring
  const std::vector<Outage> events = reader.outages();

  for (const u32 k : links) cut(w, w.port(reader.cables()[k].a));
  for (const u32 r : routers)
    for (u32 p = w.first[r]; p < w.first[r + 1]; p++)
      if (w.kind[p] == PortKind::kLocal || w.kind[p] == PortKind::kGlobal) cut(w, p);
  std::vector<u32> kept, numbers, routers_before;
  std::vector<std::string> names;
  for (u32 t = 0; t < w.terminal_port.size(); t++) {
    const u32 p = w.terminal_port[t], r = w.end_of(p).router;
    routers_before.push_back(r);
    if (std::ranges::binary_search(terminals, t) || gone[r]) {
      w.kind[p] = PortKind::kUnused;
      w.peer[p] = kNone;
      w.own.erase(p);
      continue;
    }
    kept.push_back(p);
    numbers.push_back(t);
    names.push_back(w.terminal_name(t));
  }
  if (kept.size() < 2) throw ConfigError("failures: ", kept.size(), " terminals are left; traffic needs two");
  if (kept.size() < w.terminal_port.size()) {
    w.terminal_names = names;
    w.terminal_number = numbers;
    w.router_before = routers_before;
  }
  w.terminal_port = kept;

  std::vector<Outage> outages;
  for (const Outage& outage : events)
    if (w.peer[w.port(outage.a)] != kNone) outages.push_back(outage);  // otherwise it has failed before
  for (u32 k = 0; k < reader.cables().size(); k++)
    if (const Cable& c = reader.cables()[k];
        gone[c.a.router] || gone[c.b.router] || std::ranges::binary_search(links, k))
      failed_links.push_back(reader.name_of(c));
  return outages;
}

void make_graphs(const std::vector<Outage>& outages, Network& net) {
  const auto cycle = [&](double ns) {
    return ns / net.cycle_ns >= double{kEndOfTime} ? kEndOfTime : static_cast<Cycle>(std::lround(ns / net.cycle_ns));
  };
  std::set<Cycle> changes = {0};
  for (const Outage& o : outages) {
    changes.insert(cycle(o.down_ns));
    if (cycle(o.up_ns) < kEndOfTime) changes.insert(cycle(o.up_ns));
  }
  const auto take_down = [&](const Outage& o, Graph& graph) {
    if (graph.down.empty()) {
      claim_memory(net.router_ports, "failures.events", "a mark for each port");
      graph.down.assign(net.router_ports, 0);
    }
    for (const Wiring::End end : {o.a, o.b}) graph.down[net.port(end.router, end.port)] = 1;
  };
  if (std::any_of(outages.begin(), outages.end(), [](const Outage& o) { return o.repeats; })) {
    auto lasting = std::make_shared<Graph>();
    for (const Outage& o : outages) take_down(o, *lasting);
    check_connected(
        net, *lasting,
        "failures.events: without the links that fail repeatedly, topology." + net.topology_name + " falls apart");
    net.lasting = lasting;
  }
  for (const Cycle from : changes) {
    auto graph = std::make_shared<Graph>();
    graph->from = from;
    graph->diameter = net.topology->closed && !net.damaged ? net.topology->diameter : 0;
    for (const Outage& o : outages) {
      if (cycle(o.down_ns) > from || (cycle(o.up_ns) <= from && cycle(o.up_ns) < kEndOfTime)) continue;
      take_down(o, *graph);
    }
    const std::string when =
        from == 0 ? "" : " from " + to_string(Value{from * net.cycle_ns}) + " ns (failures.events)";
    check_connected(net, *graph, "topology." + net.topology_name + (net.damaged ? ", with failures" + when : ""));
    net.graphs.push_back(graph);
  }
}

// Revokes the route of a head that was bound for this output.
static void ask_again(Frame& f, u32 v, u32 output) {
  f.s.input_vcs[v].out_vc = kNoVc;
  f.s.park_next[v] = kNotParked;
  Observers(f).unrouted(v, output);
  f.part.route_list.push_back(v);
}

static void leave_port(Frame& f, u32 output) {
  const Network& net = f.net;
  State& s = f.s;
  const u32 router = net.router_of_port(output), local = net.local_port(output), asked = net.request_port(local),
            shift = net.radix_shift + net.vc_shift;
  // Heads that request the switch.
  u64 left = 0;
  for (u32 word = 0; word < net.request_words; word++) {
    u64& mask = s.requests[std::size_t{net.port(router, asked)} * net.request_words + word];
    for (u64 m = mask; m; m &= m - 1) {
      const u32 bit = word * 64 + static_cast<u32>(__builtin_ctzll(m)), v = router << shift | bit;
      if (s.input_vcs[v].sent > 0 || s.input_vcs[v].out_port != local) continue;
      mask &= ~(m & -m);
      ask_again(f, v, output);
    }
    left |= mask;
  }
  if (!left) s.outputs_asked[router * net.asked_words + asked / 64] &= ~(u64{1} << (asked % 64));
  // Heads that wait for room.
  bool waiting = false;
  for (u32 vc = 0; vc < net.vcs; vc++) {
    u32& owner = s.owners[net.vc_id(output, vc)];
    if (owner != kNone && s.input_vcs[owner].sent == 0) owner = kNone;  // VC allocated before the switch
    u16* link = &s.output_vcs[net.vc_id(output, vc)].parked;
    while (*link != kNoVc) {
      const u32 v = router << shift | *link;
      if (s.input_vcs[v].sent > 0) {
        link = &s.park_next[v];
        waiting = true;
        continue;
      }
      *link = s.park_next[v];
      ask_again(f, v, output);
    }
  }
  if (Port& o = s.ports[output];
      o.stalled && (net.router.output_depth == 0 || net.router.charged_at_switch) && !waiting)
    end_stall(f, o);
}

void change_graph(Frame& f) {
  const Network& net = f.net;
  Totals& t = f.part.totals;
  while (t.epoch + 1 < net.graphs.size() && passed(net.graphs[t.epoch + 1]->from, f.now)) t.epoch++;
  const Graph& graph = *net.graphs[t.epoch];
  const bool all = net.routing_facts.asks_again;
  if (graph.down.empty() && !all) return;
  for (u32 p = net.port(f.range.first_router, 0); p < net.port(f.range.end_router, 0); p++)
    if (all ? net.is_link(p) : !graph.usable(p)) leave_port(f, p);
}

}  // namespace flitgym
