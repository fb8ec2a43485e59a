// Phases: the pattern and the load change at given times, which are the same for all terminals.
#include <sstream>

#include "core/traffic_setup.hpp"
#include "simcore/registry.hpp"

namespace flitgym::traffic::phases {

constexpr const char* kKey = "traffic.phases.phases";

// The values of a phase that are not parameters of its pattern.
struct Timing {
  double load, start_ns, duration_ns;  // negative: not given
};

// Takes a number out of the words of a phase; negative: not given.
double take(const std::string& name, Section& section, const std::string& key, double most, const char* unit) {
  const auto found = section.values.find(key);
  if (found == section.values.end()) return -1;
  const auto* x = std::get_if<double>(&found->second);
  if (!x || !(*x >= 0 && *x <= most))
    throw ConfigError(name, ": ", key, "=", to_string(found->second), " is not a number from 0 to ", most, unit);
  const double value = *x;
  section.values.erase(found);
  return value;
}

std::string to_words(const Section& section) {
  std::string words = section.name;
  for (const auto& [key, value] : section.values) {
    std::string text = to_string(value);
    std::erase(text, ' ');
    words += " " + key + "=" + text;
  }
  return words;
}

TrafficSchedule schedule(const Params& params, const Network&) {
  TrafficSchedule out;
  const std::string& text = params.text("phases");
  std::istringstream in(text);
  double end = 0;      // of the previous phase; negative: the start of the next phase ends it
  std::string before;  // name of the previous phase
  std::string phase;
  for (u32 number = 1; std::getline(in, phase, ';'); number++) {
    const std::string name = std::string(kKey) + ": phase " + std::to_string(number);
    Section section = in_words(name, phase);
    const std::string full = name + " (" + section.name + ")";
    const Timing t{take(full, section, "load", 1, ""), take(full, section, "start_ns", 1e12, " ns"),
                   take(full, section, "duration_ns", 1e12, " ns")};
    if (t.duration_ns == 0) throw ConfigError(full, ": its duration_ns is 0; a phase takes some time");
    const double start = t.start_ns >= 0 ? t.start_ns : end;
    if (start < end)
      throw ConfigError(full, ": it begins at ", start, " ns, but ", before, " ends at ", end,
                        " ns; phases must not overlap");
    // Sources are silent between two phases.
    if (start > end) out.phases.push_back({to_words(section), 0, end, full});
    out.phases.push_back({to_words(section), t.load >= 0 ? t.load : params.real("load"), start, full});
    end = start + (t.duration_ns > 0 ? t.duration_ns : params.real("phase_ns"));
    before = "phase " + std::to_string(number) + " (" + section.name + ")";
  }
  if (out.phases.empty()) throw ConfigError(kKey, ": there is no phase");
  if (params.boolean("repeat")) out.period_ns = end;
  return out;
}

const Register<TrafficSpec> entry({
    .name = "phases",
    .summary = "the pattern or the load changes at given times",
    .params =
        {
            choice("phases", "uniform; permutation", {},
                   "the phases, separated by semicolons. A phase is a pattern with its parameters, and may have load "
                   "(else traffic.load), start_ns (else the end of the previous phase) and duration_ns (else "
                   "phase_ns): 'uniform load=0.2; adversarial shift=4 duration_ns=20000'"),
            real("phase_ns", 50000, 1, 1e12, "ns", "duration of a phase without duration_ns"),
            flag("repeat", true, "the first phase follows the last one; false: the last phase has no end"),
        },
    .schedule = schedule,
});

}  // namespace flitgym::traffic::phases
