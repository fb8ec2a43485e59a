#include <charconv>
#include <utility>

#include "simcore/limits.hpp"
#include "workload/readers/goal.hpp"

namespace flitgym::workload {

namespace {

class Writer {
 public:
  std::string text;

  void rank(const Program& program, u32 rank) {
    *this << "rank " << rank << " {\n";
    ops_ = 0;
    ends_.clear();
    Block block;
    for (u64 index = 0, blocks = program.blocks(rank); index < blocks; index++) {
      block.clear();
      program.block(rank, index, block);
      worked(8 + 32 * block.ops.size());
      if (text.size() >= claimed_) {
        claim_memory(kClaim, "Program.to_goal()",
                     "the text of a program of " + std::to_string(program.ranks) + " ranks takes " +
                         gigabytes(static_cast<double>(text.size())) + " so far; its next parts");
        claimed_ += kClaim;
      }
      if (!block.ops.empty()) add(block);
    }
    *this << "}\n";
  }

  Writer& operator<<(const char* word) { return text += word, *this; }
  Writer& operator<<(u64 number) {
    char digits[20];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return *this;
  }

 private:
  void add(const Block& block) {
    const u64 first = ops_;
    for (const Op& op : block.ops) write(op);

    // Operations without a dependency begin the block. Operations for which no other operation waits end it.
    std::vector<bool> begins(block.ops.size(), true), ends(block.ops.size(), true);
    for (const Dependency& d : block.dependencies) {
      depend(first + d.after, first + d.before, d.on_start);
      begins[d.after] = false;
      if (!d.on_start) ends[d.before] = false;
    }
    u64 heads = 0;
    for (const bool b : begins) heads += b;

    if (ends_.size() * heads > ends_.size() + heads) {
      const u64 join = ops_;
      write({0, 0, 0, OpKind::kCalc, 0, 0, {}});
      for (const u64 end : ends_) depend(join, end, false);
      ends_.assign(1, join);
    }
    for (u64 k = 0; k < block.ops.size(); k++)
      if (begins[k])
        for (const u64 end : ends_) depend(first + k, end, false);
    ends_.clear();
    for (u64 k = 0; k < block.ops.size(); k++)
      if (ends[k]) ends_.push_back(first + k);
  }

  void write(const Op& op) {
    *this << "o" << ops_++ << ": ";
    if (op.kind == OpKind::kCalc) {
      *this << "calc " << op.size;
    } else {
      *this << (op.kind == OpKind::kSend ? "send " : "recv ") << op.size
            << (op.kind == OpKind::kSend ? "b to " : "b from ");
      if (op.kind == OpKind::kReceive && op.peer == kAnySource) *this << "-1";
      else *this << op.peer;
      if (op.tag == kAnyTag) *this << " tag -1";
      else if (op.tag != 0) *this << " tag " << static_cast<u32>(op.tag);
    }
    if (op.cpu != 0) *this << " cpu " << op.cpu;
    if (op.nic != 0 && op.kind != OpKind::kCalc) *this << " nic " << op.nic;
    *this << "\n";
  }
  void depend(u64 after, u64 before, bool on_start) {
    *this << "o" << after << (on_start ? " irequires o" : " requires o") << before << "\n";
  }

  static constexpr std::size_t kClaim = 64 << 20;
  std::size_t claimed_ = kClaim;  // bytes of the text
  u64 ops_ = 0;                   // of this rank so far; their labels are o0, o1, ...
  std::vector<u64> ends_;         // operations that end the previous block
};

}  // namespace

std::string write_goal(const Program& program) {
  Writer writer;
  writer << "num_ranks " << program.ranks << "\n";
  for (u32 rank = 0; rank < program.ranks; rank++) writer.rank(program, rank);
  return std::move(writer.text);
}

}  // namespace flitgym::workload
