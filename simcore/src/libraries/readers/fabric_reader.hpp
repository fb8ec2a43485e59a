// Shared by the readers of network files: nodes, cables and their attributes.
#pragma once

#include <string_view>
#include <unordered_map>

#include "readers/fabric.hpp"
#include "simcore/limits.hpp"
#include "simcore/text.hpp"

namespace flitgym::fabric {

using namespace text;

// Sets the attribute `key` of a cable: latency_ns, bandwidth_gb_per_s or kind. An empty value is ignored.
void set_attribute(const Source& source, u32 line, Fabric::Cable& cable, std::string_view key, std::string_view value);

// Makes room for one more entry. Before a list grows, its memory is claimed: `each` bytes per entry.
template <class T>
void make_room(std::vector<T>& list, u64 each, const Source& source, const std::string& what) {
  if (list.size() < list.capacity()) return;
  const std::size_t more = std::max<std::size_t>(64, list.size());
  claim_memory(more * each, source.path, list.size() + more, " ", what);
  list.reserve(list.size() + more);
}

// A fabric that grows while its file is read.
class Builder {
 public:
  explicit Builder(const Source& source) : source_(source) {}

  u32 node(std::string_view name, u32 line);  // the node of this name; creates it if there is none
  // Sets host or switch. It is an error if another line gives the other type. A default does not count as a line.
  void set_type(u32 node, std::string_view type, u32 line, bool is_default = false);
  bool typed(u32 node) const { return typed_[node] > 0; }  // does a line give its type?
  void add(const Fabric::Cable& cable);

  Fabric fabric;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  const Source& source_;
  std::unordered_map<std::string, u32, Hash, std::equal_to<>> ids_;
  std::vector<u32> typed_, ends_;  // per node: the line that gives its type (0 = none), and the number of its cables
};

Fabric read_csv(const Source& source);
Fabric read_edges(const Source& source);

}  // namespace flitgym::fabric
