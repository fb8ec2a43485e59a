#include <cstring>

#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "simcore/routing/q_table.hpp"
#include "simcore/routing/relation.hpp"

namespace flitgym {

SavedPacket save_packet(const Network& net, const State& s, u32 id) {
  SavedPacket saved{s.packets[id], {}, {}};
  if (id < s.details.size()) saved.detail = s.details[id];
  save_memories(net, s, id, saved.memories);
  return saved;
}
void put_back(const Network& net, State& s, u32 id, const SavedPacket& saved) {
  s.packets[id] = saved.packet;
  if (id < s.details.size()) s.details[id] = saved.detail;
  load_memories(net, s, id, saved.memories.data());
}

void save_memories(const Network& net, const State& s, u32 packet, std::vector<u8>& to) {
  for (const u32 k : net.packet_memories) {
    const std::size_t size = net.memories[k].entry_bytes();
    const u8* const entry = s.memory[k].data() + packet * size;
    to.insert(to.end(), entry, entry + size);
  }
}

void load_memories(const Network& net, State& s, u32 packet, const u8* from) {
  for (const u32 k : net.packet_memories) {
    const std::size_t size = net.memories[k].entry_bytes();
    std::memcpy(s.memory[k].data() + packet * size, from, size);
    from += size;
  }
}

std::unique_ptr<const Network> listing_network(const Network& net, const std::string& where) {
  if (net.candidates) return nullptr;
  const RelationSpec* found = nullptr;
  for (const auto& [name, spec] : registry<RelationSpec>())
    if (name == net.routing_name && routing::runs_on(spec, net) && (!found || !spec.topologies.empty())) found = &spec;
  if (!found)
    throw ConfigError(where, ": routing.", net.routing_name,
                      " does not list candidates; take a routing that does (q_adaptive, dim_war, policy, ...)");
  auto own = std::make_unique<Network>(net);
  Values values;
  for (const ParamSpec& p : found->params)
    if (const auto* rule = dynamic_cast<const routing::QRule*>(net.routing.get()); rule && p.key == "max_hops")
      values[p.key] = i64{rule->max_hops};
  found->setup(Params(where + ": relation=" + found->name, found->params, values, net.seed), *own, own->relation);
  own->candidates = found->candidates;
  return own;
}

void list_candidates_of(const Network& net, const Network* listing, State& s, Batch& b) {
  std::vector<SavedPacket> saved;
  saved.reserve(b.count);
  for (u32 k = 0; k < b.count; k++) saved.push_back(save_packet(net, s, b.packet[k]));
  listing->candidates(*listing, s, b);
  for (u32 k = 0; k < b.count; k++) put_back(net, s, b.packet[k], saved[k]);
}

}  // namespace flitgym
