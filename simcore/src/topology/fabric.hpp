// A network as a file tells it: nodes with their names, and the cables between their ports. Plain data that knows
// nothing of the rest of the core; which formats there are and what each of them says stands at the top of its
// fabric_FORMAT.cpp.
#pragma once

#include <string>
#include <vector>

#include "simcore/types.hpp"

namespace flitgym {

struct Fabric {
  struct Node {
    std::string name;
    bool host = false;  // a terminal; otherwise a switch
    u32 ports = 0;      // how many ports the file says it has; 0 = as many as its cables need
    u32 line = 0;       // where the file names it first, from 1 on; 0 = it came from no file
  };
  // From port to port, full duplex. Ports count from 0; kNone where the file names none: such a cable takes the next
  // port that no other names, in the order of `cables`.
  struct Cable {
    u32 a = 0, a_port = kNone, b = 0, b_port = kNone;
    double latency_ns = -1, bandwidth_gb_per_s = -1;  // -1 = as the kind of the channel has it
    std::string kind;                                 // "" (not said), "local" or "global"
    u32 line = 0;
  };
  std::vector<Node> nodes;    // in the order in which the file names them
  std::vector<Cable> cables;  // the same
};

// The network in the file `path`. `format` is csv, dot, ibnetdiscover, ibsim, or auto: told by the file's name or else
// its beginning. What is read has passed check_fabric and check_connected. Throws ConfigError "path:line: ..." with
// the names of what is wrong.
Fabric read_fabric(const std::string& path, const std::string& format);

// Throws where this is no network that can be built: nothing in it, a node cabled to itself, a host with another
// number of cables than one, two hosts on one cable, a port used twice or beyond its node's number, more than
// kMaxRadix ports. `path` is what errors begin with; `hosts_are` is said where being a host is what is wrong: why a
// node is taken for one.
void check_fabric(const Fabric& fabric, const std::string& path, const std::string& hosts_are = "");

// Throws where a node cannot be reached from another, naming one node of each part.
void check_connected(const Fabric& fabric, const std::string& path);

}  // namespace flitgym
