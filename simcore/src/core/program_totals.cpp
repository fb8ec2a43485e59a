#include "simcore/program_totals.hpp"

#include <span>
#include <tuple>

#include "simcore/error.hpp"
#include "simcore/grouped.hpp"

namespace flitgym::workload {

namespace {

// "send to rank 3, 8 B, tag 0"
std::string text(const Op& op) {
  if (op.kind == OpKind::kCalc) return "calc " + std::to_string(op.size) + " ns";
  return std::string(op.kind == OpKind::kSend ? "send to " : "receive from ") +
         (op.peer == kAnySource ? "any rank" : "rank " + std::to_string(op.peer)) + ", " + std::to_string(op.size) +
         " B, " + (op.tag == kAnyTag ? "any tag" : "tag " + std::to_string(op.tag));
}

// Sends minus receives of one (source, destination, tag). The other fields are an example for the message.
struct Balance {
  u32 source, destination;
  i32 tag;
  i64 count;
  u32 op;
  u64 block;
  auto key() const { return std::tie(source, destination, tag); }
};

class Matching {
 public:
  explicit Matching(u32 ranks) : ranks_(ranks) {}

  // Balances are merged by sorting whenever their number has doubled, so memory grows with communicating pairs, not
  // with messages.
  void count(u32 rank, u64 block, u32 index, const Op& op, i64 times) {
    if (op.kind == OpKind::kCalc) return;
    if (op.kind == OpKind::kSend) balances_.push_back({rank, op.peer, op.tag, times, index, block});
    else balances_.push_back({op.peer, rank, op.tag, -times, index, block});
    if (balances_.size() >= limit_) {
      merge();
      limit_ = std::max(limit_, 2 * balances_.size());
    }
  }

  // The first sends or receives without a match, or null. Handles one destination at a time. The remaining sends go to
  // receives of any tag from that source, then to receives of that tag from any source. Receives of any tag and source
  // take the rest. If the first two kinds compete, this order may fail although another order works. In that case only
  // the totals must agree.
  const Balance* first() {
    merge();
    std::map<std::tuple<u32, u32, i32>, Balance*> wildcards;
    std::vector<i64> sum(ranks_, 0);
    std::vector<u8> kinds(ranks_, 0);
    for (Balance& b : balances_) {
      sum[b.destination] += b.count;
      if (b.source != kAnySource && b.tag != kAnyTag) continue;
      wildcards[b.key()] = &b;
      kinds[b.destination] |= b.source != kAnySource ? 1 : b.tag != kAnyTag ? 2 : 0;
    }
    const auto find = [&](u32 source, u32 destination, i32 tag) {
      const auto found = wildcards.find({source, destination, tag});
      return found == wildcards.end() ? nullptr : found->second;
    };
    if (!wildcards.empty())
      for (Balance& b : balances_) {
        absorb(b, find(b.source, b.destination, kAnyTag));
        absorb(b, find(kAnySource, b.destination, b.tag));
        absorb(b, find(kAnySource, b.destination, kAnyTag));
      }
    const Balance* first = nullptr;  // first by rank, not by source
    const auto order = [](const Balance& b) {
      return std::tuple(b.count > 0 ? b.source : b.destination, b.block, b.op);
    };
    for (const Balance& b : balances_) {
      if (b.count == 0 || (kinds[b.destination] == 3 && sum[b.destination] == 0)) continue;
      if (!first || order(b) < order(*first)) first = &b;
    }
    return first;
  }

 private:
  // Keeps the last example of the side with the surplus.
  void merge() {
    std::stable_sort(balances_.begin(), balances_.end(), [](const Balance& a, const Balance& b) {
      worked();
      return a.key() < b.key();
    });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < balances_.size();) {
      const Balance first = balances_[k];
      Balance most = first, least = first;  // examples of a send and of a receive
      i64 sum = 0;
      for (; k < balances_.size() && balances_[k].key() == first.key(); k++) {
        sum += balances_[k].count;
        if (balances_[k].count > 0) most = balances_[k];
        if (balances_[k].count < 0) least = balances_[k];
      }
      if (sum == 0) continue;
      Balance result = sum > 0 ? most : least;
      result.count = sum;
      balances_[kept++] = result;
    }
    balances_.resize(kept);
  }

