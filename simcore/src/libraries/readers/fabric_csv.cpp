// Edge lists: a line that names the columns (docs/networks.md) in any order, then one line per cable. Only a and b are
// required.
//
//     a,b,a_type,kind,latency_ns
//     h0,s0,host,,
//     s0,s1,,global,100
//
// One line that gives the type of a node is enough. A node without a type is a switch, whatever its name. An empty port
// is the next one that no line names. Other empty values are those of the channel's kind. `links` excludes ports,
// because a port has one cable.
//
// In the subnet manager's form node_a,port_a,node_b,port_b, ports count from 1, as in InfiniBand. Nodes h0, h1, ... are
// hosts, and nodes s0, s1, ... are switches, in the order of these numbers. Nodes with other names need a_type or
// b_type, and then all nodes are in the order of the file.
//
// The format `edges` (SNAP, networkx) has two names per line with blanks between them, and comments that begin with #
// or %. All nodes are switches. The edge 0 1 and the edge 1 0 are the same cable.
//
// Fields may be in double quotes (RFC 4180, without line breaks in them). Blanks around fields, empty lines and lines
// that begin with # are ignored.
#include <set>

#include "readers/fabric_reader.hpp"
#include "simcore/error.hpp"

namespace flitgym::fabric {

namespace {

enum Column { kA, kB, kAPort, kBPort, kAType, kBType, kLatency, kBandwidth, kKind, kLinks, kColumns };
const std::vector<std::string> kNames = {
    "a", "b", "a_port", "b_port", "a_type", "b_type", "latency_ns", "bandwidth_gb_per_s", "kind", "links"};
const std::vector<std::string> kManagerNames = {"node_a", "node_b", "port_a", "port_b"};  // of the first columns

// Splits one line into its fields, without the quotes and blanks around them.
std::vector<std::string> split(const Source& source, u32 number, std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  std::vector<std::string> fields;
  for (bool more = true; more; line.remove_prefix(more)) {
    std::string& out = fields.emplace_back();
    skip_blanks();
    if (line.starts_with('"')) {
      for (bool first = true; line.starts_with('"'); first = false) {
        const std::size_t quote = line.find('"', 1);
        if (quote == line.npos)
          fail(source, number, "a double quote is not closed in this line; expected \" after ", shown(line.substr(1)));
        if (!first) out += '"';
        out += line.substr(1, quote - 1);
        line.remove_prefix(quote + 1);
      }
      skip_blanks();
      if (!line.empty() && line[0] != ',')
        fail(source, number, shown(line), " after a closing quote; expected a comma or the end of the line");
    } else {
      const std::size_t comma = std::min(line.find(','), line.size());
      out = trimmed(line.substr(0, comma));
      if (out.find('"') != out.npos)
        fail(source, number, "a double quote within ", shown(out),
             "; expected the whole field in quotes, and \"\" for a quote in it");
      line.remove_prefix(comma);
    }
    more = !line.empty();
  }
  return fields;
}

// The position of each known column in the file; kNone if the file lacks it.
std::vector<u32> columns_of(const Source& source, u32 line, const std::vector<std::string>& header) {
  std::vector<u32> place(kColumns, kNone);
  for (u32 k = 0; k < header.size(); k++) {
    const bool of_manager = std::count(kManagerNames.begin(), kManagerNames.end(), header[k]) > 0;
    const std::vector<std::string>& names = of_manager ? kManagerNames : kNames;
    const auto known = std::find(names.begin(), names.end(), header[k]);
    if (known == names.end())
      fail(source, line, "unknown column ", shown(header[k]), did_you_mean(header[k], kNames),
           "; expected a line that names the columns: a, b and any of ", join({kNames.begin() + 2, kNames.end()}),
           ", or node_a,port_a,node_b,port_b, with commas between");
    u32& at = place[static_cast<std::size_t>(known - names.begin())];
    if (at != kNone) fail(source, line, "column ", shown(header[k]), " appears twice; expected it once");
    at = k;
  }
  u32 of_manager = 0, named = 0;
  for (const Column column : {kA, kB, kAPort, kBPort})
    if (place[column] != kNone) named++, of_manager += header[place[column]] == kManagerNames[column];
  if (of_manager != 0 && of_manager != named)
    fail(source, line,
         "the columns belong to two forms; expected a,b,a_port,b_port or node_a,port_a,node_b,port_b, or fewer of one "
         "form");
  for (const Column needed : {kA, kB})
    if (place[needed] == kNone)
      fail(source, line, "column '", kNames[needed], "' is missing; expected at least a and b in the first line");
  return place;
}

// The number in the name of a node h0, h1, ... or s0, s1, ...; kNone for any other name.
u32 number_of(std::string_view name) {
  if (name.size() < 2 || name.size() > 9 || (name[0] != 'h' && name[0] != 's')) return kNone;
  if (name.find_first_not_of("0123456789", 1) != name.npos || (name[1] == '0' && name.size() > 2)) return kNone;
  return static_cast<u32>(std::stoul(std::string(name.substr(1))));
}

// The types of nodes that no line gives, from their names, and the nodes in the order of their numbers.
void take_names(Builder& out, const Source& source) {
  auto& nodes = out.fabric.nodes;
  bool numbered = true;
  for (u32 node = 0; node < nodes.size(); node++) {
    const std::string& name = nodes[node].name;
    if (number_of(name) == kNone) numbered = false;
    else if (!out.typed(node)) out.set_type(node, name[0] == 'h' ? "host" : "switch", nodes[node].line, true);
  }
  for (u32 node = 0; node < nodes.size(); node++)
    if (number_of(nodes[node].name) == kNone && !out.typed(node))
      fail(source, nodes[node].line, "is ", shown(nodes[node].name),
           " a host or a switch? Expected a name such as h0 (host) or s0 (switch), or the type in column a_type or "
           "b_type");
  if (!numbered) return;
  std::vector<u32> order(nodes.size()), place(nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    return std::pair(nodes[a].name[0] == 'h', number_of(nodes[a].name)) <
           std::pair(nodes[b].name[0] == 'h', number_of(nodes[b].name));
  });
  std::vector<Fabric::Node> sorted;
  for (u32 k = 0; k < order.size(); k++) place[order[k]] = k, sorted.push_back(std::move(nodes[order[k]]));
  nodes = std::move(sorted);
  for (Fabric::Cable& cable : out.fabric.cables) cable.a = place[cable.a], cable.b = place[cable.b];
}

}  // namespace

