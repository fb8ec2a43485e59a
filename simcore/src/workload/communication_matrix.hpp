// Who sends how much to whom: the application graph of those who place ranks, and the demand of those who balance
// routes.
#pragma once

#include <vector>

#include "simcore/program.hpp"

namespace flitgym::workload {

// Sparse, by sender. What a rank sends to itself is not in it.
struct CommunicationMatrix {
  u32 ranks = 0;
  std::vector<u64> first = {0};  // [ranks + 1] the entries of rank r are first[r] .. first[r + 1] - 1
  std::vector<u32> peer;         // [entries] receiver, ascending within a sender
  std::vector<double> bytes;     // [entries] above 0, without headers

  void add_rank(const CommunicationMatrix& of, u32 rank, u32 shift);  // its row, with receivers moved by `shift`
};

// Over all blocks of a program that was checked. Of a run of blocks that repeats() calls alike the first stands for all
// where their peers are the same, too (looked at as in check_program()); else all are looked at.
CommunicationMatrix communication_matrix(const Program& program);

}  // namespace flitgym::workload
