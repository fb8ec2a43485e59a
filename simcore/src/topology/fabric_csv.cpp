// Edge lists: a line that names the columns (in any order), then one line per cable.
//
//     a,b,a_type,kind,latency_ns
//     h0,s0,host,,
//     h1,s1,host,,
//     s0,s1,,global,100
//
//   a, b                  the two nodes; a node exists if a line names it
//   a_type, b_type        host or switch; one line that gives the type is enough, other lines may leave it empty.
//                         A node without a type is a switch, whatever its name. If the file has no hosts,
//                         topology.terminals_per_router attaches terminals
//   a_port, b_port        ports, counted from 0 as in results; empty = the next port that no line names
//   latency_ns            time of flight, 0 .. 1e6; empty = value of the channel's kind
//   bandwidth_gb_per_s    1e-6 .. 1e6 GB/s; empty = value of the channel's kind
//   kind                  local or global; empty = not given; ignored for the cable of a host
//   links                 number of parallel cables (1); excludes ports, because a port has one cable
//
// Only a and b are required. Fields may be in double quotes (RFC 4180, without line breaks in them). Blanks around
// fields, empty lines and lines that begin with # are ignored. A node has as many ports as its cables need.
#include <algorithm>

#include "simcore/error.hpp"
#include "topology/fabric_reader.hpp"

namespace flitgym::fabric {

namespace {

enum Column { kA, kB, kAPort, kBPort, kAType, kBType, kLatency, kBandwidth, kKind, kLinks, kColumns };
const std::vector<std::string> kNames = {
    "a", "b", "a_port", "b_port", "a_type", "b_type", "latency_ns", "bandwidth_gb_per_s", "kind", "links"};

// Splits one line into its fields, without the quotes and blanks around them.
void split(const Source& source, u32 number, std::string_view line, std::vector<std::string>& fields) {
  std::size_t count = 0;
  const auto field = [&]() -> std::string& {
    if (count == fields.size()) fields.emplace_back();
    return fields[count++];
  };
  for (;;) {
    line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    std::string& out = field();
    if (line.empty() || line[0] != '"') {
      const std::size_t comma = line.find(',');
      out = trimmed(line.substr(0, comma));
      if (out.find('"') != out.npos)
        fail(
            source, number,
            "a double quote within " + shown(out) + "; expected the whole field in quotes, and \"\" for a quote in it");
      if (comma == line.npos) break;
      line.remove_prefix(comma + 1);
      continue;
    }
    out.clear();
    for (line.remove_prefix(1);; line.remove_prefix(1)) {
      const std::size_t quote = line.find('"');
      if (quote == line.npos)
        fail(source, number,
             "a double quote is not closed in this line; expected \" after " + shown(out + std::string(line)));
      out += line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (line.empty() || line[0] != '"') break;
      out += '"';
    }
    line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty()) break;
    if (line[0] != ',')
      fail(source, number, shown(line) + " after a closing quote; expected a comma or the end of the line");
    line.remove_prefix(1);
  }
  fields.resize(count);
}

// The position of each known column in the file; kNone if the file lacks it.
std::vector<u32> columns_of(const Source& source, u32 line, const std::vector<std::string>& header) {
  std::vector<u32> place(kColumns, kNone);
  for (u32 k = 0; k < header.size(); k++) {
    const auto known = std::find(kNames.begin(), kNames.end(), header[k]);
    if (known == kNames.end())
      fail(source, line,
           "unknown column " + shown(header[k]) + did_you_mean(header[k], kNames) +
               "; expected a line that names the columns: a, b and any of " + join({kNames.begin() + 2, kNames.end()}) +
               ", with commas between");
    u32& at = place[static_cast<std::size_t>(known - kNames.begin())];
    if (at != kNone) fail(source, line, "column " + shown(header[k]) + " appears twice; expected it once");
    at = k;
  }
  for (const Column needed : {kA, kB})
    if (place[needed] == kNone)
      fail(source, line, "column '" + kNames[needed] + "' is missing; expected at least a and b in the first line");
  return place;
}

}  // namespace

Fabric read_csv(const Source& source) {
  Builder out(source);
  std::vector<std::string> fields;
  std::vector<u32> place;
  const auto value = [&](Column column) {
    return place[column] == kNone ? std::string_view() : std::string_view(fields[place[column]]);
  };
  std::size_t columns = 0;
  for (Lines lines(source.text); lines.next();) {
    const u32 line = lines.number();
    if (trimmed(lines.line()).empty() || lines.line()[0] == '#') continue;
    split(source, line, lines.line(), fields);
    if (columns == 0) {
      columns = fields.size();
      place = columns_of(source, line, fields);
      continue;
    }
    if (fields.size() != columns)
      fail(source, line,
           "this line has " + std::to_string(fields.size()) + (fields.size() == 1 ? " field" : " fields") +
               ", but the first line names " + std::to_string(columns) +
               " columns; expected the same number (or the file is cut short)");
    Fabric::Cable cable;
    cable.line = line;
    for (const Column column : {kA, kB})
      if (value(column).empty())
        fail(source, line, "column " + kNames[column] + " is empty; expected the name of a node");
    cable.a = out.node(value(kA), line);
    cable.b = out.node(value(kB), line);
    if (!value(kAType).empty()) out.set_type(cable.a, value(kAType), line);
    if (!value(kBType).empty()) out.set_type(cable.b, value(kBType), line);
    if (!value(kAPort).empty()) cable.a_port = whole_number(source, line, "a_port", value(kAPort), 0, kMaxRadix - 1);
    if (!value(kBPort).empty()) cable.b_port = whole_number(source, line, "b_port", value(kBPort), 0, kMaxRadix - 1);
    for (const Column column : {kLatency, kBandwidth, kKind})
      set_attribute(source, line, cable, kNames[column], value(column));
    const u32 links = value(kLinks).empty() ? 1 : whole_number(source, line, "links", value(kLinks), 1, kMaxRadix);
    if (links > 1 && (cable.a_port != kNone || cable.b_port != kNone))
      fail(source, line,
           std::to_string(links) + " links between " + shown(value(kA)) + " and " + shown(value(kB)) +
               " at one port; expected one line per link, or no port");
    for (u32 k = 0; k < links; k++) out.add(cable);
  }
  check_fabric(out.fabric, source.path);
  return std::move(out.fabric);
}

}  // namespace flitgym::fabric
