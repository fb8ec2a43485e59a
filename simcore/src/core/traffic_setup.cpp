#include "core/traffic_setup.hpp"

#include <sstream>

#include "core/find_component.hpp"
#include "core/router_setup.hpp"
#include "simcore/traffic/demand.hpp"

namespace flitgym {

u64 digest(const Demand& demand) {
  u64 value = demand.terminals;
  const auto word = [&](u64 x) { value = mix64(value ^ x) + 0x9e3779b97f4a7c15ull; };
  for (const u64 x : demand.first) word(x);
  for (const u32 x : demand.source) word(x);
  for (const double x : demand.weight) word(std::bit_cast<u64>(x));
  return value;
}

void check_size(const std::string& where, const Demand& demand, u32 terminals) {
  const std::string size = std::to_string(demand.terminals);
  if (demand.terminals != terminals)
    throw ConfigError(where, "the matrix is ", size, " x ", size, ", but the network has ", terminals, " terminals");
}

static Pattern pattern_of(const TrafficSpec& spec, const Params& params, const Network& net) {
  Pattern p{.data = spec.setup(params, net),
            .destination = spec.destination,
            .round_size = spec.round_size,
            .share = spec.share};
  if (spec.mean_round_size) p.packets_per_round = spec.mean_round_size(net, *p.data);
  if (spec.share) {
    p.mean_share = 0;
    for (u32 t = 0; t < net.terminals; t++) p.mean_share += spec.share(net, *p.data, t) / net.terminals;
  }
  return p;
}

// Reads the load steps, which are common to all patterns.
static void take_load_steps(const std::string& where, const Params& params, Network& net) {
  const auto& times = params.reals("load_step_times_ns");
  const auto& loads = params.reals("load_step_loads");
  if (times.size() != loads.size())
    throw ConfigError(where, ".load_step_loads: ", loads.size(), " loads for ", times.size(), " load_step_times_ns");
  net.load_values = {params.real("load")};
  net.load_from = {0};
  for (std::size_t k = 0; k < times.size(); k++) {
    const double cycle = std::round(times[k] / net.cycle_ns);
    if (cycle <= net.load_from.back())
      throw ConfigError(where, ".load_step_times_ns: ", to_string(Value{times}), " must be positive and increasing");
    if (cycle > std::numeric_limits<u32>::max())
      throw ConfigError(where, ".load_step_times_ns: ", to_string(Value{times}), " exceeds the longest run");
    net.load_from.push_back(static_cast<Cycle>(cycle));
    net.load_values.push_back(loads[k]);
  }
  net.load_steps = static_cast<u32>(net.load_values.size());
}

static void take_schedule(const std::string& where, const TrafficSchedule& schedule, Network& net) {
  if (net.load_values.size() > 1)
    throw ConfigError(where, ".load_step_times_ns: the load of this traffic changes by itself; leave the steps out");
  net.load_values.clear();
  net.load_from.clear();
  std::map<std::string, u32> numbers;  // by the words of a pattern
  double most = 0;
  for (const TrafficSchedule::Phase& phase : schedule.phases) {
    const double from = std::round(phase.from_ns / net.cycle_ns);
    if (from >= kEndOfTime) throw ConfigError(phase.name, ": it begins after the end of the longest run");
    if (!schedule.on_off && !net.load_from.empty() && from <= net.load_from.back())
      throw ConfigError(phase.name, ": the time before it is shorter than a cycle (", net.cycle_ns, " ns)");
    const auto [at, fresh] = numbers.try_emplace(phase.pattern, static_cast<u32>(net.patterns.size()));
    if (fresh) net.patterns.push_back(pattern_in_words(phase.name, phase.pattern, net));
    net.load_from.push_back(static_cast<Cycle>(from));
    net.load_values.push_back(phase.load);
    net.load_pattern.push_back(at->second);
    most = std::max(most, phase.load);
  }
  net.trial_at_change = true;
  net.load_steps = static_cast<u32>(net.load_values.size());
  if (most == 0) return;  // a source without any packet never ends a step
  net.on_off = schedule.on_off;
  const double period = std::round(schedule.period_ns / net.cycle_ns);
  if (period > kEndOfTime) return;
  net.load_period = static_cast<Cycle>(period);
  if (net.on_off || net.load_period) net.load_steps = kNone;
}

Pattern pattern_in_words(const std::string& phase, const std::string& words, const Network& net) {
  Section section = in_words(phase, words);
  try {
    const auto& spec = find<TrafficSpec>("traffic", section.name, net);
    for (const ParamSpec& param : spec.params)  // `dimension=0` is text
      if (const auto found = section.values.find(param.key);
          found != section.values.end() && std::holds_alternative<std::string>(param.fallback))
        found->second = to_string(found->second);
    if (spec.schedule) throw ConfigError("'", spec.name, "' itself consists of patterns, so it cannot be one of them");
    return pattern_of(spec, Params("traffic." + spec.name, spec.params, section.values, net.seed), net);
  } catch (const ConfigError& error) {
    throw ConfigError(phase, ": ", error.what());
  }
}

Section in_words(const std::string& where, const std::string& words) {
  Section section;
  std::istringstream in(words);
  in >> section.name;
  if (section.name.empty() || section.name.find('=') != std::string::npos)
    throw ConfigError(where, ": '", words, "' does not begin with the name of a pattern, as in adversarial shift=4");
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ConfigError(where, ": '", word, "' in '", words, "' is not of the form key=value");
    const std::string text = word.substr(equals + 1);
    const auto number = [](const std::string& digits) {
      char* end = nullptr;
      const double x = std::strtod(digits.c_str(), &end);
      return digits.empty() || *end ? std::numeric_limits<double>::quiet_NaN() : x;
    };
    Value value = text;
    if (text == "true" || text == "false") value = text == "true";
    else if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
      std::vector<double> items;
      std::istringstream list(text.substr(1, text.size() - 2));
      for (std::string item; std::getline(list, item, ',');) items.push_back(number(item));
      for (const double x : items)
        if (!std::isfinite(x)) throw ConfigError(where, ": '", text, "' is not a list of numbers");
      value = items;
    } else if (std::isfinite(number(text))) {
      value = number(text);
    }
    if (!section.values.emplace(word.substr(0, equals), value).second)
      throw ConfigError(where, ": '", words, "' gives ", word.substr(0, equals), " twice");
  }
  return section;
}

