#include "readers/goal_binary.hpp"

#include <cstring>

#include "readers/flat_rank.hpp"
#include "simcore/error.hpp"
#include "simcore/plain_file.hpp"
#include "simcore/program_totals.hpp"

namespace flitgym::workload {

namespace goal_binary {

constexpr u64 kMark = 4223;  // MAGIC_COOKIE of LogGOPSim
constexpr u64 kOrigin = 8;   // offsets count from here
constexpr u64 kHeader = 14;  // bytes ahead of the table of the ranks
constexpr u64 kTableEntry = 16, kSectionHeader = 8, kRecord = 39, kNumber = 4;
constexpr u64 kCpus = 12, kNics = 13;  // places of the largest cpu and nic in the header
constexpr u64 kLargestSize = std::numeric_limits<i64>::max();
constexpr u32 kLargestTag = std::numeric_limits<i32>::max(), kAny = 0xffffffff;
// Records of the schedules of LogGOPSim2 are longer.
constexpr const char* kOtherVersion =
    "; if the file is whole, it has another version of the format, such as LogGOPSim2's: make it from its text again, "
    "with LogGOPSim's txt2bin or flitgym trace convert";
constexpr u8 kSendType = 1, kReceiveType = 2, kCalcType = 3;
// Places of the fields in a record.
using Field = u64;
constexpr Field kType = 4, kPeer = 5, kSize = 9, kTag = 17, kCpu = 21, kNic = 22, kEnds = 23, kStarts = 31;

static_assert(std::endian::native == std::endian::little);
template <class T>
T load(const u8* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The part of the file that belongs to a rank.
struct Section {
  const u8* file;
  u64 begin, end;  // bytes of the file
  u32 ops = 0, roots = 0;

  u64 root(u64 k) const { return begin + kSectionHeader + kNumber * k; }
  u64 record(u64 op) const { return root(roots) + kRecord * op; }
  u64 successor(u64 k) const { return record(ops) + kNumber * k; }
  u64 successors() const { return (end - record(ops)) / kNumber; }
  template <class T>
  T field(u64 op, Field at, u64 more = 0) const {
    return load<T>(file + record(op) + at + more);
  }
};

struct BinaryGoal : Program {
  MappedFile file;
  std::string path;

  BinaryGoal(const std::string& name, const std::string& expected) : file(name, name, expected), path(name) {}

  Section section(u32 rank) const {
    const u8* const entry = file.data() + kHeader + kTableEntry * rank;
    Section s{file.data(), kOrigin + load<u64>(entry), kOrigin + load<u64>(entry + 8)};
    s.ops = load<u32>(file.data() + s.begin);
    s.roots = load<u32>(file.data() + s.begin + 4);
    return s;
  }

  u64 blocks(u32 rank) const override { return section(rank).ops > 0; }

  void block(u32 rank, u64, Block& out) const override {
    const Section s = section(rank);
    out.ops.reserve(s.ops);
    out.dependencies.reserve(s.successors());
    for (u32 k = 0; k < s.ops; k++) {
      const u8 type = s.field<u8>(k, kType);
      Op op{s.field<u64>(k, kSize), 0, 0, OpKind::kCalc, s.field<u8>(k, kCpu), 0, false, {}};
      if (type != kCalcType) {
        op.kind = type == kSendType ? OpKind::kSend : OpKind::kReceive;
        op.peer = s.field<u32>(k, kPeer);
        op.tag = s.field<i32>(k, kTag);
        op.nic = s.field<u8>(k, kNic);
      }
      out.ops.push_back(op);
      for (const Field list : {kEnds, kStarts})
        for (u32 n = s.field<u32>(k, list), at = s.field<u32>(k, list, 4), j = 0; j < n; j++)
          out.dependencies.push_back({k, load<u32>(s.file + s.successor(u64{at} + j)), list == kStarts});
    }
  }

  std::string where(u32 rank, u64, u32 op) const override {
    return path + ":byte " + std::to_string(section(rank).record(op));
  }
};

// Checks every number of a file ahead of its use. The numbers of dependencies and the roots follow from the successors
// and are not used. check_program() checks peers, cycles and partners of messages.
class Checker {
 public:
  explicit Checker(const BinaryGoal& program)
      : program_(program), data_(program.file.data()), size_(program.file.size()) {}

  u32 ranks() const {
    if (size_ < kHeader) fail(size_, "the file ends here", "a header of " + text(kHeader) + " bytes");
    const u64 mark = load<u64>(data_), ranks = load<u32>(data_ + 8), end = kHeader + kTableEntry * ranks;
    if (mark != kMark) fail(0, "the mark is " + text(mark), text(kMark) + ", the mark of a binary GOAL schedule");
    if (ranks == 0 || ranks == kNone) fail(8, text(ranks) + " ranks", "1 .. " + text(kNone - 1));
    if (end > size_)
      fail(8,
           "the table of " + text(ranks) + " ranks would end at byte " + text(end) + ", and the file ends at byte " +
               text(size_),
           "a whole file");
    return static_cast<u32>(ranks);
  }

  void sections(u32 ranks) {
    u64 largest = 0;
    for (rank_ = 0; rank_ < ranks; rank_++) {
      const Section s = section();
      largest = std::max(largest, sizeof(Op) * s.ops + sizeof(Dependency) * s.successors());
    }
    rank_ = kNone;
    claim_memory(largest, program_.path, "the operations of the largest rank");
    for (rank_ = 0; rank_ < ranks; rank_++) {
      const Section s = program_.section(rank_);
      for (op_ = 0; op_ < s.ops; op_++) record(s);
      successors(s);
    }
  }

 private:
  Section section() const {
    worked(64);
    const u64 entry = kHeader + kTableEntry * rank_, last = size_ - kOrigin;
    const u64 begin = load<u64>(data_ + entry), end = load<u64>(data_ + entry + 8);
    if (begin > end || end > last || end - begin < kSectionHeader)
      fail(entry,
           "the section begins at offset " + text(begin) + " and ends at offset " + text(end) +
               ", and the file ends at offset " + text(last),
           "a whole file");
    const Section s = program_.section(rank_);
    const u64 least = kSectionHeader + kNumber * s.roots + kRecord * s.ops;
    if (least > end - begin || (end - begin - least) % kNumber != 0)
      fail(s.begin,
           text(s.ops) + " operations and " + text(s.roots) + " roots take " + text(least) +
               " bytes, and the section has " + text(end - begin),
           text(least) + " bytes and 4 for each dependency" + kOtherVersion);
    return s;
  }

  void record(const Section& s) const {
    worked(16);
    const u64 at = s.record(op_), size = s.field<u64>(op_, kSize);
    const u8 type = s.field<u8>(op_, kType);
    const u32 tag = s.field<u32>(op_, kTag), peer = s.field<u32>(op_, kPeer);
    const bool calc = type == kCalcType, any = type == kReceiveType;
    if (!calc && !any && type != kSendType)
      fail(at + kType, "the type is " + text(type), std::string("1 (send), 2 (receive) or 3 (calc)") + kOtherVersion);
    if (size > kLargestSize)
      fail(at + kSize, text(size) + (calc ? " ns" : " bytes") + " are out of range", "0 .. " + text(kLargestSize));
    if (!calc && peer >= program_.ranks && !(any && peer == kAny))
      fail(at + kPeer, "rank " + text(peer) + " does not exist",
           "a rank 0 .. " + text(program_.ranks - 1) + (any ? ", or 4294967295 for any" : ""));
    if (!calc && tag > kLargestTag && !(any && tag == kAny))
      fail(at + kTag, "tag " + text(tag) + " is out of range",
           "0 .. " + text(kLargestTag) + (any ? ", or 4294967295 for any" : ""));
  }

  // The lists of successors. They have as many entries as the section holds, so they bound the work.
  void successors(const Section& s) {
    u64 listed = 0;
    const u64 held = s.successors();
    for (op_ = 0; op_ < s.ops; op_++)
      for (const Field list : {kEnds, kStarts}) {
        const u64 count = s.field<u32>(op_, list), first = s.field<u32>(op_, list, 4);
        worked(count);
        if (count == 0) continue;
        listed += count;
        if (first + count > held || listed > held)
          fail(s.record(op_) + list,
               text(count) + " successors from index " + text(first) + " on, " + text(listed) +
                   " of the rank so far, but the section holds " + text(held),
               std::string("no more than it holds") + kOtherVersion);
        for (u64 k = first; k < first + count; k++) {
          const u32 after = load<u32>(s.file + s.successor(k));
          if (after >= s.ops) fail(s.successor(k), "successor " + text(after), "an operation 0 .. " + text(s.ops - 1));
        }
      }
    op_ = kNone;
    if (listed != held)
      fail(s.successor(0), "the operations list " + text(listed) + " successors, and the section holds " + text(held),
           std::string("equal numbers") + kOtherVersion);
  }

  static std::string text(u64 number) { return std::to_string(number); }

  [[noreturn]] void fail(u64 byte, const std::string& found, const std::string& expected) const {
    std::string place = program_.path + ": byte " + text(byte);
    if (rank_ != kNone && op_ != kNone) place += " (rank " + text(rank_) + ", operation " + text(op_) + ")";
    else if (rank_ != kNone) place += " (rank " + text(rank_) + ")";
    throw ConfigError(place, ": ", found, "; expected ", expected);
  }

  const BinaryGoal& program_;
  const u8* const data_;
  const u64 size_;
  u32 rank_ = kNone, op_ = kNone;  // for messages
};

// The sections of all ranks, one after the other.
class Writer {
 public:
  explicit Writer(u32 ranks) : ranks_(ranks) {
    bytes_.resize(kHeader + kTableEntry * ranks);
    store(0, kMark);
    store(8, ranks);
  }

  void rank(const Program& program, u32 rank) {
    ops_.clear(), dependencies_.clear();
    const u64 begin = bytes_.size();
    flatten_rank(program, rank, *this);
    section();
    store(kHeader + kTableEntry * rank, begin - kOrigin);
    store(kHeader + kTableEntry * rank + 8, bytes_.size() - kOrigin);
  }

  std::string take() {
    bytes_[kCpus] = static_cast<char>(cpus_), bytes_[kNics] = static_cast<char>(nics_);
    return std::move(bytes_);
  }

  // ---- the calls of flatten_rank() ----

  void block(const Block& block) {
    output_.holds(bytes_.size() + kRecord * (ops_.size() + block.ops.size()), ranks_);
    if (ops_.size() + 2 * block.ops.size() >= kNone || dependencies_.size() + block.dependencies.size() >= kNone / 2)
      throw ConfigError(
          "Program.to_goal_binary(): a rank has too many operations; the format numbers them with 32 bits");
  }
  void op(const Op& op) { ops_.push_back(op); }
  void depend(u64 after, u64 before, bool on_start) {
    dependencies_.push_back({static_cast<u32>(before), static_cast<u32>(after), on_start});
  }

 private:
  void section() {
    waits_.assign(ops_.size(), 0);
    for (const Dependency& d : dependencies_) waits_[d.after]++;
    // The successors of an operation that wait for its end come first. Their order is kept otherwise.
    std::stable_sort(dependencies_.begin(), dependencies_.end(), [](const Dependency& a, const Dependency& b) {
      return std::pair(a.before, a.on_start) < std::pair(b.before, b.on_start);
    });
    put(static_cast<u32>(ops_.size()));
    put(static_cast<u32>(std::count(waits_.begin(), waits_.end(), 0u)));
    for (u32 k = 0; k < ops_.size(); k++)
      if (waits_[k] == 0) put(k);
    u32 at = 0;
    for (u32 k = 0; k < ops_.size(); k++) {
      record(ops_[k], waits_[k]);
      for (const bool on_start : {false, true}) {
        const u32 first = at;
        const auto waits_for = [&](const Dependency& d) { return d.before == k && d.on_start == on_start; };
        while (at < dependencies_.size() && waits_for(dependencies_[at])) at++;
        put(at - first), put(first);
      }
    }
    for (const Dependency& d : dependencies_) put(d.after);
  }

  void record(const Op& op, u32 waits) {
    const bool calc = op.kind == OpKind::kCalc;
    const u8 nic = calc ? 0 : op.nic;
    cpus_ = std::max(cpus_, op.cpu), nics_ = std::max(nics_, nic);
    put(waits);
    put(calc ? kCalcType : op.kind == OpKind::kSend ? kSendType : kReceiveType);
    put(calc ? u32{0} : op.peer);
    put(op.size);
    put(calc ? u32{0} : static_cast<u32>(op.tag));
    put(op.cpu), put(nic);
  }

  template <class T>
  void put(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  template <class T>
  void store(u64 at, T number) {
    std::memcpy(bytes_.data() + at, &number, sizeof number);
  }

  GrowingOutput output_{"Program.to_goal_binary()"};
  const u32 ranks_;
  std::string bytes_;
  u8 cpus_ = 0, nics_ = 0;
  // The current rank.
  std::vector<Op> ops_;
  std::vector<Dependency> dependencies_;
  std::vector<u32> waits_;  // [operations] dependencies of each
};

}  // namespace goal_binary

bool is_goal_binary(const std::string& path) {
  const MappedFile file(path, path, "; expected a GOAL schedule");
  return file.size() >= 8 && goal_binary::load<u64>(file.data()) == goal_binary::kMark;
}

std::shared_ptr<const Program> read_goal_binary(const std::string& path) {
  const auto program = std::make_shared<goal_binary::BinaryGoal>(path, "; expected a binary GOAL schedule");
  goal_binary::Checker checker(*program);
  program->ranks = checker.ranks();
  checker.sections(program->ranks);
  check_program(*program, path);
  return program;
}

std::string write_goal_binary(const Program& program) {
  goal_binary::Writer writer(program.ranks);
  for (u32 rank = 0; rank < program.ranks; rank++) writer.rank(program, rank);
  return writer.take();
}

}  // namespace flitgym::workload
