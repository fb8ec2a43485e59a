#include "tables/levels.hpp"

#include <algorithm>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/topology/fat_tree.hpp"

namespace flitgym::tables {

std::vector<ParamSpec> root_params() {
  return {
      integer_list("roots", {}, 0, 1 << 24, "",
                   "numbers of the switches at the top level; empty = use root_names or let the engine find them"),
      choice("root_names", "", {}, "names of the switches at the top level, separated by commas"),
  };
}

std::vector<u32> given_roots(const std::string& engine, const Params& params, const ChannelGraph& g) {
  std::vector<u32> roots = params.counts("roots");
  for (const u32 root : roots)
    if (root >= g.switches)
      throw ConfigError("engine " + engine + ", roots: there is no switch " + std::to_string(root) +
                        "; they are 0 to " + std::to_string(g.switches - 1));
  const std::string& names = params.text("root_names");
  if (!names.empty() && !roots.empty())
    throw ConfigError("engine " + engine + ", root_names: roots are given as well; set only one of the two");
  if (names.empty()) return roots;
  std::vector<std::string> valid;
  for (u32 s = 0; s < g.switches; s++) valid.push_back(g.switch_name(s));
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    const std::size_t begin = names.find_first_not_of(' ', at), end = names.find_last_not_of(' ', comma - 1);
    const std::string name =
        begin < comma && end != std::string::npos && end >= begin ? names.substr(begin, end - begin + 1) : "";
    const auto found = std::find(valid.begin(), valid.end(), name);
    if (found == valid.end())
      throw ConfigError("engine " + engine + ", root_names: there is no switch '" + name + "'" +
                        did_you_mean(name, valid) + "; expected names of switches, separated by commas");
    roots.push_back(static_cast<u32>(found - valid.begin()));
    at = comma + 1;
  }
  return roots;
}

std::vector<u32> ranks_below(const ChannelGraph& g, const std::vector<u32>& roots) {
  std::vector<u32> rank;
  hops_to(g, roots, rank);
  return rank;
}

std::vector<u32> heights(const ChannelGraph& g) {
  std::vector<u32> with_terminals;
  for (u32 s = 0; s < g.switches; s++)
    if (g.terminals_at(s)) with_terminals.push_back(s);
  return ranks_below(g, with_terminals);
}

bool find_levels(const std::string& engine, const Params& params, const ChannelGraph& g, Levels& levels) {
  if (const auto roots = given_roots(engine, params, g); !roots.empty()) {
    levels.of_roots = true;
    levels.rank = ranks_below(g, roots);
    return true;
  }
  if (const auto* tree = dynamic_cast<const FatTree*>(g.topology.get())) {
    levels.rank.clear();
    for (u32 s = 0; s < g.switches; s++) levels.rank.push_back(tree->levels - tree->level[s]);
    return true;
  }
  levels.rank = heights(g);
  u32 top = 0;
  for (const u32 height : levels.rank)
    if (height != kNone) top = std::max(top, height);
  if (top == 0) return false;
  for (u32 c = 0; c < g.channels; c++) {
    const u32 a = levels.rank[g.from[c]], b = levels.rank[g.to[c]];
    if (a != kNone && a + 1 != b && b + 1 != a) return false;
  }
  for (u32& rank : levels.rank) rank = rank == kNone ? kNone : top - rank;
  return true;
}

}  // namespace flitgym::tables