Fabric read_edges(const Source& source) {
  Builder out(source);
  std::set<std::pair<u32, u32>> known;
  for (Lines lines(source.text); lines.next();) {
    const std::vector<std::string_view> ends = words(lines.line());
    if (ends.empty() || ends[0][0] == '#' || ends[0][0] == '%') continue;
    if (ends.size() != 2)
      fail(source, lines.number(), ends.size(), ends.size() == 1 ? " word" : " words",
           "; expected the names of two nodes, with a blank between them (flitgym convert reads weights, too)");
    const u32 a = out.node(ends[0], lines.number()), b = out.node(ends[1], lines.number());
    if (!known.insert(std::minmax(a, b)).second) continue;
    Fabric::Cable cable;
    cable.a = a, cable.b = b, cable.line = lines.number();
    out.add(cable);
  }
  check_fabric(out.fabric, source.path);
  return std::move(out.fabric);
}

Fabric read_csv(const Source& source) {
  Builder out(source);
  std::vector<std::string> fields;
  std::vector<u32> place;
  const auto value = [&](Column column) {
    return place[column] == kNone ? std::string_view() : std::string_view(fields[place[column]]);
  };
  std::size_t columns = 0;
  bool of_manager = false;
  for (Lines lines(source.text); lines.next();) {
    const u32 line = lines.number();
    if (trimmed(lines.line()).empty() || lines.line()[0] == '#') continue;
    fields = split(source, line, lines.line());
    if (columns == 0) {
      columns = fields.size();
      place = columns_of(source, line, fields);
      of_manager = fields[place[kA]] == kManagerNames[kA];
      continue;
    }
    if (fields.size() != columns)
      fail(source, line, "this line has ", fields.size(), fields.size() == 1 ? " field" : " fields",
           ", but the first line names ", columns, " columns; expected the same number (or the file is cut short)");
    Fabric::Cable cable;
    cable.line = line;
    for (const Column column : {kA, kB})
      if (value(column).empty())
        fail(source, line, "column ", kNames[column], " is empty; expected the name of a node");
    cable.a = out.node(value(kA), line);
    cable.b = out.node(value(kB), line);
    if (!value(kAType).empty()) out.set_type(cable.a, value(kAType), line);
    if (!value(kBType).empty()) out.set_type(cable.b, value(kBType), line);
    const u32 first = of_manager;  // number of the first port
    for (const auto& [column, port] : {std::pair(kAPort, &cable.a_port), std::pair(kBPort, &cable.b_port)})
      if (!value(column).empty())
        *port = whole_number(source, line, (of_manager ? kManagerNames : kNames)[column], value(column), first,
                             kMaxRadix - 1 + first) -
                first;
    for (const Column column : {kLatency, kBandwidth, kKind})
      set_attribute(source, line, cable, kNames[column], value(column));
    const u32 links = value(kLinks).empty() ? 1 : whole_number(source, line, "links", value(kLinks), 1, kMaxRadix);
    if (links > 1 && (cable.a_port != kNone || cable.b_port != kNone))
      fail(source, line, links, " links between ", shown(value(kA)), " and ", shown(value(kB)),
           " at one port; expected one line per link, or no port");
    for (u32 k = 0; k < links; k++) out.add(cable);
  }
  if (of_manager) take_names(out, source);
  check_fabric(out.fabric, source.path);
  return std::move(out.fabric);
}

}  // namespace flitgym::fabric
