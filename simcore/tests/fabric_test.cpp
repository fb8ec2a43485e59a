// Network files: what each format says, that all of them say the same, and what is refused, where and by which names.
#include "topology/fabric.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "fuzz.hpp"
#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/rng.hpp"
#include "test.hpp"

using namespace flitgym;

namespace {

// A file that is gone with the case.
struct File {
  std::filesystem::path path;
  explicit File(const std::string& text, const std::string& end = ".txt") {
    static u32 count = 0;
    path = std::filesystem::temp_directory_path() / ("flitgym_fabric_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + end);
    std::ofstream out(path, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    CHECK(out.good());
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

Fabric read(const std::string& text, const std::string& format) { return read_fabric(File(text).path.string(), format); }

// "PATH:place: ...", place being a line or empty for the whole file; every part is in it, and what is expected instead.
void refused(const std::string& text, const std::string& format, const std::string& place, const std::vector<std::string>& parts) {
  const File file(text);
  std::string message;
  try {
    read_fabric(file.path.string(), format);
  } catch (const ConfigError& error) {
    message = error.what();
  }
  const std::string begin = file.path.string() + (place.empty() ? "" : ":" + place) + ": ";
  CHECK_FOR(message.rfind(begin, 0) == 0, place + " in: " + message);
  for (const std::string& part : parts) CHECK_FOR(message.find(part) != std::string::npos, part + " in: " + message);
}

std::string number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
std::string end_text(const Fabric& f, u32 node, u32 port) { return f.nodes[node].name + (port == kNone ? "" : ":" + std::to_string(port)); }

// Nodes, then cables, in their order.
std::string text(const Fabric& f) {
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
// The same in any order of nodes, cables and their ends.
std::string sorted_text(const Fabric& f) {
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
const char* const kSmall = "s1 h2* s0 h0* h1*\ns1:0 h2:0\ns1:2 s0:2\ns1:3 s0:3\ns0:0 h0:0\ns0:1 h1:0";

const char* const kCsv = R"(a,a_port,b,b_port,b_type
s1,0,h2,0,host
s1,2,s0,2,
s1,3,s0,3,
s0,0,h0,0,host
s0,1,h1,0,host
)";

const char* const kDot = R"(graph small {
  s1:0 -- h2:0
  s1:2 -- s0:2; s1:3 -- s0:3;
  s0:0 -- h0:0; s0:1 -- h1:0
}
)";

const char* const kOrcs = R"(digraph {
  s1:0 -> h2:0 [comment="h2"]
  s1:2 -> s0:2 [comment="h0"]
  s1:3 -> s0:3 [comment="h1"]
  s0:0 -> h0:0 [comment="h0"]
  s0:1 -> h1:0 [comment="h1"]
  s0:2 -> s1:2 [comment="h2"]
  s0:3 -> s1:3
  h0:0 -> s0:0 [hostname="node0", comment="*"]
  h1:0 -> s0:1 [hostname="node1", comment="*"]
  h2:0 -> s1:0 [hostname="node2", comment="*"]
}
)";

const char* const kIbsim = R"(# a comment
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

// What ibnetdiscover (infiniband-diags 44.0) prints with -g -f where ibsim 0.10 plays the network above.
const char* const kDiscovered = R"(#
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

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  CHECK_FOR(at != text.npos, what);
  return text.replace(at, what.size(), by);
}

// ---- networks of the test's own ----

// A connected one: a random tree of switches, more cables at random, hosts; ports in random order.
Fabric random_fabric(u64 seed) {
  u64 counter = 0;
  const auto pick = [&](u32 n) { return below(draw(seed, 3, counter++), n); };
  Fabric f;
  const u32 switches = 1 + pick(8), hosts = pick(12);
  for (u32 k = 0; k < switches; k++) f.nodes.push_back({"switch " + std::to_string(k), false, 0, 0});
  for (u32 k = 0; k < hosts; k++) f.nodes.push_back({"h\xc3\xb6st" + std::to_string(k), true, 2, 0});
  std::vector<std::vector<u32>> free(f.nodes.size());
  for (u32 node = 0; node < f.nodes.size(); node++) {
    const u32 ports = f.nodes[node].host ? 2 : 40;
    f.nodes[node].ports = ports;
    for (u32 port = 0; port < ports; port++) free[node].insert(free[node].begin() + pick(port + 1), port);
  }
  const auto connect = [&](u32 a, u32 b) {
    f.cables.push_back({a, free[a].back(), b, free[b].back(), -1, -1, "", 0});
    free[a].pop_back(), free[b].pop_back();
  };
  for (u32 k = 1; k < switches; k++) connect(k, pick(k));
  for (u32 k = pick(10); switches > 1 && k > 0; k--) {
    const u32 a = pick(switches);
    connect(a, (a + 1 + pick(switches - 1)) % switches);
  }
  for (u32 k = 0; k < hosts; k++) connect(switches + k, pick(switches));
  return f;
}

std::string as_csv(const Fabric& f) {
  std::string out = "b_port, a ,b,a_type,b_type,a_port\r\n";
  const auto type = [&](u32 node) { return f.nodes[node].host ? std::string("host") : ""; };
  for (const auto& c : f.cables)
    out += std::to_string(c.b_port) + ",\"" + f.nodes[c.a].name + "\"," + f.nodes[c.b].name + "," + type(c.a) + "," + type(c.b) + "," + std::to_string(c.a_port) + "\r\n";
  return out;
}
std::string as_dot(const Fabric& f, bool directed) {
  std::string out = directed ? "digraph{" : "Graph{";
  for (const auto& node : f.nodes) out += "\"" + node.name + "\"[type=" + (node.host ? "host" : "switch") + "]";
  const auto edge = [&](u32 a, u32 p, u32 b, u32 q) {
    out += "\"" + f.nodes[a].name + "\":" + std::to_string(p) + (directed ? "->" : "--") + "\"" + f.nodes[b].name + "\":p" + std::to_string(q) + "\n";
  };
  for (const auto& c : f.cables) edge(c.a, c.a_port, c.b, c.b_port);
  if (directed)
    for (auto c = f.cables.rbegin(); c != f.cables.rend(); c++) edge(c->b, c->b_port, c->a, c->a_port);
  return out + "}";
}
// With a GUID, the name is a description.
std::string as_records(const Fabric& f, bool guids) {
  const auto id = [&](u32 node) { return guids ? (f.nodes[node].host ? "H-" : "S-") + std::to_string(1000 + node) : f.nodes[node].name; };
  std::string out;
  for (u32 node = 0; node < f.nodes.size(); node++) {
    const std::string type = f.nodes[node].host ? (guids ? "Ca" : "Hca") : "Switch";
    out += type + "\t" + std::to_string(f.nodes[node].ports) + " \"" + id(node) + "\"" + (guids ? "\t\t# \"" + f.nodes[node].name + "\"" : "") + "\n";
    for (const auto& c : f.cables)
      for (const bool here : {true, false})
        if ((here ? c.a : c.b) == node)
          out += "[" + std::to_string(1 + (here ? c.a_port : c.b_port)) + "]\t\"" + id(here ? c.b : c.a) + "\"[" + std::to_string(1 + (here ? c.b_port : c.a_port)) + "]\n";
    out += "\n";
  }
  return out;
}

}  // namespace

