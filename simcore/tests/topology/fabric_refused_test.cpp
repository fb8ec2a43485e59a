// Network files that are refused: the place and the names in the error, and files that are cut or mutated.
#include "simcore/limits.hpp"
#include "support/fabrics.hpp"
#include "support/fuzz.hpp"

using namespace flitgym;
using namespace fabrics;

TEST(fabric_file_is_a_text) {
  const std::string here = std::filesystem::temp_directory_path().string();
  CHECK_THROWS(ConfigError, read_fabric(here, "auto"), here);
  CHECK_THROWS(ConfigError, read_fabric("/dev/zero", "csv"), "/dev/zero");
  CHECK_THROWS(ConfigError, read_fabric(here + "/flitgym_no_such_file.csv", "auto"), "flitgym_no_such_file.csv",
               "No such file");
  refused("", "csv", "", {"the file is empty"});
  refused("\n\n# nothing\n", "csv", "", {"no node"});
  refused("\x1f\x8b\x08 and so on", "csv", "", {"compressed"});
  refused(std::string("a,b\nx,\0y\n", 9), "csv", "2", {"byte 0", "text"});
  refused("a,b\nx,y\nx,\xff\n", "csv", "3", {"byte 255", "UTF-8"});
  refused("a,b\nx,h\xf6st\n", "csv", "2", {"byte 246", "UTF-8"});  // ISO 8859-1
  refused("a,b\nx,\xc0\x80\n", "csv", "2", {"byte 192"});          // a zero in two bytes
  refused("a,b\nx,\xed\xa0\x80\n", "csv", "2", {"byte 237"});      // half of a surrogate pair
  CHECK_EQ(text(read("\xef\xbb\xbf"
                     "a,b\nx,h\xc3\xb6st \xf0\x9f\x98\x80\n",
                     "csv")),
           "x h\xc3\xb6st \xf0\x9f\x98\x80\nx h\xc3\xb6st \xf0\x9f\x98\x80");
}

TEST(fabric_csv_refuses) {
  const auto with = [](const std::string& lines) {
    return "a,b,a_port,b_port,a_type,b_type,latency_ns,bandwidth_gb_per_s,kind,links\n" + lines;
  };
  refused("a,port_a,node_b,b_port\nh0,1,s0,1\n", "csv", "1", {"belong to two forms", "node_a,port_a,node_b,port_b"});
  refused("s0,s1\ns1,s2\n", "csv", "1", {"unknown column 's0'", "names the columns", "a, b and any of a_port"});
  refused("a,b,latency\n", "csv", "1", {"'latency' (did you mean 'latency_ns'?)"});
  refused("a,kind\n", "csv", "1", {"column 'b' is missing"});
  refused("a,b,a\n", "csv", "1", {"'a'", "twice"});
  refused("a;b\n", "csv", "1", {"unknown column 'a;b'", "commas"});
  refused("a,b\nx,y\nx\n", "csv", "3", {"has 1 field", "2 columns", "cut short"});
  refused("a,b\nx,y,z\n", "csv", "2", {"has 3 fields"});
  refused("a,b\nx,\n", "csv", "2", {"column b is empty"});
  refused("a,b\nx,\"y\n", "csv", "2", {"not closed", "'y'"});
  refused("a,b\nx,\"y\"z\n", "csv", "2", {"'z'", "closing quote"});
  refused("a,b\nx,y\"z\"\n", "csv", "2", {"a double quote within 'y\"z\"'"});
  refused("a,b\nx,y\tz\n", "csv", "2", {"invisible"});
  refused(with("x,y,512,,,,,,,\n"), "csv", "2", {"512 is out of range for a_port", "0 .. 511"});
  refused(with("x,y,,-1,,,,,,\n"), "csv", "2", {"'-1'", "b_port"});
  refused(with("x,y,,p1,,,,,,\n"), "csv", "2", {"'p1'", "b_port"});
  refused(with("x,y,99999999999999999999999,,,,,,,\n"), "csv", "2", {"out of range for a_port"});
  refused(with("x,y,,,,,-1,,,\n"), "csv", "2", {"'-1' is out of range for latency_ns", "0 .. 1e+06"});
  refused(with("x,y,,,,,nan,,,\n"), "csv", "2", {"'nan'", "latency_ns"});
  refused(with("x,y,,,,,1e999,,,\n"), "csv", "2", {"latency_ns"});
  refused(with("x,y,,,,,1.2.3,,,\n"), "csv", "2", {"'1.2.3'", "latency_ns"});
  refused(with("x,y,,,,,\"1,5\",,,\n"), "csv", "2", {"'1,5'", "latency_ns"});
  refused(with("x,y,,,,,,0,,\n"), "csv", "2", {"'0' is out of range for bandwidth_gb_per_s"});
  refused(with("x,y,,,,,,,locl,\n"), "csv", "2", {"unknown kind 'locl' (did you mean 'local'?)"});
  refused(with("x,y,,,,,,,,0\n"), "csv", "2", {"0 is out of range for links", "1 .. 512"});
  refused(with("x,y,3,,,,,,,2\n"), "csv", "2", {"2 links between 'x' and 'y' at one port"});
  refused(with("x,y,,,,hots,,,,\n"), "csv", "2", {"unknown type 'hots' of 'y' (did you mean 'host'?)"});
  refused(with("x,y,,,host,,,,,\ny,x,,,,switch,,,,\n"), "csv", "3", {"'x'", "switch", "host", "line 2"});
}

