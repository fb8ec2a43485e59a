#include "simcore/mapping/communication_matrix.hpp"

#include "simcore/program_totals.hpp"

namespace flitgym::workload {

void CommunicationMatrix::add_rank(const CommunicationMatrix& of, u32 rank, u32 shift) {
  for (u64 k = of.first[rank]; k < of.first[rank + 1]; k++) {
    peer.push_back(of.peer[k] + shift);
    bytes.push_back(of.bytes[k]);
  }
  first.push_back(peer.size());
  ranks++;
}

CommunicationMatrix communication_matrix(const Program& program) {
  CommunicationMatrix matrix;
  matrix.ranks = program.ranks;
  std::vector<double> row(program.ranks, 0.0);
  std::vector<u32> touched;
  Block block, other;
  for (u32 rank = 0; rank < program.ranks; rank++) {
    touched.clear();
    each_block(program, rank, block, [&](u64 index, u64& times) {
      if (!same_peers_in_run(program, rank, index, times, block, other)) times = 1;
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::kSend || op.peer == rank || op.size == 0) continue;
        if (row[op.peer] == 0) touched.push_back(op.peer);
        row[op.peer] += static_cast<double>(op.size) * static_cast<double>(times);
      }
    });
    std::sort(touched.begin(), touched.end());
    // Rows have similar sizes, so the first one predicts the total memory.
    if (rank == 0)
      claim_memory(u64{program.ranks} * touched.size() * 12, "workload.jobs", "the communication of ", program.ranks,
                   " ranks");
    for (const u32 peer : touched) {
      matrix.peer.push_back(peer);
      matrix.bytes.push_back(row[peer]);
      row[peer] = 0;
    }
    matrix.first.push_back(matrix.peer.size());
  }
  return matrix;
}

}  // namespace flitgym::workload