TEST(fabric_formats_agree) {
  for (const std::string format : {"csv", "auto"}) CHECK_EQ(text(read(kCsv, format)), kSmall);
  for (const std::string format : {"dot", "auto"}) CHECK_EQ(text(read(kDot, format)), kSmall);
  for (const std::string format : {"dot", "auto"}) CHECK_EQ(text(read(kOrcs, format)), kSmall);
  // There the order is that of the records.
  const std::string ordered = sorted_text(read(kCsv, "csv"));
  for (const std::string format : {"ibsim", "auto"}) CHECK_EQ(sorted_text(read(kIbsim, format)), ordered);
  for (const std::string format : {"ibnetdiscover", "ibsim", "auto"}) {
    const Fabric found = read(kDiscovered, format);
    CHECK_EQ(sorted_text(found), ordered);
    CHECK_EQ(text(found), "s1 s0 h2* h1* h0*\ns1:0 h2:0\ns1:2 s0:2\ns1:3 s0:3\ns0:0 h0:0\ns0:1 h1:0");
    CHECK_EQ(found.nodes[0].ports, 4u);
    CHECK_EQ(found.nodes[2].ports, 2u);
    CHECK_EQ(found.nodes[2].line, 31u);
    CHECK_EQ(found.cables[1].line, 14u);
  }
  for (u64 seed = 0; seed < 40; seed++) {
    const Fabric f = random_fabric(seed);
    if (f.cables.empty()) continue;
    const std::string wanted = sorted_text(f);
    CHECK_EQ(sorted_text(read(as_csv(f), "auto")), wanted);
    CHECK_EQ(sorted_text(read(as_dot(f, false), "auto")), wanted);
    CHECK_EQ(sorted_text(read(as_dot(f, true), "auto")), wanted);
    CHECK_EQ(sorted_text(read(as_records(f, false), "auto")), wanted);
    CHECK_EQ(sorted_text(read(as_records(f, true), "auto")), wanted);
  }
}