TEST(fabric_checks_refuse) {
  const auto csv = [](const std::string& lines) { return "a,b,a_port,b_port,a_type,b_type\n" + lines; };
  refused(csv("x,y,1,,,\nx,x,,,,\n"), "csv", "3", {"'x' is connected to itself"});
  refused(csv("x,y,,,,\nx,h,,,,host\ni,h,,,host,\n"), "csv", "4", {"two hosts, 'i' and 'h'"});
  refused(csv("x,h,,,,host\ny,x,,,,\ny,h,,,,\n"), "csv", "4", {"host 'h' has a second cable", "line 2", "one port"});
  refused("a,b,b_type,links\nx,h,host,2\n", "csv", "2", {"host 'h' has a second cable", "the same line"});
  refused(csv("x,y,7,,,\ny,z,3,4,,\nz,x,4,,,\nx,w,7,,,\n"), "csv", "4",
          {"port 4 of 'z'", "line 3"});  // the first of two conflicts
  refused("graph { x; y; h [type=host]; x -- y }", "dot", "1", {"host 'h' has no cable"});
  refused("graph { x [ports=2]; x -- y; x -- z\nx -- w }", "dot", "2", {"'x' has 3 cables", "2 ports"});
  refused("graph { x [ports=2]\nx:2 -- y }", "dot", "2", {"port 2 of 'x', which has 2", "0 .. 1"});

  // Arrays have no lines.
  Fabric f;
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: ", "no node");
  f.nodes = {{"x", false, 513, 0}};
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: 'x' has 513 ports; expected at most 512");
  f.nodes[0].ports = 0;
  check_fabric(f, "arrays");  // a single switch is a network
  check_connected(f, "arrays");
  f.nodes.push_back({"y", false, 0, 0});
  f.cables = {{0, 5, 1, 5, -1, -1, "", 0}, {1, 5, 0, 6, -1, -1, "", 0}};
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: port 5 of 'y' already has the cable 0");
  f.cables[1].a_port = 512;
  CHECK_THROWS(ConfigError, check_fabric(f, "arrays"), "arrays: port 512 of 'y', which has at most 512");
}