u32 packet_bytes_of(const Params& params, const Network& net) {
  const u32 bytes = params.count("packet_bytes");
  return bytes ? bytes : static_cast<u32>(net.flit_bytes);
}

std::shared_ptr<const Program> choose_traffic(const Config& config, const Params& router, Network& net) {
  const auto& spec = find<TrafficSpec>("traffic", config.traffic.name, net);
  const std::string where = "traffic." + spec.name;
  const Params params(where, joined(common_traffic_params(), spec.params), config.traffic.values, net.seed);

  net.traffic_name = spec.name;
  net.config.traffic = {spec.name, params.values()};
  if (auto flows = config.flows ? config.flows : spec.flows ? spec.flows(params, net) : nullptr) {
    for (const char* key : {"packet_bytes_max", "load_step_times_ns", "load_step_loads", "injection"})
      for (const ParamSpec& own : common_traffic_params())
        if (own.key == key && to_string(params.value(key)) != to_string(own.fallback))
          throw ConfigError(where, ".", key, ": it has no effect on flows with sizes or from a file; leave it out");
    return flows;
  }
  const u32 least = params.count("packet_bytes"), most = params.count("packet_bytes_max");
  if (most > 0 && most < least)
    throw ConfigError(where, ".packet_bytes_max: ", most, " is less than packet_bytes = ", least);
  const std::string size_key = where + (most > least ? ".packet_bytes_max" : ".packet_bytes");
  net.least_packet_flits = flits_of(size_key, least, net);
  net.most_packet_flits = flits_of(size_key, std::max(least, most), net);
  net.fixed_interval = params.text("injection") == "fixed_interval";
  net.trial_cycles = params.text("injection") == "bernoulli_flit" ? net.flit_cycles_host : 1;
  fit_packets(size_key, router, net);

  take_load_steps(where, params, net);
  net.given_traffic = config.traffic_matrix;
  if (spec.schedule) {
    take_schedule(where, spec.schedule(params, net), net);
  } else {
    net.patterns.push_back(pattern_of(spec, params, net));
    net.load_pattern.assign(net.load_values.size(), 0);
  }
  for (std::size_t k = 0; k < net.load_values.size(); k++) {
    const double load = net.load_values[k], packets = net.patterns[net.load_pattern[k]].packets_per_round,
                 mean = load > 0 ? packets * net.mean_packet_flits() * net.flit_cycles_host / load : 0;
    net.gap_scale.push_back(mean > net.trial_cycles ? 1 / log_unit(1 - net.trial_cycles / mean) : 0);
    net.gap_fixed.push_back(load > 0 && mean < 0x1.0p31 ? static_cast<u64>(mean * 0x1.0p32) : ~u64{0});
  }
  return nullptr;
}

const std::vector<ParamSpec>& common_traffic_params() {
  static const std::vector<ParamSpec> specs = {
      real("load", 0.5, 0, 1, "flits per terminal per flit time", "offered load"),
      choice("injection", "bernoulli", {"bernoulli", "bernoulli_flit", "fixed_interval"},
             "bernoulli: each cycle with equal probability; bernoulli_flit: each flit time of the terminal's channel "
             "with equal probability, so that at most one round of packets begins per flit time (BookSim2's rule); "
             "fixed_interval: all terminals at the same instants"),
      integer("packet_bytes", 0, 0, 1 << 30, "bytes", "packet size, rounded up to whole flits; 0 = one flit"),
      integer("packet_bytes_max", 0, 0, 1 << 30, "bytes",
              "packet sizes are drawn uniformly from packet_bytes to this value, in whole flits; 0 = all packets have "
              "packet_bytes"),
      list("load_step_times_ns", {}, 0, 1e12, "ns", "instants at which the offered load changes"),
      list("load_step_loads", {}, 0, 1, "flits per terminal per flit time", "offered loads from these instants on"),
  };
  return specs;
}

}  // namespace flitgym