TEST(fabric_format_by_name) {
  CHECK_EQ(text(read_fabric(File("# edges\na,b\nx,y\n", ".CSV").path.string(), "auto")), "x y\nx y");
  CHECK_EQ(text(read_fabric(File("strict graph{x--y}", ".gv").path.string(), "auto")), "x y\nx y");
  CHECK_EQ(text(read("// GraphViz\nstrict graph{x--y}", "auto")), "x y\nx y");
  CHECK_EQ(text(read("/* GraphViz */graph{x--y}", "auto")), "x y\nx y");
  refused("x y\n", "auto", "", {"does not say what it is", "csv, dot, ibnetdiscover or ibsim"});
  CHECK_THROWS(ConfigError, read(kCsv, "cvs"), "unknown format 'cvs'", "did you mean 'csv'", "ibnetdiscover");
}

TEST(fabric_file_is_a_text) {
  const std::string here = std::filesystem::temp_directory_path().string();
  CHECK_THROWS(ConfigError, read_fabric(here, "auto"), here + ": it is no plain file");
  CHECK_THROWS(ConfigError, read_fabric("/dev/zero", "csv"), "/dev/zero: it is no plain file");
  CHECK_THROWS(ConfigError, read_fabric(here + "/flitgym_no_such_file.csv", "auto"), "flitgym_no_such_file.csv: No such file");
  refused("", "csv", "", {"the file is empty"});
  refused("\n\n# nothing\n", "csv", "", {"no node in it"});
  refused("\x1f\x8b\x08 and so on", "csv", "", {"compressed"});
  refused(std::string("a,b\nx,\0y\n", 9), "csv", "2", {"byte 0", "text"});
  refused("a,b\nx,y\nx,\xff\n", "csv", "3", {"byte 255", "UTF-8"});
  refused("a,b\nx,h\xf6st\n", "csv", "2", {"byte 246", "UTF-8"});  // ISO 8859-1
  refused("a,b\nx,\xc0\x80\n", "csv", "2", {"byte 192"});           // a zero in two bytes
  refused("a,b\nx,\xed\xa0\x80\n", "csv", "2", {"byte 237"});       // half a surrogate pair
  CHECK_EQ(text(read("\xef\xbb\xbf" "a,b\nx,h\xc3\xb6st \xf0\x9f\x98\x80\n", "csv")), "x h\xc3\xb6st \xf0\x9f\x98\x80\nx h\xc3\xb6st \xf0\x9f\x98\x80");
}

TEST(fabric_csv_columns) {
  CHECK_EQ(text(read("kind,b,latency_ns,a,bandwidth_gb_per_s\nlocal,y,12.5,x,\n,z,,x,1e2\nglobal, z ,0,\ty,.5\n", "csv")),
           "x y z\nx y 12.5 ns local\nx z 100 GB/s\ny z 0 ns 0.5 GB/s global");
  CHECK_EQ(text(read("# a network\r\n\r\n a , b \r\n\"x, the first\",\" y \"\r\n  \r\n# one more\r\n \"x, the first\" , \"z \"\"new\"\"\" \r\n", "csv")),
           "x, the first  y  z \"new\"\nx, the first  y \nx, the first z \"new\"");
  CHECK_EQ(text(read("a,b,links\nx,y,3\ny,z,\n", "csv")), "x y z\nx y\nx y\nx y\ny z");
  CHECK_EQ(text(read("a,b,a_type,b_type\nx,y,,\nH0,y,,\nx,z,,host\n", "csv")), "x y H0 z*\nx y\nH0 y\nx z");  // no type by letters
  CHECK_EQ(text(read("a,b,a_type,b_type\nx,y,switch,switch\nx,z,switch,host\nw,x,host,\n", "csv")), "x y z* w*\nx y\nx z\nw x");
  CHECK_EQ(text(read("a,b\rx,y\ry,z", "csv")), "x y z\nx y\ny z");
  const Fabric f = read("a,b\n\nx,y\ny,z\n", "csv");
  CHECK_EQ(f.nodes[2].line, 4u);
  CHECK_EQ(f.cables[1].line, 4u);
  CHECK_EQ(f.nodes[0].ports, 0u);
}