TEST(fabric_in_parts) {
  refused("a,b\nw,x\ny,z\nz,v\n", "csv", "2", {"'w'", "'y' (line 3)", "2 parts", "3 nodes", "smallest with 2"});
  refused("graph { a -- b; c -- d\ne }", "dot", "2", {"'e'", "'a' (line 1)", "3 parts", "smallest with 1"});
  Fabric f;
  f.nodes = {{"x", false, 0, 0}, {"y", false, 0, 0}};
  CHECK_THROWS(ConfigError, check_connected(f, "arrays"), "arrays: 'y'", "'x'", "2 parts");
}

TEST(fabric_dot_refuses) {
  refused("grph { }", "dot", "1", {"unexpected 'grph'; expected graph or digraph"});
  refused("graph {\na -- b\n", "dot", "3", {"file ends", "line 1"});
  refused("graph { a -- b }\ngraph { }", "dot", "2", {"'graph'"});
  refused("graph {\n}\n", "dot", "", {"no node"});
  refused("graph { a }\n", "dot", "", {"no cable"});
  refused("graph {\na -> b }", "dot", "2", {"unexpected '->' in a graph; expected --"});
  refused("digraph { a -- b }", "dot", "1", {"unexpected '--' in a digraph; expected ->"});
  refused("graph { a - b }", "dot", "1", {"unexpected '-'"});
  refused("graph { a -- }", "dot", "1", {"unexpected '}'; expected a node"});
  refused("graph {\na -- b = 3 }", "dot", "2", {"an edge to an assignment; expected a node"});
  refused("graph { a -- b [latency_ns 3] }", "dot", "1", {"unexpected '3'; expected ="});
  refused("graph { a -- b\n[kind=local }", "dot", "2", {"unexpected '}'; expected an attribute or ]"});
  refused("graph { a -- b [latency=3] }", "dot", "1",
          {"unknown attribute 'latency' (did you mean 'latency_ns'?)", "kind at an edge"});
  refused("graph { a [latency_ns=3] }", "dot", "1", {"unknown attribute 'latency_ns'", "type or ports at a node"});
  refused("graph { a -- b\n[latency_ns=fast] }", "dot", "2", {"'fast'", "latency_ns"});
  refused("graph { a -- b [kind=host] }", "dot", "1", {"unknown kind 'host'"});
  refused("graph { a [type=router] }", "dot", "1", {"unknown type 'router' of 'a'"});
  refused("graph { a [type=host]\na [type=switch] }", "dot", "2", {"'a'", "switch", "host", "line 1"});
  refused("graph { a [ports=513] }", "dot", "1", {"513 is out of range for the ports of 'a'"});
  refused("graph { a:512 -- b }", "dot", "1", {"512 is out of range for a port of 'a'", "0 .. 511"});
  refused("graph { {a b} [type=host] }", "dot", "1", {"attributes", "subgraph"});
  refused("graph {\n\"a -- b }\n", "dot", "2", {"not closed"});
  refused("graph {\n/* a -- b }\n", "dot", "2", {"comment is not closed"});
  refused("graph {\n<a\n -- b }\n", "dot", "2", {"HTML", "not closed"});
  refused("graph { \"a\" + b }", "dot", "1", {"string", "+"});
  refused("graph { 1a -- b }", "dot", "1", {"'1a'... begins with a digit"});
  refused("graph { \"a\nb\" -- c }", "dot", "1", {"line break"});
  refused("graph { \"\" -- c }", "dot", "1", {"no name"});
  refused("graph " + std::string(200, '{') + std::string(200, '}'), "dot", "1", {"64"});
  refused("strict graph { a -- b; b -- c;\nb -- a }", "dot", "2", {"'b' -- 'a'", "twice", "line 1", "strict"});
  refused("digraph { a -> b; b -> a;\nb -> c }", "dot", "2",
          {"'b' -> 'c' has no edge back", "'a' -> 'b' (line 1) has", "both directions"});
  refused("digraph { a -> b; b -> a; a\n-> b }", "dot", "2", {"'a' -> 'b' has no edge back"});
  refused("digraph { a:1 -> b:1\nb:2 -> a:1 }", "dot", "2", {"'b' port 2 -> 'a' port 1", "other ports", "line 1"});
  refused("digraph { a -> b [kind=local]\nb -> a [kind=global] }", "dot", "2",
          {"'a' -> 'b' is local on line 1 and global here"});
  refused("digraph { a -> b [latency_ns=1]\nb -> a [latency_ns=2] }", "dot", "2", {"another latency_ns", "line 1"});
  refused("graph { H1 -- S1; S1 -- S2\nS2 -- H1 }", "dot", "2", {"'H1'", "H and a number", "second cable"});
  // A short text with a large number of edges.
  std::string many = "graph { {";
  for (u32 k = 0; k < 3000; k++) many += " a" + std::to_string(k);
  many += "} -- {";
  for (u32 k = 0; k < 3000; k++) many += " b" + std::to_string(k);
  refused(many + "} }", "dot", "1", {"'a0' has more than 512 cables"});
}

