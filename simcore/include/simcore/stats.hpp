// Measurement: the latency histogram and the results of a run.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// Bin of a latency in cycles. Below 128, each bin holds one value. Above, there are 64 bins per octave, so a value is
// at most 1/128 (0.8 %) away from the middle of its bin.
inline u32 histogram_bin(u32 cycles) {
  if (cycles < 128) return cycles;
  const u32 octave = 31 - static_cast<u32>(__builtin_clz(cycles));  // >= 7
  return 128 + (octave - 7) * 64 + ((cycles >> (octave - 6)) & 63);
}
double histogram_middle(u32 bin);  // cycles
inline constexpr double kHistogramError = 1.0 / 128;

// The q-quantile of the counted packets in cycles, q in 0..1; 0 without packets.
double quantile(const std::vector<u32>& histogram, double q);

// All numeric results of a run. Names and units are in docs/reference/results.md.
std::map<std::string, double> statistics(const Network& network, const State& state);

Window window_sums(const State& state);
// The sum of an array over all partitions or hosts. It may be shorter in some of them.
template <class Part, class Entry>
std::vector<Entry> summed(const State& s, std::vector<Entry> Part::* array) {
  std::vector<Entry> all;
  const auto add = [&](const std::vector<Entry>& own) {
    all.resize(std::max(all.size(), own.size()));
    for (std::size_t k = 0; k < own.size(); k++) all[k] += own[k];
  };
  if constexpr (std::is_same_v<Part, Hosts>) std::ranges::for_each(s.hosts, add, array);
  else
    for (u32 k = 0; k <= s.further.size(); k++) add(partition(s, k).*array);
  return all;
}
inline std::vector<JobTotals> job_sums(const State& s) { return summed(s, &Hosts::job_totals); }  // [jobs]

// Cycles up to `until` at which links, or the load or the pattern of all terminals, change after cycle 0.
std::vector<Cycle> changes(const Network& network, Cycle until);

void begin_window(const Network& network, State& state);
void end_window(const Network& network, State& state);

// Packets that this source would have generated in the window at the present load, during the time that it was blocked
// with source_backlog=lost.
inline double packets_missed(const Network& net, const State& s, const Terminal& x, Cycle until) {
  const u64 begin = s.part.window.begin << 32, blocked_from = x.next_tick > begin ? x.next_tick : begin,
            end = u64{until} << 32;
  const u32 entry = net.load_entry(x.step);
  if (end <= blocked_from || net.gap_fixed[entry] == ~u64{0}) return 0;
  const Pattern& p = net.pattern(x.step);
  const double share = p.share ? p.share(net, *p.data, static_cast<u32>(&x - s.terminals.data())) : 1;
  return static_cast<double>(end - blocked_from) / static_cast<double>(net.gap_fixed[entry]) * p.packets_per_round *
         share * (net.on_off ? net.on_off->share_on() : 1);
}

}  // namespace flitgym
