// The network files of the InfiniBand fabric simulator `ibsim` (its README and net-examples):
//
//     Switch	8 "Switch1"
//     [1]	"Hca1"[1]
//     [3]	"Switch2"[3]	w=12
//
//     Hca	2 "Hca1"
//     [1]	"Switch1"[1]
//
// The format is that of ibnetdiscover (fabric_ibnetdiscover.cpp reads both), with three differences. A host may be
// called Hca, a node may have any name, and the port at the other end is 1 if it is not given. As ibsim does, this
// reader refuses a cable that appears on one side only. Unlike ibsim, it refuses unknown lines, and lines that need
// more than this one file: include, do, module and aliases (@).
#include "readers/fabric_reader.hpp"

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
