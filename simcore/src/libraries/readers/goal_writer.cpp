#include "readers/flat_rank.hpp"
#include "readers/goal.hpp"

namespace flitgym::workload {

namespace {

class Writer {
 public:
  std::string text;

  explicit Writer(u32 ranks) : ranks_(ranks) {}

  void rank(const Program& program, u32 rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    ops_ = 0;
    flatten_rank(program, rank, *this);
    text += "}\n";
  }

  // ---- the calls of flatten_rank() ----

  void block(const Block&) { output_.holds(text.size(), ranks_); }

  void op(const Op& op) {
    text += "o" + std::to_string(ops_++) + ": ";
    if (op.kind == OpKind::kCalc) {
      text += "calc " + std::to_string(op.size);
    } else {
      const bool sends = op.kind == OpKind::kSend;
      text += (sends ? "send " : "recv ") + std::to_string(op.size) + (sends ? "b to " : "b from ") +
              (!sends && op.peer == kAnySource ? "-1" : std::to_string(op.peer));
      if (op.tag != 0) text += " tag " + std::to_string(op.tag);  // kAnyTag is -1 in the file, too
    }
    if (op.cpu != 0) text += " cpu " + std::to_string(op.cpu);
    if (op.nic != 0 && op.kind != OpKind::kCalc) text += " nic " + std::to_string(op.nic);
    text += "\n";
  }

  void depend(u64 after, u64 before, bool on_start) {
    text += "o" + std::to_string(after) + (on_start ? " irequires o" : " requires o") + std::to_string(before) + "\n";
  }

 private:
  GrowingOutput output_{"Program.to_goal()"};
  const u32 ranks_;
  u64 ops_ = 0;  // of this rank so far; their labels are o0, o1, ...
};

}  // namespace

std::string write_goal(const Program& program) {
  Writer writer(program.ranks);
  writer.text = "num_ranks " + std::to_string(program.ranks) + "\n";
  for (u32 rank = 0; rank < program.ranks; rank++) writer.rank(program, rank);
  return std::move(writer.text);
}

}  // namespace flitgym::workload
