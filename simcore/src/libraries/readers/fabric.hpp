// A network as a file describes it: named nodes, and the cables between their ports. This plain data does not depend on
// the rest of the core. fabric_csv.cpp and simcore/_records.py document the formats.
#pragma once

#include "simcore/types.hpp"

namespace flitgym {

struct Fabric {
  struct Node {
    std::string name;
    bool host = false;  // a terminal; otherwise a switch
    u32 ports = 0;      // number of ports in the file; 0 = as many as the cables need
    u32 line = 0;       // first line that names the node, from 1 on; 0 = not from a file
  };
  // A full-duplex cable between two ports. Ports count from 0. A port is kNone if the file gives none. The cable then
  // takes the next port that no other cable names, in the order of `cables`.
  struct Cable {
    u32 a = 0, a_port = kNone, b = 0, b_port = kNone;
    double latency_ns = -1, bandwidth_gb_per_s = -1;  // -1 = value of the channel's kind, -0.2 = a fifth of it
    std::string kind;                                 // "" (not given), "local" or "global"
    u32 line = 0;
  };
  std::vector<Node> nodes;    // in the order in which the file names them
  std::vector<Cable> cables;  // in the order of the file
};

// Reads the network in the file `path`. `format` is csv, edges, ibnetdiscover, ibsim or auto (from the file's name, or
// else from its beginning). The result has passed check_fabric and check_connected. Throws ConfigError "path:line: ..."
// that names the nodes and ports in question.
Fabric read_fabric(const std::string& path, const std::string& format);

// Reads the text of a file of ibnetdiscover or ibsim (simcore/_records.py). Null if the core runs without Python.
using RecordReader = Fabric (*)(const std::string& path, const std::string& text);
RecordReader& record_reader();

// Throws if the network cannot be built. It must have nodes, and at most kMaxRadix ports per node. A node must not be
// cabled to itself. A host has exactly one cable, which leads to a switch. A port has one cable, and its number lies
// within its node's ports. Messages begin with `path`. Messages about hosts contain `hosts_are`, the reason why a
// node counts as a host.
void check_fabric(const Fabric& fabric, const std::string& path, const std::string& hosts_are = "");

// Throws if a node cannot be reached from another, and names a node of the largest and of the smallest part.
void check_connected(const Fabric& fabric, const std::string& path);

}  // namespace flitgym
