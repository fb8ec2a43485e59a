// Small networks in every file format, and the checks of refusals.
#pragma once

#include <sstream>

#include "readers/fabric.hpp"
#include "simcore/error.hpp"
#include "support/file.hpp"

namespace fabrics {

using namespace flitgym;

inline Fabric read(const std::string& text, const std::string& format) {
  return read_fabric(File(text).path.string(), format);
}

// Expects a refusal that starts with "PATH:place: " and contains every part. `place` is a line number, or empty for the
// whole file.
inline void refused(const std::string& text, const std::string& format, const std::string& place,
                    const std::vector<std::string>& parts) {
  const File file(text);
  const std::string message = testing::thrown<ConfigError>(
      __FILE__, __LINE__, "read_fabric", [&] { read_fabric(file.path.string(), format); }, parts);
  CHECK_FOR(message.starts_with(file.path.string() + (place.empty() ? "" : ":" + place) + ": "), message);
}

inline std::string number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
inline std::string end_text(const Fabric& f, u32 node, u32 port) {
  return f.nodes[node].name + (port == kNone ? "" : ":" + std::to_string(port));
}

// The nodes and then the cables, in the order of the file.
inline std::string text(const Fabric& f) {
  std::string out;
  for (const auto& node : f.nodes) out += (out.empty() ? "" : " ") + node.name + (node.host ? "*" : "");
  for (const auto& c : f.cables) {
    out += "\n" + end_text(f, c.a, c.a_port) + " " + end_text(f, c.b, c.b_port);
    if (c.latency_ns >= 0) out += " " + number(c.latency_ns) + " ns";
    if (c.bandwidth_gb_per_s >= 0) out += " " + number(c.bandwidth_gb_per_s) + " GB/s";
    if (!c.kind.empty()) out += " " + c.kind;
  }
  return out;
}
// The same, independent of the order of nodes, of cables and of the ends of a cable.
inline std::string sorted_text(const Fabric& f) {
  std::vector<std::string> lines;
  for (const auto& node : f.nodes) lines.push_back(node.name + (node.host ? "*" : ""));
  for (const auto& c : f.cables) {
    const auto ends = std::minmax({end_text(f, c.a, c.a_port), end_text(f, c.b, c.b_port)});
    lines.push_back(ends.first + " " + ends.second);
  }
  std::sort(lines.begin(), lines.end());
  return join(lines, "\n");
}

// Two switches with two cables between them and three hosts, in each format.
inline const char* const kCsv =
    "a,b,a_port,b_port,a_type,b_type\ns1,h2,0,0,switch,host\ns1,s0,2,2,switch,switch\ns1,s0,3,3,,\n"
    "s0,h0,0,0,switch,host\ns0,h1,1,0,,host\n";

inline const char* const kIbsim = R"(# a comment
switchguid=0x10001
Switch	4 "s1"
[1]	"h2"
[3]	"s0"[3]	w=12 s=4
[4]	"s0" [4]

switchguid=0x10000
Switch	4 "s0"
[1]	"h0"[1]
[2]	"h1"[1]
[3]	"s1"[3]
[4]	"s1"[4]

caguid=0x200000
Hca	1 "h0"
[1]	"s0"[1]

Hca	1 "h1"
[1]	"s0"[2]

Ca	2 "h2"
[1]	"s1"
)";

// Output of ibnetdiscover (infiniband-diags 44.0) with -g -f for the network above, simulated by ibsim 0.10.
inline const char* const kDiscovered = R"(#
# Topology file: generated on Sun Nov 22 03:26:59 2026
#
# Initiated from node 0000000000200000 port 0000000000200001

Non-Chassis Nodes

vendid=0x0
devid=0x0
sysimgguid=0x10001
switchguid=0x10001(10001)	# 
Switch	4 "S-0000000000010001"		# "s1" base port 0 lid 0 lmc 0
[1]	"H-0000000000200004"[1](200005) 		# "h2" lid 0 4xSDR s=1 w=2 v=4
[3]	"S-0000000000010000"[3]		# "s0" lid 0 4xSDR s=1 w=2 v=4
[4]	"S-0000000000010000"[4]		# "s0" lid 0 4xSDR s=1 w=2 v=4

vendid=0x0
devid=0x0
sysimgguid=0x10000
switchguid=0x10000(10000)	# 
Switch	4 "S-0000000000010000"		# "s0" base port 0 lid 0 lmc 0
[1]	"H-0000000000200000"[1](200001) 		# "h0" lid 0 4xSDR s=1 w=2 v=4
[2]	"H-0000000000200002"[1](200003) 		# "h1" lid 0 4xSDR s=1 w=2 v=4
[3]	"S-0000000000010001"[3]		# "s1" lid 0 4xSDR s=1 w=2 v=4
[4]	"S-0000000000010001"[4]		# "s1" lid 0 4xSDR s=1 w=2 v=4

vendid=0x0
devid=0x0
sysimgguid=0x200004
caguid=0x200004
Ca	2 "H-0000000000200004"		# "h2"
[1](200005) 	"S-0000000000010001"[1]		# lid 0 lmc 0 "s1" lid 0 4xSDR s=1 w=2 v=4

vendid=0x0
devid=0x0
sysimgguid=0x200002
caguid=0x200002
Ca	1 "H-0000000000200002"		# "h1"
[1](200003) 	"S-0000000000010000"[2]		# lid 0 lmc 0 "s0" lid 0 4xSDR s=1 w=2 v=4

vendid=0x0
devid=0x0
sysimgguid=0x200000
caguid=0x200000
Ca	1 "H-0000000000200000"		# "h0"
[1](200001) 	"S-0000000000010000"[1]		# lid 0 lmc 0 "s0" lid 0 4xSDR s=1 w=2 v=4
)";

}  // namespace fabrics