TEST(fabric_csv_refuses) {
  const auto with = [](const std::string& lines) { return "a,b,a_port,b_port,a_type,b_type,latency_ns,bandwidth_gb_per_s,kind,links\n" + lines; };
  refused("s0,s1\ns1,s2\n", "csv", "1", {"unknown column 's0'", "names the columns", "a, b and any of a_port"});
  refused("a,b,latency\n", "csv", "1", {"'latency' (did you mean 'latency_ns'?)"});
  refused("a,kind\n", "csv", "1", {"column 'b' is missing"});
  refused("a,b,a\n", "csv", "1", {"column 'a' stands here twice"});
  refused("a;b\n", "csv", "1", {"unknown column 'a;b'", "commas"});
  refused("a,b\nx,y\nx\n", "csv", "3", {"has 1 field", "2 columns", "cut short"});
  refused("a,b\nx,y,z\n", "csv", "2", {"has 3 fields"});
  refused("a,b\nx,\n", "csv", "2", {"column b is empty"});
  refused("a,b\nx,\"y\n", "csv", "2", {"not closed", "'y'"});
  refused("a,b\nx,\"y\"z\n", "csv", "2", {"'z' behind a closing quote"});
  refused("a,b\nx,y\"z\"\n", "csv", "2", {"a double quote within 'y\"z\"'"});
  refused("a,b\nx,y\tz\n", "csv", "2", {"cannot be seen"});
  refused(with("x,y,512,,,,,,,\n"), "csv", "2", {"512 is out of range for a_port", "0 .. 511"});
  refused(with("x,y,,-1,,,,,,\n"), "csv", "2", {"'-1' is no number for b_port"});
  refused(with("x,y,,p1,,,,,,\n"), "csv", "2", {"'p1' is no number for b_port"});
  refused(with("x,y,99999999999999999999999,,,,,,,\n"), "csv", "2", {"out of range for a_port"});
  refused(with("x,y,,,,,-1,,,\n"), "csv", "2", {"'-1' is out of range for latency_ns", "0 .. 1e+06"});
  refused(with("x,y,,,,,nan,,,\n"), "csv", "2", {"'nan' is no number for latency_ns"});
  refused(with("x,y,,,,,1e999,,,\n"), "csv", "2", {"latency_ns"});
  refused(with("x,y,,,,,1.2.3,,,\n"), "csv", "2", {"'1.2.3' is no number for latency_ns"});
  refused(with("x,y,,,,,\"1,5\",,,\n"), "csv", "2", {"'1,5' is no number for latency_ns"});
  refused(with("x,y,,,,,,0,,\n"), "csv", "2", {"'0' is out of range for bandwidth_gb_per_s"});
  refused(with("x,y,,,,,,,locl,\n"), "csv", "2", {"unknown kind 'locl' (did you mean 'local'?)"});
  refused(with("x,y,,,,,,,,0\n"), "csv", "2", {"0 is out of range for links", "1 .. 512"});
  refused(with("x,y,3,,,,,,,2\n"), "csv", "2", {"2 links between 'x' and 'y' at one port"});
  refused(with("x,y,,,,hots,,,,\n"), "csv", "2", {"unknown type 'hots' of 'y' (did you mean 'host'?)"});
  refused(with("x,y,,,host,,,,,\ny,x,,,,switch,,,,\n"), "csv", "3", {"'x' is a switch here and a host on line 2"});
}

TEST(fabric_checks_refuse) {
  const auto csv = [](const std::string& lines) { return "a,b,a_port,b_port,a_type,b_type\n" + lines; };
  refused(csv("x,y,1,,,\nx,x,,,,\n"), "csv", "3", {"'x' is connected to itself"});
  refused(csv("x,y,,,,\nx,h,,,,host\ni,h,,,host,\n"), "csv", "4", {"two hosts, 'i' and 'h'"});
  refused(csv("x,h,,,,host\ny,x,,,,\ny,h,,,,\n"), "csv", "4", {"host 'h' has a second cable", "line 2", "attaches a terminal by one port"});
  refused("a,b,b_type,links\nx,h,host,2\n", "csv", "2", {"host 'h' has a second cable", "the one before"});
  refused(csv("x,y,7,,,\ny,z,3,4,,\nz,x,4,,,\nx,w,7,,,\n"), "csv", "4", {"port 4 of 'z'", "line 3"});  // the first one of two
  refused("graph { x; y; h [type=host]; x -- y }", "dot", "1", {"host 'h' has no cable"});
  refused("graph { x [ports=2]; x -- y; x -- z\nx -- w }", "dot", "2", {"'x' has 3 cables", "2 ports"});
  refused("graph { x [ports=2]\nx:2 -- y }", "dot", "2", {"port 2 of 'x', which has 2", "0 .. 1"});

  // From no file there are no lines.
  Fabric f;
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: no node in it");
  f.nodes = {{"x", false, 513, 0}};
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: 'x' has 513 ports; expected at most 512");
  f.nodes[0].ports = 0;
  check_fabric(f, "arrays");  // one switch alone is a network
  check_connected(f, "arrays");
  f.nodes.push_back({"y", false, 0, 0});
  f.cables = {{0, 5, 1, 5, -1, -1, "", 0}, {1, 5, 0, 6, -1, -1, "", 0}};
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: port 5 of 'y' already has the cable 0");
  f.cables[1].a_port = 512;
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: port 512 of 'y', which has at most 512");
}

