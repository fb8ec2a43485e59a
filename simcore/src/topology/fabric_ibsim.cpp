// The network files of the InfiniBand fabric simulator `ibsim` (its README and net-examples):
//
//     Switch	8 "Switch1"
//     [1]	"Hca1"[1]
//     [3]	"Switch2"[3]	w=12
//
//     Hca	2 "Hca1"
//     [1]	"Switch1"[1]
//
// As the output of ibnetdiscover (fabric_ibnetdiscover.cpp, which reads both), but: a host may be called Hca, a node
// has any name, the port at the other end is 1 where it is not given. As ibsim does, this refuses a cable that stands
// on one side only. Unlike ibsim, it refuses lines it does not know, and what would need more than this one file:
// include, do, module and aliases (@).
#include "topology/fabric_reader.hpp"

namespace flitgym::fabric {

Fabric read_ibsim(const Source& source) {
  const auto refused = [](const std::string& word, const std::string& what) {
    return std::pair(word, "'" + word + "' " + what + " cannot be read here; expected a file without it");
  };
  return read_records(source, {"ibsim",
                               {"Hca", "Ca", "Rt"},
                               {"vendid", "devid", "sysimgguid", "switchguid", "switchguids", "hcaguid", "hcaguids",
                                "caguid", "caguids", "rtguid", "rtguids", "width", "speed", "extspeed", "pdebug",
                                "Chassis", "Non-Chassis", "Hostname"},
                               {refused("include", "(another file)"), refused("do", "(a command of ibsim)"),
                                refused("module", "(a prefix of names)"), refused("@", "(an alias)")},
                               true});
}

}  // namespace flitgym::fabric
