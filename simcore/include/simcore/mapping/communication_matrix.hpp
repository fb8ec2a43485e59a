// Bytes that each rank sends to each other rank. It is the application graph for mappers, and the demand for engines
// that balance routes.
#pragma once

#include "simcore/program.hpp"

namespace flitgym::workload {

// Sparse, by sender. Messages of a rank to itself are left out.
struct CommunicationMatrix {
  u32 ranks = 0;
  std::vector<u64> first = {0};  // [ranks + 1] rank r has the entries first[r] .. first[r + 1] - 1
  std::vector<u32> peer;         // [entries] receiver, ascending within a sender
  std::vector<double> bytes;     // [entries] above 0, without headers

  // Appends the row of a rank, with receivers moved by `shift`.
  void add_rank(const CommunicationMatrix& of, u32 rank, u32 shift);
};

// Sums over all blocks of a checked program. For blocks that repeats() declares equal, the first block counts for all
// if a sample has the same peers (as in check_program()). Otherwise every block is read.
CommunicationMatrix communication_matrix(const Program& program);

}  // namespace flitgym::workload
