// Bytes that each rank sends to each other rank. It is the application graph for mappers, and the demand for engines
// that balance routes.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

// Sparse, by sender. Messages of a rank to itself are left out.
struct CommunicationMatrix {
  u32 ranks = 0;
  std::vector<u64> first = {0};  // [ranks + 1] rank r has the entries first[r] .. first[r + 1] - 1
  std::vector<u32> peer;         // [entries] receiver, ascending within a sender
  std::vector<double> bytes;     // [entries] above 0, without headers
};

// Sums over all blocks of a checked program. For blocks that repeats() declares equal, the first block counts for all
// if a sample has the same peers (as in check_program()). Otherwise every block is read.
CommunicationMatrix communication_matrix(const Program& program);
// The matrix of all jobs. No job sends to another one. A program that several jobs share is read once.
CommunicationMatrix communication_matrix(const std::vector<Job>& jobs);

}  // namespace flitgym::workload
