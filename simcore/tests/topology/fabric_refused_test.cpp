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
  refused("graph { x [ports=2]; x -- y; x -- z\nx -- w }", "dot", "2", {"'x' has 3 cables", "2 ports"});
  refused("a,b\nw,x\ny,z\nz,v\n", "csv", "2", {"'w'", "'y' (line 3)", "2 parts", "3 nodes", "smallest with 2"});
}

DEEP_TEST(fuzz_fabric) {
  std::vector<std::string> corpus = {kCsv, kDot, kOrcs, kIbsim, kDiscovered};
  corpus.push_back(
      "digraph { node [type=switch, ports=9]; {a b} -> subgraph s {c; d:2} [kind=global, latency_ns=1.5e1];"
      " \"x\" + \"y\" -> <<b>> -> a [bandwidth_gb_per_s=.5]; // so\n /* */ h [type=host]; h -> a }");
  corpus.push_back(
      "a,b,a_type,b_type,links,kind,latency_ns,bandwidth_gb_per_s\n"
      "\"x \"\"1\"\"\",y,switch,,3,local,1.5,2\ny,h,,host,,,,\n");
  const auto words = testing::words_of(
      "\n[1] \"s0\"[1]~Switch 9 \"s9\"\n~Hca 1 \"h9\"\n~[ext 3]~(200001)~# \"s0\"~\n~,~\"~{~}~[~]~ -- ~ -> ~subgraph "
      "~strict ~"
      "node [type=host]~edge [latency_ns=3]~<~>~/*~*/~//~\\\n~:511~513~host~links~h0~s0~=~+");
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
