#include "readers/array_program.hpp"

#include "simcore/error.hpp"
#include "simcore/grouped.hpp"
#include "simcore/limits.hpp"

namespace flitgym::workload {

namespace {

using Column = ProgramArrays::Column;
constexpr i64 kMostRepeats = std::numeric_limits<u32>::max();

std::string at(const char* column, std::size_t index) {
  return std::string(column) + "[" + std::to_string(index) + "]: ";
}
std::string range(i64 least, i64 most) { return std::to_string(least) + " .. " + std::to_string(most); }
std::ptrdiff_t signed_index(u64 index) { return static_cast<std::ptrdiff_t>(index); }

i64 checked(const char* column, Column values, std::size_t index, i64 least, i64 most, const char* what) {
  const i64 value = values[index];
  if (value < least || value > most)
    throw ConfigError(at(column, index), value, " is out of range for ", what, "; expected ", range(least, most));
  return value;
}

void check_lengths(const char* like, Column other, std::initializer_list<std::pair<const char*, Column>> columns) {
  for (const auto& [column, values] : columns)
    if (values.size() != other.size())
      throw ConfigError(column, ": has ", values.size(), " entries and ", like, " has ", other.size(),
                        "; expected the same number");
}

class LoopedProgram : public Program {
 public:
  explicit LoopedProgram(const ProgramArrays& a) {
    if (a.ranks < 1 || a.ranks >= kNone)
      throw ConfigError("ranks: ", a.ranks, " is out of range; expected ", range(1, kNone - 1));
    ranks = static_cast<u32>(a.ranks);
    claim_memory(ranks * u64{32} + a.op_rank.size() * u64{96} + a.dependency_rank.size() * u64{40}, "ranks", ranks,
                 " ranks and their operations");
    check_lengths("op_rank", a.op_rank,
                  {{"op_block", a.op_block},
                   {"op_kind", a.op_kind},
                   {"op_size", a.op_size},
                   {"op_peer", a.op_peer},
                   {"op_tag", a.op_tag},
                   {"op_cpu", a.op_cpu}});
    check_lengths("dependency_rank", a.dependency_rank,
                  {{"dependency_block", a.dependency_block},
                   {"dependency_before", a.dependency_before},
                   {"dependency_after", a.dependency_after},
                   {"dependency_on_start", a.dependency_on_start}});
    check_lengths("repeat_rank", a.repeat_rank, {{"repeat_block", a.repeat_block}, {"repeat_count", a.repeat_count}});
    lay_out_blocks(a);
    add_ops(a);
    add_dependencies(a);
    add_repeats(a);
  }

  u64 blocks(u32 rank) const override {
    return first_block_[rank] < first_block_[rank + 1] ? end_[first_block_[rank + 1] - 1] : 0;
  }
  u64 repeats(u32 rank, u64 index) const override { return end_[listed(rank, index)] - index; }
  void block(u32 rank, u64 index, Block& out) const override {
    const u64 b = listed(rank, index);
    out.ops.assign(ops_.begin() + signed_index(first_op_[b]), ops_.begin() + signed_index(first_op_[b + 1]));
    const auto mine = dependencies(b);
    out.dependencies.assign(mine.begin(), mine.end());
  }
  std::string where(u32 rank, u64 index, u32 op) const override {
    return "operation " + std::to_string(given_[first_op_[listed(rank, index)] + op]);
  }

 private:
  // The listed block whose repeats include `index`.
  u64 listed(u32 rank, u64 index) const {
    const auto begin = end_.begin() + signed_index(first_block_[rank]),
               end = end_.begin() + signed_index(first_block_[rank + 1]);
    return static_cast<u64>(std::upper_bound(begin, end, index) - end_.begin());
  }
  std::span<const Dependency> dependencies(u64 block) const {
    return std::span(dependencies_)
        .subspan(first_dependency_[block], first_dependency_[block + 1] - first_dependency_[block]);
  }

  // A rank has all blocks up to the last one with an operation. A block number that exceeds the number of operations is
  // refused before memory is allocated.
  void lay_out_blocks(const ProgramArrays& a) {
    std::vector<i64> ops(ranks), count(ranks);
    for (std::size_t k = 0; k < a.op_rank.size(); k++, worked(4))
      ops[static_cast<u64>(checked("op_rank", a.op_rank, k, 0, ranks - i64{1}, "a rank"))]++;
    for (std::size_t k = 0; k < a.op_rank.size(); k++) {
      const auto rank = static_cast<u64>(a.op_rank[k]);
      const i64 block = checked("op_block", a.op_block, k, 0, std::min(ops[rank] - 1, kMostRepeats),
                                "a block (each has at least one operation)");
      count[rank] = std::max(count[rank], block + 1);
    }
    first_block_.assign(1, 0);
    worked(count.size());
    for (const i64 n : count) first_block_.push_back(first_block_.back() + static_cast<u64>(n));
  }

