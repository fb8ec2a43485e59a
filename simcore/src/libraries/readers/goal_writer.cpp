#include <charconv>
#include <utility>

#include "readers/flat_rank.hpp"
#include "readers/goal.hpp"

namespace flitgym::workload {

namespace {

class Writer {
 public:
  std::string text;

  explicit Writer(u32 ranks) : ranks_(ranks) {}

  void rank(const Program& program, u32 rank) {
    *this << "rank " << rank << " {\n";
    ops_ = 0;
    flatten_rank(program, rank, *this);
    *this << "}\n";
  }

  Writer& operator<<(const char* word) { return text += word, *this; }
  Writer& operator<<(u64 number) {
    char digits[20];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return *this;
  }

  // ---- the calls of flatten_rank() ----

  void block(const Block&) { output_.holds(text.size(), ranks_); }

  void op(const Op& op) {
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

 private:
  GrowingOutput output_{"Program.to_goal()"};
  const u32 ranks_;
  u64 ops_ = 0;  // of this rank so far; their labels are o0, o1, ...
};

}  // namespace

std::string write_goal(const Program& program) {
  Writer writer(program.ranks);
  writer << "num_ranks " << program.ranks << "\n";
  for (u32 rank = 0; rank < program.ranks; rank++) writer.rank(program, rank);
  return std::move(writer.text);
}

}  // namespace flitgym::workload
