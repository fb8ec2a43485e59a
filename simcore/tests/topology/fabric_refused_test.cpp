// Network files that are refused: the place and the names in the error, and files that are cut or mutated.
#include "simcore/limits.hpp"
#include "support/fabrics.hpp"
#include "support/fuzz.hpp"

namespace topology_fabric_refused_test {

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

DEEP_TEST(fuzz_fabric) {
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

}  // namespace topology_fabric_refused_test
