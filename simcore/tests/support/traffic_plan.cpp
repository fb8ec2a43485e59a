// A traffic pattern for tests. Each terminal sends the packets that the plan lists for it, all at cycle 0.
#include "simcore/registry.hpp"
#include "support/scenes.hpp"

namespace scenes {

namespace {

struct Plan : ComponentData {
  std::map<u32, std::vector<u32>> destinations;  // by source
};

// The parameter is a list of source, destination, source, destination, ...
std::shared_ptr<const ComponentData> setup(const Params& params, const Network&) {
  auto plan = std::make_shared<Plan>();
  const auto& pairs = params.reals("pairs");
  for (std::size_t k = 0; k + 1 < pairs.size(); k += 2)
    plan->destinations[static_cast<u32>(pairs[k])].push_back(static_cast<u32>(pairs[k + 1]));
  return plan;
}

u32 destination(const Network&, const ComponentData& own, u64, u32 terminal, u32, u32, u32 index) {
  return static_cast<const Plan&>(own).destinations.at(terminal)[index];
}

u32 round_size(const Network&, const ComponentData& own, u64, u32 terminal, u32 round) {
  const auto& plan = static_cast<const Plan&>(own).destinations;
  const auto found = plan.find(terminal);
  return round > 0 || found == plan.end() ? 0 : static_cast<u32>(found->second.size());
}

const Register<TrafficSpec> entry({"test_planned",
                                   "packets named one by one",
                                   {},
                                   {list("pairs", {}, 0, 1e9, "", "source, destination, ...")},
                                   setup,
                                   destination,
                                   round_size});

}  // namespace

Section planned(std::vector<Planned> plan, i64 packet_flits) {
  std::vector<double> pairs;
  for (const Planned& packet : plan) {
    pairs.push_back(packet.source);
    pairs.push_back(packet.destination);
  }
  return {
      "test_planned",
      {{"pairs", pairs}, {"packet_bytes", bytes_of(packet_flits)}, {"injection", "fixed_interval"}, {"load", 1e-6}}};
}

}  // namespace scenes