TEST(fabric_of_512_ports) {
  const auto star = [](u32 leaves, bool directed) {
    std::string dot = directed ? "digraph {\n" : "graph {\n";
    for (u32 k = 0; k < leaves; k++) dot += "hub -" + std::string(directed ? ">" : "-") + " leaf" + std::to_string(k) + "\n";
    return dot + "}\n";
  };
  CHECK_EQ(read(star(512, false), "dot").cables.size(), 512u);
  CHECK_EQ(read(star(512, true), "dot").cables.size(), 512u);
  refused(star(513, false), "dot", "514", {"'hub' has more than 512 cables"});
  refused(star(513, true), "dot", "514", {"'hub' has 513 cables or more"});
  CHECK_EQ(read("a,b,a_port,links\nx,y,511,1\nx,y,,511\n", "csv").cables.size(), 512u);
  refused("a,b,links\nx,y,511\ny,x,2\n", "csv", "3", {"'y' has more than 512 cables"});
  CHECK_EQ(read("Switch 512 \"x\"\n[512] \"y\"[1]\nSwitch 1 \"y\"\n[1] \"x\"[512]\n", "ibsim").cables[0].a_port, 511u);
  refused("Switch 513 \"x\"\n", "ibsim", "1", {"513 is out of range for the ports of a Switch", "1 .. 512"});
}

TEST(fabric_in_parts) {
  refused("a,b\nw,x\ny,z\nz,v\n", "csv", "2", {"'w' cannot be reached from 'y' (line 3)", "in 2 parts, the largest of 3 nodes, the smallest of 2"});
  refused("graph { a -- b; c -- d\ne }", "dot", "2", {"'e' cannot be reached from 'a' (line 1)", "in 3 parts", "the smallest of 1"});
  Fabric f;
  f.nodes = {{"x", false, 0, 0}, {"y", false, 0, 0}};
  CHECK_THROWS(ConfigError, check_connected(f, "arrays"), "arrays: 'y' cannot be reached from 'x': the network is in 2 parts");
}

TEST(fabric_dot_language) {
  CHECK_EQ(text(read("strict graph \"the \\\"net\\\"\" { rankdir = LR; graph [label=<a <b>bold</b> one>] // so\n# line 2\n a--b /* -- c\n */ -- \"c\" + /**/ \"d\" ; -.5 -- <x<y>z> -- 7; 7 -- a }\n//", "dot")),
           "a b cd -.5 <x<y>z> 7\na b\nb cd\n-.5 <x<y>z>\n<x<y>z> 7\n7 a");
  CHECK_EQ(text(read("graph{\"a \\\"b\\\" \\\\n\"--\"c\\\nd\"}", "dot")), "a \"b\" \\\\n cd\na \"b\" \\\\n cd");
  CHECK_EQ(text(read("graph { node [type=switch]; a [shape=box, ports=5] b; edge [latency_ns=3]; subgraph cluster1 { node [type=host]; edge [kind=local; latency_ns=7]; h1 -- a }"
                     " h2 [type=host]; h2 -- b [latency_ns=\"4.5\"]; a -- b; }", "dot")),
           "a b h1* h2*\nh1 a 7 ns local\nh2 b 4.5 ns\na b 3 ns");
  CHECK_EQ(text(read("graph { {a b} -- subgraph s {c; d} -- e [kind=global]; { a:3 } -- f; {a -- {g h}} -- i}", "dot")),
           "a b c d e f g h i\na c global\na d global\nb c global\nb d global\nc e global\nd e global\na:3 f\na g\na h\na i\ng i\nh i");
  CHECK_EQ(text(read("graph { a:p2 -- b:P0:ne; a:n -- \"b\":_; a:\"4\" -- b }", "dot")), "a b\na:2 b:0\na b\na:4 b");
  CHECK_EQ(text(read("digraph { a -> b -> c -> a; a -> d }", "dot")), "a b c d\na b\nb c\nc a\na d");  // each cable once
  CHECK_EQ(text(read("digraph { a -> b [latency_ns=2]; c -> b; b -> a [kind=local]; a -> b; b -> c; b -> a }", "dot")), "a b c\na b 2 ns local\nc b\na b");
  CHECK_EQ(text(read("GRAPH { \"node\" -- \"edge\"; NODE [ports=2]; x -- \"edge\" }", "dot")), "node edge x\nnode edge\nx edge");
  // Hosts by name, where nothing has a type.
  CHECK_EQ(text(read("graph { H1 -- S1; h20 -- S1; Hub -- S1; H -- S1; H1a -- S1 }", "dot")), "H1* S1 h20* Hub H H1a\nH1 S1\nh20 S1\nHub S1\nH S1\nH1a S1");
  CHECK_EQ(text(read("graph { H1 -- S1; h20 -- S1 [type=host]; S1 [type=switch] }", "dot")), "H1 S1 h20\nH1 S1\nh20 S1");
}

