// Binary form of GOAL schedules, as LogGOPSim's txt2bin writes it and LogGOPSim, htsim and ATLAHS read it (Parser.hpp,
// Graph::serialize_mmap, in the repositories spcl/LogGOPSim, spcl/HTSIM and spcl/atlahs). All numbers are little-endian
// and not aligned:
//
//   u64 4223, the mark of the format
//   u32 ranks, u8 largest cpu, u8 largest nic
//   per rank: u64 begin and u64 end of its section, counted from byte 8
//   sections, in the order of the ranks:
//     u32 operations, u32 roots
//     per root: u32, an operation without dependencies
//     per operation (39 bytes): u32 dependencies, u8 type (1 send, 2 receive, 3 calc), u32 peer, u64 size, u32 tag,
//       u8 cpu, u8 nic, then the number (u32) and first index (u32) of the successors that wait for its end, and the
//       number and first index of the successors that wait for its start
//     u32 per dependency: the successor
//
// A peer or tag of a receive may be 4294967295: any.
#pragma once

#include "simcore/program.hpp"

namespace flitgym::workload {

// Whether a file begins with the mark of the format. Throws ConfigError if it cannot be read.
bool is_goal_binary(const std::string& path);

// Maps a file into memory and checks all of it. The blocks of the program are read from the mapping, so the file must
// not change during a run. Throws ConfigError "file: byte 120 (rank 3, operation 17): error; expected value".
std::shared_ptr<const Program> read_goal_binary(const std::string& path);

// The bytes of a file. Successors are in the order of their dependencies, as txt2bin writes them.
std::string write_goal_binary(const Program& program);

}  // namespace flitgym::workload
