// The output of the InfiniBand diagnostic `ibnetdiscover` (its manual page, "Topology file format"), also with its
// options -g (grouped by chassis), -f and -s:
//
//     Switch	36 "S-ec0d9a0300ec8240"		# "edge 1" base port 0 lid 48 lmc 0
//     [1]	"H-506b4b03003fa9b6"[1](506b4b03003fa9b6) 		# "node018 HCA-1" lid 67 4xEDR
//
//     Ca	1 "H-506b4b03003fa9b6"		# "node018 HCA-1"
//     [1](506b4b03003fa9b6) 	"S-ec0d9a0300ec8240"[1]		# lid 67 lmc 0 "edge 1" lid 48 4xEDR
//
// Every node has a record. Every cable appears in the records of both its nodes, which must agree. `Rt`, a router to
// another subnet, is a host like `Ca`, because the simulated subnet ends there. Ports count from 1 in the file and from
// 0 in a Fabric. The name of a node is its description, or its type and GUID if another node has the same description.
// A host with several cables becomes a terminal per cable. Aggregation nodes (SHARP) are left out. The fastest cable of
// the file (4xEDR) has the bandwidth of the channel's kind, and slower cables have proportionally less.
//
// The network files of the InfiniBand fabric simulator `ibsim` (its README and net-examples):
//
//     Switch	8 "Switch1"
//     [1]	"Hca1"[1]
//     [3]	"Switch2"[3]	w=12
//
// A host may be called Hca, a node may have any name, and the port at the other end is 1 if it is not given. As ibsim
// does, this reader refuses a cable that appears on one side only. Unlike ibsim, it refuses unknown lines, and lines
// that need more than this one file: include, do, module and aliases (@).
#include "readers/fabric_reader.hpp"
#include "simcore/error.hpp"

namespace flitgym::fabric {

// The keywords in which the formats of `ibnetdiscover` and `ibsim` differ. Both have one record per node.
struct Records {
  std::string format;
  std::vector<std::string> hosts;    // first words of a host's record
  std::vector<std::string> ignored;  // first words of lines that are ignored
  // First words of lines that are refused, and the error message.
  std::vector<std::pair<std::string, std::string>> refused;
  bool peer_port_may_lack;  // [1] "peer" means [1] "peer"[1]
};

class RecordReader {
 public:
  RecordReader(const Source& source, Records words) : source_(source), words_(std::move(words)), out_(source) {}

  Fabric read() {
    for (Lines lines(source_.text); lines.next();) {
      line_ = lines.number();
      rest_ = trimmed(lines.line());
      if (!rest_.empty() && rest_[0] == '#') continue;
      if (!rest_.empty() && rest_[0] == '[') read_port();
      else if (node_ = kNone; !rest_.empty() && !is_ignored()) read_node();
    }
    connect();
    take_descriptions();
    take_hosts();
    check_fabric(out_.fabric, source_.path);
    return std::move(out_.fabric);
  }

 private:
  // One side of a cable. Ports as in the file, from 1 on.
  struct End {
    u32 node, port, peer_port, line;
    std::string_view peer;
    double speed = 0;  // Gb/s; 0: not given
  };

  [[noreturn]] void fail(const std::string& what) const { fabric::fail(source_, line_, what); }
  bool is_ignored() const {
    const auto begins = [&](const std::string& word) { return starts_with_word(rest_, word); };
    for (const auto& [word, why] : words_.refused)
      if (begins(word) || (word == "@" && rest_[0] == '@')) fail(why);
    return std::any_of(words_.ignored.begin(), words_.ignored.end(), begins);
  }

  // ---- words ----

