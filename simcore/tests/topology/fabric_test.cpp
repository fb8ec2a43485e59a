// Network files: the meaning of each format, and refusals. Python tests those of ibnetdiscover and ibsim.
#include "simcore/limits.hpp"
#include "support/fabrics.hpp"
#include "support/fuzz.hpp"

namespace topology_fabric_test {

using namespace flitgym;
using namespace fabrics;

TEST(fabric_csv_in_the_form_of_the_subnet_manager) {
  const std::string head = "node_a,port_a,node_b,port_b\n";
  // Nodes are in the order of their numbers, and ports count from 1.
  CHECK_EQ(text(read(head + "h10,1,s1,1\nh2,1,s1,2\ns0,3,s1,3\nh0,1,s0,1\n", "csv")),
           "s0 s1 h0* h2* h10*\nh10:0 s1:0\nh2:0 s1:1\ns0:2 s1:2\nh0:0 s0:0");
  // Other names need a type, and the order is that of the file.
  CHECK_EQ(text(read("node_b,node_a,a_type,b_type\ns1,core,switch,\ns1,node7,host,\n", "csv")),
           "core s1 node7*\ncore s1\nnode7 s1");
  refused(head + "h0,1,s0,1\ncore,1,s0,2\n", "csv", "3", {"is 'core' a host or a switch?", "a_type or b_type"});
  refused(head + "h0,1,s0,0\n", "csv", "2", {"0 is out of range for port_b", "1 .. 512"});
}

TEST(fabric_format_by_name) {
  CHECK_EQ(text(read_fabric(File("# edges\na,b\nx,y\n", ".CSV").path.string(), "auto")), "x y\nx y");
  CHECK_EQ(text(read("# SNAP\n% x\n0\t1\n 1 2 \n1 0\n2 0\n", "auto")), "0 1 2\n0 1\n1 2\n2 0");
  refused("x y z\n", "auto", "", {"csv", "edges", "ibnetdiscover", "ibsim"});
  refused("vendid=0x0\nSwitch 4 \"S-1\"\n", "auto", "", {"Python"});
  CHECK_THROWS(ConfigError, read(kCsv, "cvs"), "unknown format 'cvs'", "did you mean 'csv'", "ibnetdiscover");
}

TEST(fabric_csv_columns) {
  CHECK_EQ(
      text(read("kind,b,latency_ns,a,bandwidth_gb_per_s\nlocal,y,12.5,x,\n,z,,x,1e2\nglobal, z ,0,\ty,.5\n", "csv")),
      "x y z\nx y 12.5 ns local\nx z 100 GB/s\ny z 0 ns 0.5 GB/s global");
  CHECK_EQ(text(read("# a network\r\n\r\n a , b \r\n\"x, the first\",\" y \"\r\n  \r\n# one more\r\n"
                     " \"x, the first\" , \"z \"\"new\"\"\" \r\n",
                     "csv")),
           "x, the first  y  z \"new\"\nx, the first  y \nx, the first z \"new\"");
  CHECK_EQ(text(read("a,b,links\nx,y,3\ny,z,\n", "csv")), "x y z\nx y\nx y\nx y\ny z");
  CHECK_EQ(text(read("a,b,a_type,b_type\nx,y,,\nH0,y,,\nx,z,,host\n", "csv")),
           "x y H0 z*\nx y\nH0 y\nx z");  // one type is given, so names do not make hosts
  CHECK_EQ(text(read("a,b,a_type,b_type\nx,y,switch,switch\nx,z,switch,host\nw,x,host,\n", "csv")),
           "x y z* w*\nx y\nx z\nw x");
  CHECK_EQ(text(read("a,b\rx,y\ry,z", "csv")), "x y z\nx y\ny z");
  const Fabric f = read("a,b\n\nx,y\ny,z\n", "csv");
  CHECK_EQ(f.nodes[2].line, 4u);
  CHECK_EQ(f.cables[1].line, 4u);
  CHECK_EQ(f.nodes[0].ports, 0u);
}

// ---- Refusals: the place and the names in the error, and files that are mutated ----

TEST(fabric_file_is_a_text) {
  const std::string here = std::filesystem::temp_directory_path().string();
  CHECK_THROWS(ConfigError, read_fabric(here, "auto"), here);
  CHECK_THROWS(ConfigError, read_fabric("/dev/zero", "csv"), "/dev/zero");
  CHECK_THROWS(ConfigError, read_fabric(here + "/flitgym_no_such_file.csv", "auto"), "flitgym_no_such_file.csv",
               "No such file");
  refused("\n\n# nothing\n", "csv", "", {"no node"});
  refused("\x1f\x8b\x08 and so on", "csv", "", {"compressed"});
  refused("a,b\nx,h\xf6st\n", "csv", "2", {"byte 246", "UTF-8"});  // ISO 8859-1
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
  refused("a,b,latency\n", "csv", "1", {"'latency' (did you mean 'latency_ns'?)"});
  refused("a,kind\n", "csv", "1", {"column 'b' is missing"});
  refused("a,b\nx,y\nx\n", "csv", "3", {"has 1 field", "2 columns", "cut short"});
  refused(with("x,y,512,,,,,,,\n"), "csv", "2", {"512 is out of range for a_port", "0 .. 511"});
  refused(with("x,y,,,,,-1,,,\n"), "csv", "2", {"'-1' is out of range for latency_ns", "0 .. 1e+06"});
  refused(with("x,y,,,,,,,locl,\n"), "csv", "2", {"unknown kind 'locl' (did you mean 'local'?)"});
  refused(with("x,y,,,host,,,,,\ny,x,,,,switch,,,,\n"), "csv", "3", {"'x'", "switch", "host", "line 2"});
}

TEST(fabric_checks_refuse) {
  const auto csv = [](const std::string& lines) { return "a,b,a_port,b_port,a_type,b_type\n" + lines; };
  refused(csv("x,y,1,,,\nx,x,,,,\n"), "csv", "3", {"'x' is connected to itself"});
  refused(csv("x,y,,,,\nx,h,,,,host\ni,h,,,host,\n"), "csv", "4", {"two hosts, 'i' and 'h'"});
  refused(csv("x,h,,,,host\ny,x,,,,\ny,h,,,,\n"), "csv", "4", {"host 'h' has a second cable", "line 2", "one port"});
  refused(csv("x,y,7,,,\ny,z,3,4,,\nz,x,4,,,\nx,w,7,,,\n"), "csv", "4",
          {"port 4 of 'z'", "line 3"});  // the first of two conflicts
  refused("a,b\nw,x\ny,z\nz,v\n", "csv", "2", {"'w'", "'y' (line 3)", "2 parts", "3 nodes", "smallest with 2"});
}

DEEP_TEST(fuzz_fabric) {
  std::vector<std::string> corpus = {kCsv};
  corpus.push_back(
      "a,b,a_type,b_type,links,kind,latency_ns,bandwidth_gb_per_s\n"
      "\"x \"\"1\"\"\",y,switch,,3,local,1.5,2\ny,h,,host,,,,\n");
  const auto words = testing::words_of("\n~,~\"~511~513~host~links~h0~s0~=");
  testing::fuzz(corpus, words, 3000, [](const std::string& text) {
    const File file(text);
    for (const std::string format : {"auto", "csv"}) try {
        const Fabric f = read_fabric(file.path.string(), format);
        // A file that is read can also be built.
        check_fabric(f, "again");
        check_connected(f, "again");
        for (const auto& node : f.nodes) CHECK(!node.name.empty() && node.line > 0);
      } catch (const ConfigError&) {
      }
  });
}

}  // namespace topology_fabric_test