TEST(fabric_records_refuse) {
  for (const std::string format : {"ibnetdiscover", "ibsim"}) {
    const bool sim = format == "ibsim";
    const std::string ca = sim ? "Hca" : "Ca";
    const std::string net = "Switch 4 \"s0\"\n[1] \"h0\"[1]\n[2] \"s1\"[4]\n\nSwitch 4 \"s1\"\n[4] \"s0\"[2]\n" + ca +
                            " 2 \"h0\"\n[1] \"s0\"[1]\n";
    CHECK_EQ(text(read(net, format)), "s0 s1 h0*\ns0:0 h0:0\ns0:1 s1:3");
    const auto with = [&](const std::string& what, const std::string& by, const std::string& place,
                          const std::vector<std::string>& parts) {
      refused(replaced(net, what, by), format, place, parts);
    };
    with("\"s1\"[4]", "\"s2\"[4]", "3", {"port 2 of 's0'", "port 4 of 's2'", "did you mean 's"});
    with("\"s1\"[4]", "\"s1\"[3]", "3", {"port 2 of 's0' leads to port 3 of 's1' (line 5)", "no cable"});
    with("\"s1\"[4]", "\"s1\"[5]", "3", {"leads to port 5 of 's1' (line 5), which has 4", "1 .. 4"});
    with("\"s1\"[4]", "\"s1\"[513]", "3", {"513 is out of range for a port of 's1'"});
    with("\"s0\"[2]", "\"s0\"[1]", "3", {"port 2 of 's0'", "port 4 of 's1'", "port 1 of 's0' (line 6)"});
    with("\"s0\"[2]", "\"h0\"[1]", "3", {"port 1 of 'h0' (line 6)"});
    with("\"s1\"[4]", "\"s0\"[2]", "3", {"port 2 of 's0'", "same node"});
    with("\"s1\"[4]", "\"s0\"[1]", "3", {"the same node"});
    with("[2] \"s1\"", "[1] \"s1\"", "3", {"port 1 of 's0'", "'h0'", "line 2"});
    with("[2] \"s1\"", "[5] \"s1\"", "3", {"5 is out of range for a port of 's0' (line 1)", "1 .. 4"});
    with("[2] \"s1\"", "[0] \"s1\"", "3", {"0 is out of range for a port of 's0'"});
    with("Switch 4 \"s1\"", "Switch 4 \"s0\"", "5", {"'s0' is already on line 1"});
    with("Switch 4 \"s1\"", "Switch 0 \"s1\"", "5", {"0 is out of range for the ports of a Switch"});
    with("Switch 4 \"s1\"", "Switch \"s1\"", "5", {"''", "ports of a Switch"});
    with("Switch 4 \"s1\"", "Switch 4 s1", "5", {"unexpected 's1'; expected the name of the node in double quotes"});
    with("Switch 4 \"s1\"", "Swich 4 \"s1\"", "5", {"unexpected 'Swich 4 \"s1\"'; expected Switch, " + ca});
    with("Switch 4 \"s1\"", "Switch 4 \"s1", "5", {"\""});
    with("Switch 4 \"s1\"", "Switch 4 \"s1\" x", "5", {"'x'"});
    with("[2] \"s1\"[4]", "[2] \"s1\"[4] x", "3", {"'x'"});
    with("[2] \"s1\"", "\n[2] \"s1\"", "4", {"node"});
    refused(net + ca + " 1 \"h1\"\n", format, "9", {"host 'h1' has no cable"});
    refused(net + "Switch 8 \"s2\"\n", format, "9", {"'s2'", "'s0' (line 1)"});
    refused(ca + " 1 \"h0\"\n[1] \"h1\"[1]\n" + ca + " 1 \"h1\"\n[1] \"h0\"[1]\n", format, "2",
            {"two hosts, 'h0' and 'h1'"});
  }
  refused("Switch 4 \"S-1\"\n[1] \"S-2\"\n", "ibnetdiscover", "2", {"line ends", "[PORT]"});
  refused("Hca 4 \"H-1\"\n", "ibnetdiscover", "1", {"'Hca'", "ibsim"});
  refused("include \"other\"\n", "ibsim", "1", {"'include'"});
  refused("Switch 4 \"s0\"\n@[1] \"uplink\"\n", "ibsim", "2", {"'@'"});
}