  void blanks() { rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  std::string here() const { return rest_.empty() ? "the line ends here" : "unexpected " + shown(rest_); }
  // Reads the text between two characters, of which `first` comes next.
  std::string_view between(char first, char last, const char* what) {
    blanks();
    if (rest_.empty() || rest_[0] != first) fail(here() + "; expected " + what);
    const std::size_t end = rest_.find(last, 1);
    if (end == rest_.npos) fail(here() + "; expected " + what + ", and " + last + " after it");
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }
  std::string name(u32 node) const { return shown(out_.fabric.nodes[node].name); }
  std::string port_of(u32 port, u32 node) const { return "port " + std::to_string(port) + " of " + name(node); }
  u32 port_number(std::string_view text, u32 node) const {
    return whole_number(source_, line_,
                        "a port of " + name(node) + " (line " + std::to_string(out_.fabric.nodes[node].line) + ")",
                        text, 1, out_.fabric.nodes[node].ports);
  }

  // ---- lines ----

  // Switch	36 "NAME"	# "DESCRIPTION" and more
  void read_node() {
    const auto begins = [&](const std::string& word) { return starts_with_word(rest_, word); };
    const auto host = std::find_if(words_.hosts.begin(), words_.hosts.end(), begins);
    const bool is_host = host != words_.hosts.end();
    const std::string type = is_host ? *host : "Switch";
    if (!is_host && !begins(type))
      fail(here() + "; expected Switch, " + join(words_.hosts) + ", or [PORT] below one of them, as in the format " +
           words_.format);
    rest_.remove_prefix(type.size());
    blanks();
    const std::string_view number = rest_.substr(0, std::min(rest_.find_first_of(" \t\""), rest_.size()));
    const u32 ports = whole_number(source_, line_, "the ports of a " + type, number, 1, kMaxRadix);
    rest_.remove_prefix(number.size());
    const std::string_view id = between('"', '"', "the name of the node in double quotes");
    if (const u32 known = out_.find(id); known != kNone)
      fail(shown(id) + " is already on line " + std::to_string(out_.fabric.nodes[known].line) +
           "; expected one record for each node");
    node_ = out_.node(id, line_);
    out_.fabric.nodes[node_].host = is_host;
    out_.fabric.nodes[node_].ports = ports;
    descriptions_.emplace_back();
    blanks();
    if (!rest_.empty() && rest_[0] != '#')
      fail(here() + " after the name of a node; expected a comment or the end of the line");
    const std::size_t first = rest_.find('"'), last = rest_.rfind('"');
    if (first != rest_.npos && last > first) descriptions_.back() = trimmed(rest_.substr(first + 1, last - first - 1));
  }

  // [1](GUID)	"PEER"[1](GUID) 	# comment; the GUIDs, [ext 1] and w=4 are ignored
  void read_port() {
    if (node_ == kNone) fail("a port that belongs to no node; expected it right below the line of its node");
    End end{node_, port_number(between('[', ']', "[PORT]"), node_), 1, line_, {}};
    skip_details(false);
    end.peer = between('"', '"', "the name of the node at the other end in double quotes");
    blanks();
    if (!words_.peer_port_may_lack || rest_.substr(0, 1) == "[") {
      const std::string_view peer_port = between('[', ']', "[PORT] of the node at the other end");
      end.peer_port = whole_number(source_, line_, "a port of " + shown(end.peer), peer_port, 1, kMaxRadix);
    }
    skip_details(true);
    if (!rest_.empty() && rest_[0] != '#')
      fail(here() + " after the other end; expected a comment or the end of the line");
    end.speed = speed_of(rest_);
    fastest_ = std::max(fastest_, end.speed);
    const auto [at, fresh] = at_.try_emplace(u64{end.node} << 32 | end.port, static_cast<u32>(ends_.size()));
    if (!fresh)
      fail(port_of(end.port, end.node) + " already leads to " + shown(ends_[at->second].peer) + " on line " +
           std::to_string(ends_[at->second].line) + "; expected one cable at a port");
    make_room(ends_, sizeof(End) + 48, source_, "ends of cables");
    ends_.push_back(end);
  }

  void skip_details(bool options) {
    for (blanks(); !rest_.empty(); blanks()) {
      if (rest_[0] == '(') between('(', ')', "(GUID)");
      else if (rest_.substr(0, 4) == "[ext") between('[', ']', "[ext PORT]");
      else if (const std::size_t end = std::min(rest_.find_first_of(" \t#"), rest_.size());
               options && rest_[0] != '#' && rest_.substr(0, end).find('=') != rest_.npos)
        rest_.remove_prefix(end);
      else return;
    }
  }

  // The data rate in a comment, such as 100 Gb/s for 4xEDR; 0 if there is none. Rates per lane without the overhead of
  // the encoding: InfiniBand Trade Association, "InfiniBand Roadmap".
  static double speed_of(std::string_view comment) {
    static const std::map<std::string_view, double> lane = {
        {"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 14.0625 * 64 / 66},
        {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};
    for (const std::string_view word : words(comment)) {
      const std::size_t cross = std::min(word.find('x'), word.size());
      const auto rate = lane.find(word.substr(std::min(cross + 1, word.size())));
      const std::string width(word.substr(0, cross));
      if (rate != lane.end() && (width == "1" || width == "2" || width == "4" || width == "8" || width == "12"))
        return std::stoi(width) * rate->second;
    }
    return 0;
  }

  // ---- once everything is read ----

  void connect() {
    for (u32 k = 0; k < ends_.size(); k++) {
      worked(64);
      const End& end = ends_[k];
      line_ = end.line;
      const std::string from =
          port_of(end.port, end.node) + " leads to port " + std::to_string(end.peer_port) + " of " + shown(end.peer);
      const u32 peer = out_.find(end.peer);
      if (peer == kNone)
        fail(from + did_you_mean(std::string(end.peer), out_.names()) +
             ", which is not a node of this file; expected a record of it (or the file is cut short)");
      const Fabric::Node& other = out_.fabric.nodes[peer];
      const std::string where = " (line " + std::to_string(other.line) + ")";
      if (peer == end.node) fail(from + ", the same node; expected a cable to another node");
      const auto back = at_.find(u64{peer} << 32 | end.peer_port);
      if (back == at_.end())
        fail(from + where +
             ", which has no cable at this port; expected each cable on both of its sides (or the file is "
             "cut short)");
      const End& there = ends_[back->second];
      if (out_.find(there.peer) != end.node || there.peer_port != end.port)
        fail(from + ", which leads to port " + std::to_string(there.peer_port) + " of " + shown(there.peer) +
             " (line " + std::to_string(there.line) + "); expected two sides that agree");
      const double speed = std::max(end.speed, there.speed);
      const double factor = speed > 0 ? speed / fastest_ : 1;
      if (k < back->second) out_.add({end.node, end.port - 1, peer, end.peer_port - 1, -1, -factor, "", end.line});
    }
  }

  // Names a node by its description, if no other node has the same description or name.
  void take_descriptions() {
    std::unordered_map<std::string_view, u32> count;
    for (const std::string_view description : descriptions_) count[description]++;
    for (u32 node = 0; node < descriptions_.size(); node++) {
      const std::string_view description = descriptions_[node];
      const u32 named = out_.find(description);
      if (!description.empty() && count[description] == 1 && (named == kNone || named == node))
        out_.fabric.nodes[node].name = description;
    }
  }

  // Leaves out aggregation nodes, and makes a terminal of each cable of a host.
  void take_hosts() {
    const Fabric whole = std::exchange(out_.fabric, {});
    std::vector<std::map<u32, u32>> cables(whole.nodes.size());  // of hosts: the node of each port
    for (const Fabric::Cable& c : whole.cables)
      for (const auto& [node, port] : {std::pair(c.a, c.a_port), std::pair(c.b, c.b_port)})
        if (whole.nodes[node].host) cables[node][port] = kNone;
    std::vector<u32> id(whole.nodes.size(), kNone);  // kNone for an aggregation node
    for (u32 node = 0; node < whole.nodes.size(); node++) {
      Fabric::Node own = whole.nodes[node];
      if (own.host && descriptions_[node].find("Aggregation Node") != descriptions_[node].npos) continue;
      id[node] = static_cast<u32>(out_.fabric.nodes.size());
      if (cables[node].size() < 2) out_.fabric.nodes.push_back(own);
      else
        for (auto& [port, of_port] : cables[node]) {
          of_port = static_cast<u32>(out_.fabric.nodes.size());
          out_.fabric.nodes.push_back(own);
          out_.fabric.nodes.back().name += ":" + std::to_string(port + 1);
        }
    }
    const auto node_of = [&](u32 node, u32 port) { return cables[node].size() < 2 ? id[node] : cables[node][port]; };
    for (Fabric::Cable c : whole.cables) {
      if (id[c.a] == kNone || id[c.b] == kNone) continue;
      c.a = node_of(c.a, c.a_port), c.b = node_of(c.b, c.b_port);
      out_.fabric.cables.push_back(c);
    }
  }

  const Source& source_;
  const Records words_;
  Builder out_;
  std::vector<std::string_view> descriptions_;  // [nodes]
  std::vector<End> ends_;
  std::unordered_map<u64, u32> at_;  // index in ends_ of the end at (node, port)
  std::string_view rest_;            // rest of the line
  u32 line_ = 0, node_ = kNone;      // the node whose ports follow
  double fastest_ = 0;               // Gb/s
};

Fabric read_ibnetdiscover(const Source& source) {
  return RecordReader(
             source,
             {"ibnetdiscover",
              {"Ca", "Rt"},
              {"vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid", "Chassis", "Non-Chassis", "Hostname"},
              {{"Hca", "'Hca' is a keyword of ibsim's files; expected Switch, Ca or Rt, or the format ibsim"}},
              false})
      .read();
}

Fabric read_ibsim(const Source& source) {
  const auto refused = [](const std::string& word, const std::string& what) {
    return std::pair(word, "'" + word + "' " + what + " cannot be read here; expected a file without it");
  };
  return RecordReader(source, {"ibsim",
                               {"Hca", "Ca", "Rt"},
                               {"vendid", "devid", "sysimgguid", "switchguid", "switchguids", "hcaguid", "hcaguids",
                                "caguid", "caguids", "rtguid", "rtguids", "width", "speed", "extspeed", "pdebug",
                                "Chassis", "Non-Chassis", "Hostname"},
                               {refused("include", "(another file)"), refused("do", "(a command of ibsim)"),
                                refused("module", "(a prefix of names)"), refused("@", "(an alias)")},
                               true})
      .read();
}

}  // namespace flitgym::fabric
