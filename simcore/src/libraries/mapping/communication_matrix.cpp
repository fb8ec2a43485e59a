#include "simcore/mapping/communication_matrix.hpp"

#include "simcore/program_totals.hpp"

namespace flitgym::workload {

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

CommunicationMatrix communication_matrix(const std::vector<Job>& jobs) {
  CommunicationMatrix all;
  std::map<const Program*, CommunicationMatrix> known;
  for (const Job& job : jobs) {
    const auto [at, added] = known.try_emplace(job.program.get());
    CommunicationMatrix& of = at->second;
    if (added) of = communication_matrix(*job.program);
    for (u32 r = 0; r < of.ranks; r++) all.first.push_back(all.peer.size() + of.first[r + 1]);
    for (const u32 peer : of.peer) all.peer.push_back(peer + job.first_rank);
    all.bytes.insert(all.bytes.end(), of.bytes.begin(), of.bytes.end());
    all.ranks += of.ranks;
  }
  return all;
}

}  // namespace flitgym::workload
