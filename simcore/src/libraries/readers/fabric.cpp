#include "readers/fabric.hpp"

#include <filesystem>

#include "readers/fabric_reader.hpp"
#include "simcore/error.hpp"
#include "simcore/plain_file.hpp"

namespace flitgym {

namespace fabric {

// The length of the UTF-8 character at the start of `text`; 0 if there is none (RFC 3629).
static std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<u8>(text[k]) : u8{0}; };
  const u8 first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t k = 1; k < length; k++)
    if ((byte(k) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool invalid = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || invalid ? 0 : length;
}

// Names appear in results and in Python, so the file must be valid text.
static void check_text(const Source& source) {
  const std::string_view text = source.text;
  if (text.substr(0, 2) == "\x1f\x8b") fail(source, 0, "the file is compressed (gzip); expected an unpacked file");
  u32 line = 1;
  for (std::size_t at = 0, length; at < text.size(); at += length) {
    const u8 byte = static_cast<u8>(text[at]);
    length = character(text.substr(at, 4));
    if (length == 0 || byte == 127 || (byte < 32 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f'))
      fail(source, line, "byte ", byte, " is not valid in UTF-8 text; expected a text file");
    line += byte == '\n';
    if ((at & 0xfff) < length) worked(0x1000);
  }
}

static Source read_source(const std::string& path) {
  Source source{path, read_plain_file(path, path, "; expected a file that describes a network", 2)};
  if (source.text.empty()) fail(source, 0, "the file is empty; expected nodes and cables");
  // The byte order mark that some editors write before UTF-8 text.
  if (source.text.compare(0, 3, "\xef\xbb\xbf") == 0) source.text.erase(0, 3);
  check_text(source);
  return source;
}

static Fabric read_records(const Source& source) {
  if (!record_reader()) fail(source, 0, "files of ibnetdiscover and ibsim are read with Python; expected csv or edges");
  Fabric read = record_reader()(source.path, source.text);
  check_fabric(read, source.path);
  return read;
}

static const std::map<std::string, Fabric (*)(const Source&)> kReaders = {
    {"csv", read_csv}, {"edges", read_edges}, {"ibnetdiscover", read_records}, {"ibsim", read_records}};

// The format of a file, from the extension of its name or else from its first informative line.
static std::string format_of(const Source& source) {
  const auto lower = [](std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return out;
  };
  const std::string end = lower(std::filesystem::path(source.path).extension().string());
  if (end == ".csv") return "csv";
  bool records = false;
  const std::vector<std::string> others = {".dot", ".gml", ".graphml", ".gv", ".json"};  // of flitgym convert
  const bool foreign = std::ranges::count(others, end) > 0;
  for (Lines lines(source.text); !foreign && lines.next();) {
    const std::string_view line = trimmed(lines.line());
    for (const char* const word : {"Switch", "Ca", "Rt", "Hca"})
      if (starts_with_word(line, word)) return "ibnetdiscover";
    records |= line.find("id=0x") != line.npos;  // vendid, switchguid and other lines above a record
    if (records || line.empty() || line[0] == '#' || line[0] == '%' || line.substr(0, 2) == "//") continue;
    if (line.find(',') != line.npos) return "csv";
    if (starts_with_word(line, "Chassis") || starts_with_word(line, "Non")) continue;  // of ibnetdiscover
    if (words(line).size() == 2) return "edges";
    break;
  }
  fail(source, 0,
       "the format of the file is unknown; expected a name that ends in .csv, or the format csv, edges, ibnetdiscover "
       "or ibsim (flitgym convert writes CSV from GraphViz, GraphML, GML, JSON and edges with weights)");
}

static std::string at_line(u32 line) { return line > 0 ? " (line " + std::to_string(line) + ")" : ""; }

void set_attribute(const Source& source, u32 line, Fabric::Cable& cable, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  // The bounds are those of router.link_latency_ns_* and router.link_bandwidth_gb_per_s_*.
  if (key == "latency_ns") {
    cable.latency_ns = real_number(source, line, "latency_ns", value, 0, 1e6);
  } else if (key == "bandwidth_gb_per_s") {
    cable.bandwidth_gb_per_s = real_number(source, line, "bandwidth_gb_per_s", value, 1e-6, 1e6);
  } else {
    if (value != "local" && value != "global")
      fail(source, line, "unknown kind ", shown(value), did_you_mean(std::string(value), {"local", "global"}),
           "; expected local or global");
    cable.kind = value;
  }
}

u32 Builder::node(std::string_view name, u32 line) {
  if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
  if (name.empty()) fail(source_, line, "a node has no name; expected a name");
  for (const char c : name)
    if (static_cast<u8>(c) < 32 || c == 127)
      fail(source_, line,
           "a name contains a line break, a tab or another invisible character; expected visible characters");
  const u32 id = static_cast<u32>(fabric.nodes.size());
  make_room(fabric.nodes, 200, source_, "nodes");  // bytes of a node and of its name, which is stored twice
  fabric.nodes.push_back({std::string(name), false, 0, line});
  ids_.emplace(name, id);
  typed_.push_back(0);
  ends_.push_back(0);
  return id;
}

void Builder::set_type(u32 node, std::string_view type, u32 line, bool is_default) {
  if (type != "host" && type != "switch")
    fail(source_, line, "unknown type ", shown(type), " of ", shown(fabric.nodes[node].name),
         did_you_mean(std::string(type), {"host", "switch"}), "; expected host or switch");
  const bool host = type == "host";
  if (typed_[node] > 0 && fabric.nodes[node].host != host)
    fail(source_, line, shown(fabric.nodes[node].name), " is a ", type, " here and a ", host ? "switch" : "host",
         " on line ", typed_[node], "; expected one of the two");
  if (typed_[node] == 0 && !is_default) typed_[node] = line;
  fabric.nodes[node].host = host;
}

void Builder::add(const Fabric::Cable& cable) {
  for (const u32 node : {cable.a, cable.b})
    if (++ends_[node] > kMaxRadix)
      fail(source_, cable.line, shown(fabric.nodes[node].name), " has more than ", kMaxRadix,
           " cables; expected at most ", kMaxRadix);
  make_room(fabric.cables, sizeof(cable), source_, "cables");
  worked(16);
  fabric.cables.push_back(cable);
}

}  // namespace fabric

RecordReader& record_reader() {
  static RecordReader reader = nullptr;
  return reader;
}

using fabric::shown;

Fabric read_fabric(const std::string& path, const std::string& format) {
  if (format != "auto" && !fabric::kReaders.contains(format)) {
    std::vector<std::string> formats = {"auto"};
    for (const auto& [name, reader] : fabric::kReaders) formats.push_back(name);
    throw ConfigError("unknown format ", shown(format), " of ", path, did_you_mean(format, formats),
                      "; expected one of ", join(formats));
  }
  const fabric::Source source = fabric::read_source(path);
  Fabric read = fabric::kReaders.at(format == "auto" ? fabric::format_of(source) : format)(source);
  if (read.cables.empty())
    fabric::fail(source, 0, "the file has no cable; expected at least one (or the file is cut short)");
  check_connected(read, path);
  return read;
}

void check_fabric(const Fabric& fabric, const std::string& path, const std::string& hosts_are) {
  const fabric::Source source{path, {}};
  const auto& nodes = fabric.nodes;
  const auto& cables = fabric.cables;
  const auto name = [&](u32 node) { return shown(nodes[node].name); };
  const auto fail = [&](u32 line, const auto&... what) { fabric::fail(source, line, what...); };
  if (nodes.empty()) fail(0, "the network has no node; expected switches, and cables between them");

  // Per node: the number of its cables, and the line of the first one.
  std::vector<u32> ends(nodes.size(), 0), first(nodes.size(), 0);
  std::vector<std::pair<u64, u32>> used;  // (node, port), and index of the cable
  claim_memory(8 * u64{nodes.size()} + 32 * u64{cables.size()}, path, "checking ", cables.size(), " cables");
  used.reserve(2 * cables.size());
  for (u32 k = 0; k < cables.size(); k++) {
    const Fabric::Cable& cable = cables[k];
    worked(32);
    if (cable.a == cable.b)
      fail(cable.line, name(cable.a), " is connected to itself; expected a cable to another node");
    if (nodes[cable.a].host && nodes[cable.b].host)
      fail(cable.line, "a cable between two hosts, ", name(cable.a), " and ", name(cable.b), hosts_are,
           "; expected a switch on at least one side");
    for (const auto& [node, port] : {std::pair(cable.a, cable.a_port), std::pair(cable.b, cable.b_port)}) {
      const u32 most = nodes[node].ports ? nodes[node].ports : kMaxRadix;
      if (port != kNone) {
        if (port >= most)
          fail(cable.line, "port ", port, " of ", name(node), ", which has ", nodes[node].ports ? "" : "at most ", most,
               " ports; expected a port 0 .. ", most - 1);
        used.emplace_back(u64{node} << 32 | port, k);
      }
      if (ends[node]++ == 0) {
        first[node] = cable.line;
      } else if (nodes[node].host) {
        fail(cable.line, "host ", name(node), hosts_are, " has a second cable here; its first cable is on ",
             first[node] == cable.line ? "the same line" : "line " + std::to_string(first[node]),
             "; expected one cable, because a terminal has one port");
      }
      if (ends[node] > most)
        fail(cable.line, name(node), " has ", ends[node], " cables or more, but ",
             nodes[node].ports ? "" : "may have at most ", most, " ports");
    }
  }

  // Reports the port with two cables that comes first in the file.
  std::sort(used.begin(), used.end());
  u32 second = kNone;
  std::size_t at = 0;
  for (std::size_t k = 1; k < used.size(); k++)
    if (used[k].first == used[k - 1].first && used[k].second < second) second = used[k].second, at = k;
  if (second != kNone)
    fail(cables[second].line, "port ", used[at].first & kNone, " of ", name(static_cast<u32>(used[at].first >> 32)),
         " already has the cable",
         cables[used[at - 1].second].line > 0 ? " of line " + std::to_string(cables[used[at - 1].second].line)
                                              : " " + std::to_string(used[at - 1].second),
         "; expected another port");

  for (u32 node = 0; node < nodes.size(); node++)
    if (nodes[node].host && ends[node] == 0)
      fail(nodes[node].line, "host ", name(node), hosts_are, " has no cable; expected one to a switch");
}

void check_connected(const Fabric& fabric, const std::string& path) {
  const u32 count = static_cast<u32>(fabric.nodes.size());
  claim_memory(8 * u64{count}, path, "checking whether ", count, " nodes are connected");
  std::vector<u32> root(count);  // trees of connected nodes; the root is the node that comes first in the file
  for (u32 node = 0; node < count; node++) root[node] = node;
  const auto root_of = [&](u32 node) {
    while (root[node] != node) node = root[node] = root[root[node]];
    return node;
  };
  for (const Fabric::Cable& cable : fabric.cables) {
    worked(16);
    const u32 a = root_of(cable.a), b = root_of(cable.b);
    root[std::max(a, b)] = std::min(a, b);
  }
  std::vector<u32> size(count, 0), parts;
  for (u32 node = 0; node < count; node++)
    if (size[root_of(node)]++ == 0) parts.push_back(node);
  if (parts.size() < 2) return;
  // The smallest part is most likely the mistake, so the message names one of its nodes.
  std::sort(parts.begin(), parts.end(), [&](u32 a, u32 b) { return std::pair(size[b], a) < std::pair(size[a], b); });
  const Fabric::Node &most = fabric.nodes[parts.front()], &least = fabric.nodes[parts.back()];
  fabric::fail({path, {}}, least.line, shown(least.name), " cannot be reached from ", shown(most.name),
               fabric::at_line(most.line), ": the network has ", parts.size(), " parts, the largest with ",
               size[parts.front()], " nodes, the smallest with ", size[parts.back()],
               "; expected one connected network");
}

}  // namespace flitgym