  // The block that entry `index` of the two columns refers to.
  u64 named_block(const char* rank_column, Column rank_values, const char* block_column, Column block_values,
                  std::size_t index) const {
    const auto rank = static_cast<u64>(checked(rank_column, rank_values, index, 0, ranks - i64{1}, "a rank"));
    const u64 blocks_of_rank = first_block_[rank + 1] - first_block_[rank];
    return first_block_[rank] + static_cast<u64>(checked(block_column, block_values, index, 0,
                                                         static_cast<i64>(blocks_of_rank) - 1, "a block of its rank"));
  }

  void add_ops(const ProgramArrays& a) {
    given_ = grouped(first_block_.back(), a.op_rank.size(), first_op_, [&](std::size_t k) {
      return first_block_[static_cast<u64>(a.op_rank[k])] + static_cast<u64>(a.op_block[k]);
    });
    for (u64 b = 0; b + 1 < first_op_.size(); b++)
      if (first_op_[b] == first_op_[b + 1])
        throw ConfigError(at("op_block", given_[first_op_[b]]), "the previous block of rank ",
                          a.op_rank[given_[first_op_[b]]], " has no operation; expected block numbers without gaps");
    ops_.reserve(given_.size());
    for (const u64 k : given_) {
      worked(8);
      Op op{};
      op.kind = static_cast<OpKind>(checked("op_kind", a.op_kind, k, 0, 2, "a kind (0 calc, 1 send, 2 receive)"));
      op.size = static_cast<u64>(
          checked("op_size", a.op_size, k, 0, std::numeric_limits<i64>::max(), "nanoseconds or bytes"));
      op.cpu = static_cast<u8>(checked("op_cpu", a.op_cpu, k, 0, 255, "a cpu"));
      if (op.kind != OpKind::kCalc) {
        const i64 any = op.kind == OpKind::kReceive ? -1 : 0;
        const i64 peer = checked("op_peer", a.op_peer, k, any, ranks - i64{1}, "a rank");
        op.peer = peer < 0 ? kAnySource : static_cast<u32>(peer);
        op.tag = static_cast<i32>(checked("op_tag", a.op_tag, k, any, std::numeric_limits<i32>::max(),
                                          any ? "the tag of a receive" : "the tag of a message"));
      }
      ops_.push_back(op);
    }
  }

  void add_dependencies(const ProgramArrays& a) {
    const std::size_t entries = a.dependency_rank.size();
    std::vector<u64> block(entries);
    for (std::size_t k = 0; k < entries; k++, worked(8))
      block[k] = named_block("dependency_rank", a.dependency_rank, "dependency_block", a.dependency_block, k);
    const std::vector<u64> order =
        grouped(first_block_.back(), entries, first_dependency_, [&](std::size_t k) { return block[k]; });
    for (const u64 k : order) {
      const i64 last = static_cast<i64>(first_op_[block[k] + 1] - first_op_[block[k]]) - 1;
      const i64 before = checked("dependency_before", a.dependency_before, k, 0, last, "an operation of its block");
      const i64 after = checked("dependency_after", a.dependency_after, k, 0, last, "an operation of its block");
      const bool on_start = checked("dependency_on_start", a.dependency_on_start, k, 0, 1, "a truth value") == 1;
      dependencies_.push_back({static_cast<u32>(before), static_cast<u32>(after), on_start});
    }
  }

  void add_repeats(const ProgramArrays& a) {
    std::vector<u64> count(first_block_.back(), 0);
    for (std::size_t k = 0; k < a.repeat_rank.size(); k++) {
      u64& mine = count[named_block("repeat_rank", a.repeat_rank, "repeat_block", a.repeat_block, k)];
      if (mine > 0)
        throw ConfigError(at("repeat_block", k), "block ", a.repeat_block[k], " of rank ", a.repeat_rank[k],
                          " already has a count; expected one entry per block");
      mine = static_cast<u64>(checked("repeat_count", a.repeat_count, k, 1, kMostRepeats, "a number of repeats"));
    }
    end_.resize(count.size());
    for (u32 rank = 0; rank < ranks; rank++) {
      u64 sum = 0;
      for (u64 b = first_block_[rank]; b < first_block_[rank + 1]; b++) end_[b] = sum += std::max(u64{1}, count[b]);
    }
  }

  std::vector<u64> first_block_;  // [ranks + 1] first listed block of each rank
  std::vector<u64> end_;          // [listed blocks] block index of the rank after all repeats of the block
  std::vector<u64> first_op_, first_dependency_;  // [listed blocks + 1]
  std::vector<Op> ops_;
  std::vector<u64> given_;  // [operations] entry of the arrays that each came from
  std::vector<Dependency> dependencies_;
};

}  // namespace

std::shared_ptr<const Program> looped_program(const ProgramArrays& arrays) {
  return std::make_shared<LoopedProgram>(arrays);
}

}  // namespace flitgym::workload
