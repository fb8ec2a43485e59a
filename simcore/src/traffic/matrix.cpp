// Traffic by a matrix: entry [s, d] is the rate from terminal s to terminal d, relative to all other entries. A packet
// of a terminal to itself turns back in its router, as under `uniform`.
#include "simcore/traffic/demand.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::matrix {

struct Matrix : ComponentData {
  std::vector<u64> first;        // [terminals + 1] index of the first entry of each source
  std::vector<u32> destination;  // [entries]
  std::vector<double> until;     // [entries] running sum of the source's weights
  std::vector<double> share;     // [terminals] rate / greatest rate
};

std::string where(const Demand& demand) { return "traffic.matrix: " + (demand.name.empty() ? "" : demand.name + ": "); }

// Sorts the entries by source. `Demand` holds them by destination, but a source draws from its row.
void order_by_source(const Demand& demand, Matrix& data) {
  const u32 n = demand.terminals;
  claim_memory((demand.source.size() + n) * (sizeof(u64) + sizeof(u32)), "traffic.matrix", "a matrix with ",
               demand.source.size(), " entries");
  data.first.assign(std::size_t{n} + 1, 0);
  for (std::size_t k = 0; k < demand.source.size(); k++) data.first[demand.source[k] + 1] += demand.weight[k] > 0;
  for (u32 s = 0; s < n; s++) data.first[s + 1] += data.first[s];
  data.destination.resize(data.first[n]);
  data.until.resize(data.first[n]);
  std::vector<u64> next(data.first.begin(), data.first.end() - 1);
  for (u32 d = 0; d < n; d++) {
    worked(1 + demand.first[d + 1] - demand.first[d]);
    for (u64 k = demand.first[d]; k < demand.first[d + 1]; k++) {
      const u32 s = demand.source[k];
      if (demand.weight[k] == 0) continue;
      const u64 at = next[s]++;
      data.destination[at] = d;
      data.until[at] = demand.weight[k] + (at > data.first[s] ? data.until[at - 1] : 0);
    }
  }
}

std::shared_ptr<const ComponentData> setup(const Params&, const Network& net) {
  if (!net.given_traffic)
    throw ConfigError(
        "traffic.matrix.file: there is no matrix; name a file (.csv, .npz, .npy or .mtx), or in Python give an array "
        "as 'matrix'");
  const Demand& demand = *net.given_traffic;
  check_size(where(demand), demand, net.terminals);
  auto data = std::make_shared<Matrix>();
  order_by_source(demand, *data);
  data->share.assign(net.terminals, 0);
  double most = 0;
  for (u32 s = 0; s < net.terminals; s++) {
    if (data->first[s] < data->first[s + 1]) data->share[s] = data->until[data->first[s + 1] - 1];
    if (!std::isfinite(data->share[s]))
      throw ConfigError(where(demand), "the entries of row ", s,
                        " sum to more than the largest number; scale them down");
    most = std::max(most, data->share[s]);
  }
  if (most <= 0) throw ConfigError(where(demand), "every entry is 0; at least one entry must be greater");
  for (double& share : data->share) share /= most;
  return data;
}

const Matrix& of(const ComponentData& own) { return static_cast<const Matrix&>(own); }

u32 destination(const Network&, const ComponentData& own, u64 seed, u32 terminal, u32 sequence, u32, u32) {
  const Matrix& data = of(own);
  const auto begin = data.until.begin() + static_cast<std::ptrdiff_t>(data.first[terminal]),
             last = data.until.begin() + static_cast<std::ptrdiff_t>(data.first[terminal + 1]) - 1;
  const double drawn = unit(traffic_draw(seed, terminal, sequence, 0)) * *last;
  // The search excludes the last entry. It is the result if rounding makes the product as large as the sum.
  return data.destination[static_cast<std::size_t>(std::upper_bound(begin, last, drawn) - data.until.begin())];
}

// All sources have the clock of the busiest source. Any other source sends at a tick with the probability of its share,
// so its Bernoulli trials succeed less often by that factor.
u32 round_size(const Network&, const ComponentData& own, u64 seed, u32 terminal, u32 round) {
  const double share = of(own).share[terminal];
  return share >= 1 || unit(traffic_draw(seed, terminal, round, 1)) < share;
}

double share(const Network&, const ComponentData& own, u32 terminal) { return of(own).share[terminal]; }

const Register<TrafficSpec> entry({
    .name = "matrix",
    .summary = "rates from a matrix, [source, destination]; `load` is the load of the busiest source",
    .params = {choice("file", "", {},
                      "the matrix: .csv (source,destination,weight), .npz or .npy (an array, or SciPy sparse), .mtx "
                      "(Matrix Market)")},
    .setup = setup,
    .destination = destination,
    .round_size = round_size,
    .share = share,
});

}  // namespace flitgym::traffic::matrix