// A file that is cut anywhere is refused, unless only a comment or blanks are missing.
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
      CHECK_FOR(read_it == (length >= needed),
                format + " cut to " + std::to_string(length) + " of " + std::to_string(whole.size()) + " bytes");
    }
  };
  cut(kDiscovered, "ibnetdiscover", "\"S-0000000000010000\"[1]");
  cut(kIbsim, "ibsim", "\"s1\"");
  cut(kDot, "dot", "}");
  cut(kOrcs, "dot", "}");
  refused(std::string(kCsv).substr(0, std::string(kCsv).size() - 7), "csv", "6",
          {"has 4 fields", "5 columns", "cut short"});
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
  corpus.push_back(
      "digraph { node [type=switch, ports=9]; {a b} -> subgraph s {c; d:2} [kind=global, latency_ns=1.5e1];"
      " \"x\" + \"y\" -> <<b>> -> a [bandwidth_gb_per_s=.5]; // so\n /* */ h [type=host]; h -> a }");
  corpus.push_back(
      "a,b,a_type,b_type,links,kind,latency_ns,bandwidth_gb_per_s\n"
      "\"x \"\"1\"\"\",y,switch,,3,local,1.5,2\ny,h,,host,,,,\n");
  const std::vector<std::string> words = {"\n[1] \"s0\"[1]",
                                          "Switch 9 \"s9\"\n",
                                          "Hca 1 \"h9\"\n",
                                          "[ext 3]",
                                          "(200001)",
                                          "# \"s0\"",
                                          "\n",
                                          ",",
                                          "\"",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          " -- ",
                                          " -> ",
                                          "subgraph ",
                                          "strict ",
                                          "node [type=host]",
                                          "edge [latency_ns=3]",
                                          "<",
                                          ">",
                                          "/*",
                                          "*/",
                                          "//",
                                          "\\\n",
                                          ":511",
                                          "513",
                                          "host",
                                          "links",
                                          "h0",
                                          "s0",
                                          "=",
                                          "+"};
  testing::fuzz(corpus, words, 3000, [](const std::string& text) {
    const File file(text);
    for (const std::string format : {"auto", "csv", "dot", "ibnetdiscover", "ibsim"}) try {
        const Fabric f = read_fabric(file.path.string(), format);
        // A file that is read can also be built.
        check_fabric(f, "again");
        check_connected(f, "again");
        for (const auto& node : f.nodes) CHECK(!node.name.empty() && node.line > 0);
      } catch (const ConfigError&) {
      }
  });
}