TEST(fabric_dot_refuses) {
  refused("grph { }", "dot", "1", {"unexpected 'grph'; expected graph or digraph"});
  refused("graph {\na -- b\n", "dot", "3", {"the file ends here; expected } for the { of line 1"});
  refused("graph { a -- b }\ngraph { }", "dot", "2", {"unexpected 'graph' behind the graph"});
  refused("graph {\n}\n", "dot", "", {"no node in it"});
  refused("graph { a }\n", "dot", "", {"no cable in it"});
  refused("graph {\na -> b }", "dot", "2", {"unexpected '->' in a graph; expected --"});
  refused("digraph { a -- b }", "dot", "1", {"unexpected '--' in a digraph; expected ->"});
  refused("graph { a - b }", "dot", "1", {"unexpected '-'"});
  refused("graph { a -- }", "dot", "1", {"unexpected '}'; expected a node"});
  refused("graph { a -- b [latency_ns 3] }", "dot", "1", {"unexpected '3'; expected ="});
  refused("graph { a -- b\n[kind=local }", "dot", "2", {"unexpected '}'; expected an attribute or ]"});
  refused("graph { a -- b [latency=3] }", "dot", "1", {"unknown attribute 'latency' (did you mean 'latency_ns'?)", "kind at an edge"});
  refused("graph { a [latency_ns=3] }", "dot", "1", {"unknown attribute 'latency_ns'", "type or ports at a node"});
  refused("graph { a -- b\n[latency_ns=fast] }", "dot", "2", {"'fast' is no number for latency_ns"});
  refused("graph { a -- b [kind=host] }", "dot", "1", {"unknown kind 'host'"});
  refused("graph { a [type=router] }", "dot", "1", {"unknown type 'router' of 'a'"});
  refused("graph { a [type=host]\na [type=switch] }", "dot", "2", {"'a' is a switch here and a host on line 1"});
  refused("graph { a [ports=513] }", "dot", "1", {"513 is out of range for the ports of 'a'"});
  refused("graph { a:west -- b }", "dot", "1", {"'west' is no number for a port of 'a'"});
  refused("graph { a:512 -- b }", "dot", "1", {"512 is out of range for a port of 'a'", "0 .. 511"});
  refused("graph { {a b} [type=host] }", "dot", "1", {"attributes behind a subgraph"});
  refused("graph {\n\"a -- b }\n", "dot", "2", {"string that begins here is not closed"});
  refused("graph {\n/* a -- b }\n", "dot", "2", {"comment is not closed"});
  refused("graph {\n<a\n -- b }\n", "dot", "2", {"HTML string that begins here is not closed"});
  refused("graph { \"a\" + b }", "dot", "1", {"no string behind +"});
  refused("graph { 1a -- b }", "dot", "1", {"'1a'... begins with a digit"});
  refused("graph { \"a\nb\" -- c }", "dot", "1", {"line break"});
  refused("graph { \"\" -- c }", "dot", "1", {"without a name"});
  refused("graph " + std::string(200, '{') + std::string(200, '}'), "dot", "1", {"more than 64 deep"});
  refused("strict graph { a -- b; b -- c;\nb -- a }", "dot", "2", {"'b' -- 'a' is there twice (line 1)", "strict"});
  refused("digraph { a -> b; b -> a;\nb -> c }", "dot", "2", {"'b' -> 'c' has no edge back", "'a' -> 'b' (line 1) has", "both directions"});
  refused("digraph { a -> b; b -> a; a\n-> b }", "dot", "2", {"'a' -> 'b' has no edge back"});
  refused("digraph { a:1 -> b:1\nb:2 -> a:1 }", "dot", "2", {"'b' port 2 -> 'a' port 1", "other ports", "line 1"});
  refused("digraph { a -> b [kind=local]\nb -> a [kind=global] }", "dot", "2", {"'a' -> 'b' is local on line 1 and global here"});
  refused("digraph { a -> b [latency_ns=1]\nb -> a [latency_ns=2] }", "dot", "2", {"another latency_ns", "line 1"});
  refused("graph { H1 -- S1; S1 -- S2\nS2 -- H1 }", "dot", "2", {"host 'H1' (taken for one because it is called H and a number", "has a second cable"});
  // A short text of very many edges.
  std::string many = "graph { {";
  for (u32 k = 0; k < 3000; k++) many += " a" + std::to_string(k);
  many += "} -- {";
  for (u32 k = 0; k < 3000; k++) many += " b" + std::to_string(k);
  refused(many + "} }", "dot", "1", {"'a0' has more than 512 cables"});
}