  // A wildcard receive takes messages of a send.
  static void absorb(Balance& send, Balance* receive) {
    if (!receive || send.count <= 0 || receive->count >= 0) return;
    const i64 n = std::min(send.count, -receive->count);
    send.count -= n;
    receive->count += n;
  }

  const u32 ranks_;
  std::vector<Balance> balances_;
  std::size_t limit_ = 1 << 16;
};

bool same_peers(const Block& a, const Block& b) {
  return std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(),
                    [](const Op& x, const Op& y) { return x.peer == y.peer && x.kind == y.kind && x.tag == y.tag; });
}

// Saturates at the largest 64-bit number.
void add(u64& sum, u64 times, u64 each) {
  sum = static_cast<u64>(std::min<u128>(u128{sum} + u128{times} * each, ~u64{0}));
}

// Whether all blocks of each run have the same peers in the sample.
bool runs_repeat_exactly(const Program& program) {
  Block first, other;
  for (u32 rank = 0; rank < program.ranks; rank++)
    for (u64 index = 0, times; index < program.blocks(rank); index += times) {
      worked(8);
      times = program.repeats(rank, index);
      if (times > 1) {
        first.clear();
        program.block(rank, index, first);
      }
      if (!same_peers_in_run(program, rank, index, times, first, other)) return false;
    }
  return true;
}

// Returns the indices of dependencies that form a cycle, the last one first, or an empty list. Waiting for a start
// counts: two operations that wait for each other's start never start.
std::vector<u32> find_cycle(std::size_t ops, std::span<const Dependency> dependencies) {
  // Programs are usually written in order, and forward dependencies form no cycle.
  if (std::all_of(dependencies.begin(), dependencies.end(), [](const Dependency& d) { return d.before < d.after; }))
    return {};

  // Repeatedly removes operations without open dependencies. The remaining operations depend on a cycle.
  std::vector<u32> waits(ops), ready, first;
  for (const Dependency& d : dependencies) waits[d.after]++;
  const std::vector<u32> out =
      grouped(ops, dependencies.size(), first, [&](std::size_t k) { return dependencies[k].before; });
  for (u32 op = 0; op < ops; op++)
    if (waits[op] == 0) ready.push_back(op);
  for (std::size_t n = 0; n < ready.size(); n++)
    for (u32 k = first[ready[n]]; k < first[ready[n] + 1]; k++)
      if (--waits[dependencies[out[k]].after] == 0) ready.push_back(dependencies[out[k]].after);
  if (ready.size() == ops) return {};

  // Walks backwards from a remaining operation along open dependencies until an operation repeats.
  std::vector<u32> unmet(ops, kNone), seen(ops, kNone), path;
  u32 op = kNone;
  for (u32 k = 0; k < dependencies.size(); k++)
    if (waits[dependencies[k].before] > 0) {
      op = dependencies[k].after;
      unmet[op] = k;
    }
  while (seen[op] == kNone) {
    seen[op] = static_cast<u32>(path.size());
    path.push_back(unmet[op]);
    op = dependencies[unmet[op]].before;
  }
  return {path.begin() + seen[op], path.end()};
}

template <class... Parts>
[[noreturn]] void fail(const Program& program, const std::string& where, u32 rank, u64 block, u32 op,
                       const Parts&... what) {
  const std::string place = program.where(rank, block, op);
  throw ConfigError(where, ": rank ", rank, ", block ", block, ", operation ", op,
                    place.empty() ? "" : " (" + place + ")", ": ", what...);
}

