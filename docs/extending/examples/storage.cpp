// Storage: a part of all packets goes to one group, whose terminals are file servers. The
// destinations of the other packets are uniform.
#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::storage {

namespace {

struct Storage : ComponentData {
  std::vector<u32> servers;  // terminals of the group
  double fraction = 0;
};

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Storage>();
  const u32 group = params.count("group");
  if (group >= net.groups)
    throw ConfigError("traffic.storage.group: " + std::to_string(group) +
                      " is not a group of topology '" + net.topology_name +
                      "'; valid groups: 0 .. " + std::to_string(net.groups - 1));
  for (u32 t = 0; t < net.terminals; t++)
    if (net.router_group[net.terminal_router[t]] == group) data->servers.push_back(t);
  if (data->servers.empty())
    throw ConfigError("traffic.storage.group: group " + std::to_string(group) +
                      " has no terminals");
  data->fraction = params.real("fraction");
  return data;
}

// Depends only on its arguments, so every call returns the same destination for a packet.
u32 destination(const Network& net, const ComponentData& own, u64 seed, u32 terminal,
                u32 sequence, u32, u32) {
  const auto& data = static_cast<const Storage&>(own);
  const u64 bits = traffic_draw(seed, terminal, sequence, 1);
  if (unit(traffic_draw(seed, terminal, sequence, 0)) >= data.fraction)
    return below(bits, net.terminals);
  return data.servers[below(bits, static_cast<u32>(data.servers.size()))];
}

const Register<TrafficSpec> entry(
    {"storage",
     "a part of the packets to the terminals of one group, the rest uniform",
     {},
     {
         integer("group", 0, 0, 1 << 20, "", "the group of the servers"),
         real("fraction", 0.5, 0, 1, "", "part of the packets that go to the servers"),
     },
     setup,
     destination});

}  // namespace

}  // namespace flitgym::traffic::storage