TEST(fabric_discovered_names) {
  // The same description twice; one that is another node's GUID; none; quotes in one; a router to another subnet.
  const std::string found = R"(Chassis 1 (guid 0x8f1)

# Spine Nodes
switchguid=0x1(1)	# ISR9288 Spine 1 Chip 1
Switch	24 "S-0001"		# "ISR9288" enhanced port 0 lid 6 lmc 0
[7][ext 5]	"S-0002"[8][ext 6]		# "ISR9288" lid 3 4xSDR
[1]	"H-0003"[2](8f1) 		# "S-0001" lid 4 4xHDR
[2]	"H-0004"[1](8f2) 		# lid 4 4xNDR
[3]	"R-0005"[1](8f2) 		# "to "the" world" lid 9 2xNDR
Switch	24 "S-0002"		# "ISR9288" base port 0 lid 3 lmc 0
[8][ext 6]	"S-0001"[7][ext 5]		# "ISR9288" lid 6 4xSDR

Hostname: service
Ca	2 "H-0003"		# "S-0001"
[2](8f1) 	"S-0001"[1]		# lid 4 lmc 0 "ISR9288" lid 6 4xHDR
Ca	1 "H-0004"		# ""
[1](8f2) 	"S-0001"[2]		# lid 4 lmc 0 "ISR9288" lid 6 4xNDR

rtguid=0x5
Rt	1 "R-0005"		# "to "the" world"
[1](8f2) 	"S-0001"[3]		# lid 9 lmc 0 "ISR9288" lid 6 2xNDR
)";
  const std::string wanted = "S-0001 S-0002 H-0003* H-0004* to \"the\" world*\nS-0001:6 S-0002:7\nS-0001:0 H-0003:1\nS-0001:1 H-0004:0\nS-0001:2 to \"the\" world:0";
  CHECK_EQ(text(read(found, "ibnetdiscover")), wanted);
  CHECK_EQ(text(read(found, "auto")), wanted);
}

TEST(fabric_records_refuse) {
  for (const std::string format : {"ibnetdiscover", "ibsim"}) {
    const bool sim = format == "ibsim";
    const std::string ca = sim ? "Hca" : "Ca";
    const std::string net = "Switch 4 \"s0\"\n[1] \"h0\"[1]\n[2] \"s1\"[4]\n\nSwitch 4 \"s1\"\n[4] \"s0\"[2]\n" + ca + " 2 \"h0\"\n[1] \"s0\"[1]\n";
    CHECK_EQ(text(read(net, format)), "s0 s1 h0*\ns0:0 h0:0\ns0:1 s1:3");
    const auto with = [&](const std::string& what, const std::string& by, const std::string& place, const std::vector<std::string>& parts) {
      refused(replaced(net, what, by), format, place, parts);
    };
    with("\"s1\"[4]", "\"s2\"[4]", "3", {"port 2 of 's0' leads to port 4 of 's2'", "did you mean 's", "no node of this file"});
    with("\"s1\"[4]", "\"s1\"[3]", "3", {"port 2 of 's0' leads to port 3 of 's1' (line 5)", "no cable at this port", "both of its sides"});
    with("\"s1\"[4]", "\"s1\"[5]", "3", {"leads to port 5 of 's1' (line 5), which has 4", "1 .. 4"});
    with("\"s1\"[4]", "\"s1\"[513]", "3", {"513 is out of range for a port of 's1'"});
    with("\"s0\"[2]", "\"s0\"[1]", "3", {"port 2 of 's0' leads to port 4 of 's1', and that one to port 1 of 's0' (line 6)", "two sides that agree"});
    with("\"s0\"[2]", "\"h0\"[1]", "3", {"and that one to port 1 of 'h0' (line 6)"});
    with("\"s1\"[4]", "\"s0\"[2]", "3", {"port 2 of 's0' leads to port 2 of 's0', the same node"});
    with("\"s1\"[4]", "\"s0\"[1]", "3", {"the same node"});
    with("[2] \"s1\"", "[1] \"s1\"", "3", {"port 1 of 's0' already leads to 'h0' on line 2"});
    with("[2] \"s1\"", "[5] \"s1\"", "3", {"5 is out of range for a port of 's0' (line 1)", "1 .. 4"});
    with("[2] \"s1\"", "[0] \"s1\"", "3", {"0 is out of range for a port of 's0'"});
    with("Switch 4 \"s1\"", "Switch 4 \"s0\"", "5", {"'s0' is already on line 1"});
    with("Switch 4 \"s1\"", "Switch 0 \"s1\"", "5", {"0 is out of range for the ports of a Switch"});
    with("Switch 4 \"s1\"", "Switch \"s1\"", "5", {"'' is no number for the ports of a Switch"});
    with("Switch 4 \"s1\"", "Switch 4 s1", "5", {"unexpected 's1'; expected the name of the node in double quotes"});
    with("Switch 4 \"s1\"", "Swich 4 \"s1\"", "5", {"unexpected 'Swich 4 \"s1\"'; expected Switch, " + ca});
    with("Switch 4 \"s1\"", "Switch 4 \"s1", "5", {"and \" behind it"});
    with("Switch 4 \"s1\"", "Switch 4 \"s1\" x", "5", {"unexpected 'x' behind the name"});
    with("[2] \"s1\"[4]", "[2] \"s1\"[4] x", "3", {"unexpected 'x' behind the other end"});
    with("[2] \"s1\"", "\n[2] \"s1\"", "4", {"belongs to no node"});
    refused(replaced(replaced(net, "[1] \"s0\"[1]\n", "[1] \"s0\"[1]\n[2] \"s0\"[3]\n"), "[2] \"s1\"[4]", "[2] \"s1\"[4]\n[3] \"h0\"[2]"), format, "4",
            {"host 'h0' has a second cable", "line 2", "one port"});
    refused(net + ca + " 1 \"h1\"\n", format, "9", {"host 'h1' has no cable"});
    refused(net + "Switch 8 \"s2\"\n", format, "9", {"'s2' cannot be reached from 's0' (line 1)"});
    refused(ca + " 1 \"h0\"\n[1] \"h1\"[1]\n" + ca + " 1 \"h1\"\n[1] \"h0\"[1]\n", format, "2", {"two hosts, 'h0' and 'h1'"});
  }
  refused("Switch 4 \"S-1\"\n[1] \"S-2\"\n", "ibnetdiscover", "2", {"the line ends here; expected [PORT] of the node at the other end"});
  refused("Hca 4 \"H-1\"\n", "ibnetdiscover", "1", {"'Hca' is a word of ibsim's files"});
  refused("include \"other\"\n", "ibsim", "1", {"'include' (another file) cannot be read"});
  refused("Switch 4 \"s0\"\n@[1] \"uplink\"\n", "ibsim", "2", {"'@' (an alias) cannot be read"});
}

