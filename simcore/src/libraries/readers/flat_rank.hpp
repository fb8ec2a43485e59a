// The blocks of a rank in sequence as one block, for schedule formats that have one DAG per rank.
#pragma once

#include "simcore/limits.hpp"
#include "simcore/program.hpp"

namespace flitgym::workload {

// Calls sink.block(block) before each block, sink.op(op) for every operation, and sink.depend(after, before, on_start)
// for every dependency. Operations are numbered in the order of the calls, from 0. Dependencies join two successive
// blocks. A `calc 0` between them is added where it saves dependencies.
template <class Sink>
void flatten_rank(const Program& program, u32 rank, Sink& sink) {
  Block block;
  u64 ops = 0;            // so far
  std::vector<u64> last;  // operations that end the previous block
  std::vector<bool> begins, ends;
  for (u64 index = 0, blocks = program.blocks(rank); index < blocks; index++) {
    block.clear();
    program.block(rank, index, block);
    worked(8 + 32 * block.ops.size());
    sink.block(block);
    if (block.ops.empty()) continue;
    const u64 first = ops;
    for (const Op& op : block.ops) sink.op(op), ops++;

    // Operations without a dependency begin the block. Operations for which no other operation waits end it.
    begins.assign(block.ops.size(), true), ends.assign(block.ops.size(), true);
    for (const Dependency& d : block.dependencies) {
      sink.depend(first + d.after, first + d.before, d.on_start);
      begins[d.after] = false;
      if (!d.on_start) ends[d.before] = false;
    }
    u64 heads = 0;
    for (const bool b : begins) heads += b;

    if (last.size() * heads > last.size() + heads) {
      const u64 join = ops++;
      sink.op({0, 0, 0, OpKind::kCalc, 0, 0, false, {}});
      for (const u64 end : last) sink.depend(join, end, false);
      last.assign(1, join);
    }
    for (u64 k = 0; k < block.ops.size(); k++)
      if (begins[k])
        for (const u64 end : last) sink.depend(first + k, end, false);
    last.clear();
    for (u64 k = 0; k < block.ops.size(); k++)
      if (ends[k]) last.push_back(first + k);
  }
}

// Claims the memory of an output that grows, in parts.
class GrowingOutput {
 public:
  explicit GrowingOutput(const char* key) : key_(key) {}
  void holds(std::size_t bytes, u32 ranks) {
    if (bytes < claimed_) return;
    claim_memory(kPart, key_, "the schedule of a program of ", ranks, " ranks takes ",
                 gigabytes(static_cast<double>(bytes)), " so far; its next parts");
    claimed_ += kPart;
  }

 private:
  static constexpr std::size_t kPart = 64 << 20;
  const char* key_;
  std::size_t claimed_ = kPart;
};

}  // namespace flitgym::workload
