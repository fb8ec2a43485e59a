#include "simcore/check_program.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "simcore/limits.hpp"

namespace flitgym::workload {

namespace {

std::string named(u32 source) { return source == kAnySource ? "any rank" : "rank " + std::to_string(source); }
std::string named(i32 tag) { return tag == kAnyTag ? "any tag" : "tag " + std::to_string(tag); }
std::string messages(u64 count) { return std::to_string(count) + (count == 1 ? " message" : " messages"); }

void earliest(Unmatched& first, const Unmatched& found) {
  if (found.op < first.op) first = found;
}

// Among endpoints in file order, the operation of the first message after `taken` others.
u64 behind(const std::vector<Endpoint>& all, u64 taken) {
  for (const Endpoint& end : all) {
    if (taken < end.count) return end.op;
    taken -= end.count;
  }
  return all.back().op;
}

u64 total(const std::vector<Endpoint>& all) {
  u64 sum = 0;
  for (const Endpoint& end : all) sum += end.count;
  return sum;
}

// `sends` and `wild` are the endpoints of one destination after exact pairs were removed: sends that no exact receive
// takes, and receives with a wildcard.
Unmatched check_wildcards(const std::vector<Endpoint>& sends, const std::vector<Endpoint>& wild) {
  // Checks that each kind of wildcard alone has enough matching messages.
  std::map<std::pair<u32, i32>, std::vector<Endpoint>> kinds;
  for (const Endpoint& end : wild) kinds[{end.source, end.tag}].push_back(end);
  std::map<u32, u64> by_source;
  std::map<i32, u64> by_tag;
  for (const Endpoint& end : sends) by_source[end.source] += end.count, by_tag[end.tag] += end.count;
  const u64 left = total(sends);
  Unmatched worst;
  for (const auto& [kind, receives] : kinds) {
    const auto [source, tag] = kind;
    const u64 offered = source != kAnySource ? by_source[source] : tag != kAnyTag ? by_tag[tag] : left;
    if (total(receives) <= offered) continue;
    earliest(worst,
             {behind(receives, offered), "rank " + std::to_string(receives[0].destination) + " receives " +
                                             messages(total(receives)) + " from " + named(source) + " with " +
                                             named(tag) + ", and exact receives leave " + std::to_string(offered)});
  }
  if (worst) return worst;

  const u64 absorbed = total(wild);
  if (absorbed == left) return {};
  const auto& more = absorbed > left ? wild : sends;
  return {behind(more, std::min(absorbed, left)),
          "rank " + std::to_string(more[0].destination) + " receives " + messages(absorbed) +
              " with wildcards, and exact receives leave " + std::to_string(left)};
}

}  // namespace

std::vector<u32> find_cycle(std::size_t ops, std::span<const Dependency> dependencies) {
  // Programs are usually written in order, and forward dependencies form no cycle.
  if (std::all_of(dependencies.begin(), dependencies.end(), [](const Dependency& d) { return d.before < d.after; }))
    return {};

  // Repeatedly removes operations without open dependencies. The remaining operations depend on a cycle.
  std::vector<u32> waits(ops), first(ops + 1), out(dependencies.size());
  for (const Dependency& d : dependencies) waits[d.after]++, first[d.before + 1]++;
  for (std::size_t op = 0; op < ops; op++) first[op + 1] += first[op];
  std::vector<u32> fill(first.begin(), first.end() - 1);
  for (u32 k = 0; k < dependencies.size(); k++) out[fill[dependencies[k].before]++] = k;
  std::vector<u32> ready;
  for (u32 op = 0; op < ops; op++)
    if (waits[op] == 0) ready.push_back(op);
  for (std::size_t n = 0; n < ready.size(); n++)
    for (u32 k = first[ready[n]]; k < first[ready[n] + 1]; k++)
      if (--waits[dependencies[out[k]].after] == 0) ready.push_back(dependencies[out[k]].after);
  if (ready.size() == ops) return {};

  // Walks backwards from a remaining operation along open dependencies until an operation repeats.
  std::vector<u32> unmet(ops, kNone), seen(ops, kNone), path;
  u32 op = kNone;
  for (u32 k = 0; k < dependencies.size(); k++)
    if (waits[dependencies[k].before] > 0) unmet[dependencies[k].after] = k, op = dependencies[k].after;
  while (seen[op] == kNone) {
    seen[op] = static_cast<u32>(path.size());
    path.push_back(unmet[op]);
    op = dependencies[unmet[op]].before;
  }
  std::vector<u32> cycle(path.begin() + seen[op], path.end());
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

Unmatched find_unmatched(std::vector<Endpoint>&& endpoints) {
  const auto key = [](const Endpoint& e) { return std::tuple(e.destination, e.source, e.tag); };
  std::sort(endpoints.begin(), endpoints.end(), [&](const Endpoint& a, const Endpoint& b) {
    worked();
    return std::tuple(key(a), a.op) < std::tuple(key(b), b.op);
  });

  Unmatched first;
  for (std::size_t begin = 0, end; begin < endpoints.size(); begin = end) {
    // Handles one destination: first its exact keys, then its wildcards for the rest.
    const u32 destination = endpoints[begin].destination;
    std::vector<Endpoint> left, wild;
    Unmatched exact, unreceived;
    for (end = begin; end < endpoints.size() && endpoints[end].destination == destination;) {
      const std::size_t from = end;
      u64 sent = 0, received = 0;
      for (; end < endpoints.size() && key(endpoints[end]) == key(endpoints[from]); end++)
        (endpoints[end].is_send ? sent : received) += endpoints[end].count;
      const Endpoint& any = endpoints[from];
      if (any.source == kAnySource || any.tag == kAnyTag) {
        wild.insert(wild.end(), endpoints.begin() + static_cast<std::ptrdiff_t>(from),
                    endpoints.begin() + static_cast<std::ptrdiff_t>(end));
        continue;
      }
      if (sent == received) continue;
      std::vector<Endpoint> more;
      for (std::size_t k = from; k < end; k++)
        if (endpoints[k].is_send == (sent > received)) more.push_back(endpoints[k]);
      const Unmatched found = {behind(more, std::min(sent, received)),
                               "rank " + std::to_string(destination) + " receives " + messages(received) + " from " +
                                   named(any.source) + " with " + named(any.tag) + ", and " + std::to_string(sent) +
                                   (sent == 1 ? " is sent" : " are sent")};
      earliest(sent > received ? unreceived : exact, found);
      if (received > sent) continue;

      u64 taken = received;  // the earliest sends match the exact receives
      for (Endpoint& e : more) {
        const u64 met = std::min(taken, e.count);
        taken -= met;
        e.count -= met;
        if (e.count > 0) left.push_back(e);
      }
    }
    const auto by_op = [](const Endpoint& a, const Endpoint& b) { return a.op < b.op; };
    std::sort(left.begin(), left.end(), by_op);
    std::sort(wild.begin(), wild.end(), by_op);
    earliest(first, exact);
    earliest(first, wild.empty() ? unreceived : check_wildcards(left, wild));
  }
  return first;
}

}  // namespace flitgym::workload