// Wherever a file is cut, it is refused, unless what is missing is a comment or a blank.
TEST(fabric_cut_short) {
  const auto cut = [](const std::string& whole, const std::string& format, const std::string& last) {
    const std::size_t needed = whole.rfind(last) + last.size();
    for (std::size_t length = 0; length < whole.size(); length++) {
      bool read_it = true;
      try {
        read(whole.substr(0, length), format);
      } catch (const ConfigError&) {
        read_it = false;
      }
      CHECK_FOR(read_it == (length >= needed), format + " cut to " + std::to_string(length) + " of " + std::to_string(whole.size()) + " bytes");
    }
  };
  cut(kDiscovered, "ibnetdiscover", "\"S-0000000000010000\"[1]");
  cut(kIbsim, "ibsim", "\"s1\"");
  cut(kDot, "dot", "}");
  cut(kOrcs, "dot", "}");
  refused(std::string(kCsv).substr(0, std::string(kCsv).size() - 7), "csv", "6", {"has 4 fields", "5 columns", "cut short"});
}

TEST(fabric_memory_is_claimed) {
  std::string csv = "a,b,links\n";
  for (u32 k = 0; k < 400; k++) csv += "s" + std::to_string(k) + ",s" + std::to_string(k + 1) + ",256\n";
  const File file(csv);
  const KeepGoing keep_going = [] {};
  const LimitScope scope(keep_going, 1e-3);
  CHECK_THROWS(ConfigError, read_fabric(file.path.string(), "csv"), "cables");
}

TEST(fuzz_fabric) {
  std::vector<std::string> corpus = {kCsv, kDot, kOrcs, kIbsim, kDiscovered};
  corpus.push_back("digraph { node [type=switch, ports=9]; {a b} -> subgraph s {c; d:2} [kind=global, latency_ns=1.5e1]; \"x\" + \"y\" -> <<b>> -> a [bandwidth_gb_per_s=.5]; // so\n /* */ h [type=host]; h -> a }");
  corpus.push_back("a,b,a_type,b_type,links,kind,latency_ns,bandwidth_gb_per_s\n\"x \"\"1\"\"\",y,switch,,3,local,1.5,2\ny,h,,host,,,,\n");
  const std::vector<std::string> words = {"\n[1] \"s0\"[1]", "Switch 9 \"s9\"\n", "Hca 1 \"h9\"\n", "[ext 3]", "(200001)", "# \"s0\"", "\n", ",", "\"", "{", "}", "[", "]", " -- ", " -> ",
                                          "subgraph ", "strict ", "node [type=host]", "edge [latency_ns=3]", "<", ">", "/*", "*/", "//", "\\\n", ":511", "513", "host", "links", "h0", "s0", "=", "+"};
  testing::fuzz(corpus, words, 3000, [](const std::string& text) {
    const File file(text);
    for (const std::string format : {"auto", "csv", "dot", "ibnetdiscover", "ibsim"}) try {
        const Fabric f = read_fabric(file.path.string(), format);
        // What is read can be built.
        check_fabric(f, "again");
        check_connected(f, "again");
        for (const auto& node : f.nodes) CHECK(!node.name.empty() && node.line > 0);
      } catch (const ConfigError&) {
      }
  });
}