void check_block(const Program& program, const std::string& where, u32 rank, u64 index, const Block& block) {
  const u32 ops = static_cast<u32>(block.ops.size());
  for (u32 k = 0; k < ops; k++) {
    const Op& op = block.ops[k];
    if (op.kind == OpKind::kCalc) continue;
    const bool receives = op.kind == OpKind::kReceive;
    if (op.peer >= program.ranks && !(receives && op.peer == kAnySource))
      fail(program, where, rank, index, k, text(op), ": the program has ", program.ranks, " ranks");
    if (op.tag < 0 && !(receives && op.tag == kAnyTag))
      fail(program, where, rank, index, k, text(op), ": the tag must be 0 or more");
  }
  for (const Dependency& d : block.dependencies)
    if (d.before >= ops || d.after >= ops)
      fail(program, where, rank, index, std::min(d.after, d.before), "operation ", d.after, " requires ", d.before,
           ", but the block has ", ops, " operations");
  const std::vector<u32> cycle = find_cycle(ops, block.dependencies);
  if (cycle.empty()) return;
  std::vector<u32> circle;  // each operation requires the next
  for (const u32 k : cycle) circle.push_back(block.dependencies[k].after);
  std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
  circle.push_back(circle.front());
  std::vector<std::string> words;
  for (const u32 op : circle) {
    const std::string place = program.where(rank, index, op);
    words.push_back(std::to_string(op) + (place.empty() ? "" : " (" + place + ")"));
  }
  fail(program, where, rank, index, circle.front(),
       "operations that require each other in a cycle: ", join(words, " requires "));
}

}  // namespace

bool same_peers_in_run(const Program& program, u32 rank, u64 index, u64 times, const Block& first, Block& other) {
  constexpr u64 kSample = 16;
  const u64 step = std::max<u64>(1, (times - 1) / kSample);
  for (u64 k = step; k < times; k += step) {
    other.clear();
    program.block(rank, index + k, other);
    worked(8 + other.ops.size());
    if (!same_peers(first, other)) return false;
  }
  return true;
}

ProgramTotals totals(const Program& program) {
  ProgramTotals sum;
  Block block;
  for (u32 rank = 0; rank < program.ranks; rank++)
    each_block(program, rank, block, [&](u64, u64 times) {
      for (const Op& op : block.ops) {
        add(sum.operations, times, 1);
        if (op.kind == OpKind::kCalc) add(sum.calc_ns, times, op.size);
        if (op.kind == OpKind::kReceive) add(sum.receives, times, 1);
        if (op.kind != OpKind::kSend) continue;
        add(sum.messages, times, 1);
        add(sum.bytes, times, op.size);
      }
    });
  return sum;
}

std::vector<u64> bytes_sent(const Program& program) {
  std::vector<u64> bytes(program.ranks, 0);
  Block block;
  for (u32 rank = 0; rank < program.ranks; rank++)
    each_block(program, rank, block, [&](u64, u64 times) {
      for (const Op& op : block.ops)
        if (op.kind == OpKind::kSend) add(bytes[rank], times, op.size);
    });
  return bytes;
}

void check_program(const Program& program, const std::string& where) {
  const bool alike = runs_repeat_exactly(program);
  Matching matching(program.ranks);
  Block block;
  for (u32 rank = 0; rank < program.ranks; rank++)
    each_block(program, rank, block, [&](u64 index, u64& times) {
      if (!alike) times = 1;
      worked(4 * (block.ops.size() + block.dependencies.size()));
      check_block(program, where, rank, index, block);
      for (u32 op = 0; op < block.ops.size(); op++)
        matching.count(rank, index, op, block.ops[op], static_cast<i64>(times));
    });
  const Balance* const left = matching.first();
  if (!left) return;
  const bool send = left->count > 0;
  const u32 rank = send ? left->source : left->destination;
  block.clear();
  program.block(rank, left->block, block);
  fail(program, where, rank, left->block, left->op, text(block.ops[left->op]), ": ",
       send ? "no receive matches it" : "no send matches it", " (", std::abs(left->count), " without a match)");
}

}  // namespace flitgym::workload
