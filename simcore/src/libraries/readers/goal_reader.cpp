// Parses the text in one pass, without copying words. Operations and dependencies go into flat arrays. Lines and
// columns are computed only for an error.
#include <charconv>
#include <unordered_map>

#include "readers/goal.hpp"
#include "readers/goal_binary.hpp"
#include "simcore/error.hpp"
#include "simcore/plain_file.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/text.hpp"

namespace flitgym::workload {

namespace {

struct GoalProgram : Program {
  std::string file;
  std::vector<Op> ops;                                // operations of all ranks
  std::vector<u32> lines;                             // [operations] line number
  std::vector<Dependency> dependencies;               // operations are numbered within their rank
  std::vector<u64> first_op{0}, first_dependency{0};  // [ranks + 1]

  u64 blocks(u32 rank) const override { return first_op[rank] < first_op[rank + 1]; }
  void block(u32 rank, u64, Block& out) const override {
    out.ops.assign(ops.begin() + at(first_op[rank]), ops.begin() + at(first_op[rank + 1]));
    out.dependencies.assign(dependencies.begin() + at(first_dependency[rank]),
                            dependencies.begin() + at(first_dependency[rank + 1]));
  }
  std::string where(u32 rank, u64, u32 op) const override {
    return file + ":" + std::to_string(lines[first_op[rank] + op]);
  }

  static std::ptrdiff_t at(u64 index) { return static_cast<std::ptrdiff_t>(index); }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
using text::shown;

constexpr u64 kLargestSize = std::numeric_limits<i64>::max();
constexpr u64 kLargestTag = std::numeric_limits<i32>::max();

class Reader {
 public:
  Reader(const std::string& text, const std::string& file)
      : text_(text.data()), end_(text.data() + text.size()), p_(text_), out_(std::make_shared<GoalProgram>()) {
    out_->file = file;
  }

  std::shared_ptr<const Program> read() {
    across_lines();
    if (word() != "num_ranks") fail(word_, unexpected("num_ranks N"));
    ranks_ = out_->ranks = static_cast<u32>(number("the number of ranks", 1, kNone - 1));
    for (u32 rank = 0; rank < ranks_; rank++) read_rank(rank);
    across_lines();
    if (p_ != end_) fail(p_, here(), " after the last of ", ranks_, " ranks; expected the end of the file");
    check_program(*out_, out_->file);
    return out_;
  }

 private:
  // ---- words ----

  // Skips blanks and comments. The end of a line is a token of the grammar.
  void blanks() {
    for (;;) {
      if (*p_ == '/' && (p_[1] == '/' || p_[1] == '*')) comment();
      else if (*p_ == ' ' || *p_ == '\t' || *p_ == '\r') p_++;
      else return;
    }
  }
  void across_lines() {
    for (blanks(); *p_ == '\n'; blanks()) p_++, line_++;
  }
  void comment() {
    const char* const begin = p_;
    const bool to_end_of_line = p_[1] == '/';
    for (p_ += 2; p_ < end_; p_++) {
      if (*p_ == '\n' && to_end_of_line) return;
      line_ += *p_ == '\n';
      if (!to_end_of_line && *p_ == '*' && p_[1] == '/') {
        p_ += 2;
        return;
      }
    }
    if (!to_end_of_line) fail(begin, "the comment is not closed; expected */");
  }

  // The word that begins here, or an empty one. Sets word_ to the current position in both cases.
  std::string_view word() {
    blanks();
    word_ = p_;
    if (is_letter(*p_))
      while (is_letter(*p_) || is_digit(*p_) || *p_ == '_') p_++;
    return {word_, static_cast<std::size_t>(p_ - word_)};
  }
  bool take(std::string_view wanted) {
    if (word() == wanted) return true;
    p_ = word_;
    return false;
  }
  void expect(std::string_view wanted) {
    if (!take(wanted)) fail(word_, unexpected(std::string(wanted)));
  }
  void expect(char wanted, const char* what) {
    blanks();
    if (*p_ != wanted) fail(p_, here(), "; expected ", what);
    p_++;
  }

  u64 number(const char* what, u64 least, u64 most) {
    blanks();
    word_ = p_;
    if (!is_digit(*p_)) fail(p_, here(), "; expected ", what, ", a number ", range(least, most));
    u64 value = 0;
    const auto [end, error] = std::from_chars(p_, end_, value);
    p_ = end;
    if (error != std::errc() || value < least || value > most)
      fail(word_, std::string(word_, p_), " is out of range for ", what, "; expected ", range(least, most));
    return value;
  }
  bool minus_one() {
    blanks();
    word_ = p_;
    if (p_[0] != '-' || p_[1] != '1' || is_digit(p_[2])) return false;
    p_ += 2;
    return true;
  }

  // ---- statements ----

  void read_rank(u32 rank) {
    worked(32);
    across_lines();
    const char* const begin = p_;
    const std::string next = "rank " + std::to_string(rank) + " of " + std::to_string(ranks_) +
                             "; ranks must ascend from 0 to " + std::to_string(ranks_ - 1);
    if (!take("rank")) fail(p_, here(), "; expected ", next);
    if (const u64 given = number("a rank", 0, kNone - 1); given != rank)
      fail(begin, "rank ", given, "; expected ", next);
    expect('{', "'{'");

    rank_ = rank;
    labels_.clear();
    for (across_lines(); *p_ != '}'; across_lines()) read_statement();
    p_++;

    out_->first_op.push_back(out_->ops.size());
    out_->first_dependency.push_back(out_->dependencies.size());
  }

  void read_statement() {
    std::string_view first = word();
    worked(32 + first.size());
    if (first.empty()) {
      if (p_ == end_) fail(p_, "the file ends inside rank ", rank_, "; expected '}'");
      fail(p_, here(), "; expected a statement: calc, send, recv, LABEL: or LABEL requires LABEL, or '}'");
    }
    if (first != "calc" && first != "send" && first != "recv") {
      const std::string_view label = first;
      const char* const begin = word_;
      blanks();
      if (*p_ == ':') {
        p_++;
        if (const auto [at, fresh] = labels_.try_emplace(label, ops_of_rank()); !fresh)
          fail(begin, "label ", shown(label), " is already on line ", line_of(at->second),
               "; expected a unique label within rank ", rank_);
        first = word();
      } else {
        read_dependency(begin, label);
        return end_of_line("the end of the line");
      }
    }
    read_op(first);
  }

  void read_op(std::string_view kind) {
    Op op{};
    const u32 line = line_;
    if (kind == "calc") {
      op.kind = OpKind::kCalc;
      op.size = number("a time in nanoseconds", 0, kLargestSize);
      if (take("cpu")) op.cpu = static_cast<u8>(number("a cpu", 0, 255));
      end_of_line("cpu or the end of the line");
    } else if (kind == "send" || kind == "recv") {
      op.kind = kind == "send" ? OpKind::kSend : OpKind::kReceive;
      read_message(op);
    } else {
      if (kind.empty()) fail(word_, unexpected("calc, send or recv"));
      fail(word_, "unknown statement ", shown(kind), did_you_mean(std::string(kind), {"calc", "send", "recv"}),
           "; expected calc, send or recv");
    }
    out_->ops.push_back(op);
    out_->lines.push_back(line);
  }

  void read_message(Op& op) {
    const bool receives = op.kind == OpKind::kReceive;
    op.size = number("a number of bytes", 0, kLargestSize);
    expect("b");
    expect(receives ? "from" : "to");
    if (minus_one()) {
      if (!receives) fail(word_, "-1 (any source) is not valid for a destination; expected a rank 0 .. ", ranks_ - 1);
      op.peer = kAnySource;
    } else {
      const u64 peer = number("a rank", 0, kNone - 1);
      if (peer >= ranks_)
        fail(word_, "rank ", peer, " does not exist, num_ranks is ", ranks_, "; expected a rank 0 .. ", ranks_ - 1);
      op.peer = static_cast<u32>(peer);
    }
    if (take("tag")) {
      if (minus_one()) {
        if (!receives) fail(word_, "-1 (any tag) is only valid for recv; expected a tag ", range(0, kLargestTag));
        op.tag = kAnyTag;
      } else {
        op.tag = static_cast<i32>(number("a tag", 0, kLargestTag));
      }
    }
    if (take("cpu")) op.cpu = static_cast<u8>(number("a cpu", 0, 255));
    if (take("nic")) op.nic = static_cast<u8>(number("a nic", 0, 255));
    end_of_line("tag, cpu, nic (in this order) or the end of the line");
  }

  void read_dependency(const char* begin, std::string_view after) {
    const std::string_view verb = word();
    const bool on_start = verb == "irequires";
    if (!on_start && verb != "requires") {
      if (after == "rank") fail(begin, "rank ", rank_, " is still open; expected '}' before the next rank");
      fail(begin, "unknown statement ", shown(after), did_you_mean(std::string(after), {"calc", "send", "recv"}),
           "; expected calc, send, recv, LABEL: or LABEL requires LABEL");
    }
    const u32 second = label_at(begin, after);
    const std::string_view before = word();
    if (before.empty()) fail(word_, unexpected("a label"));
    const u32 first = label_at(word_, before);
    if (first == second) fail(begin, shown(after), " waits for itself; expected the label of another operation");
    out_->dependencies.push_back({first, second, on_start});
  }

  void end_of_line(const char* expected) {
    blanks();
    if (*p_ == '\n') return;
    if (p_ == end_) fail(p_, "the file ends inside rank ", rank_, "; expected '}'");
    fail(p_, here(), "; expected ", expected);
  }

  u32 label_at(const char* at, std::string_view label) const {
    if (const auto found = labels_.find(label); found != labels_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [one, op] : labels_) known.emplace_back(one);
    fail(at, "unknown label ", shown(label), did_you_mean(std::string(label), known), "; expected a label of rank ",
         rank_, " above this line");
  }

  // ---- errors ----

  template <class... Parts>
  [[noreturn]] void fail(const char* at, const Parts&... what) const {
    const std::string_view before(text_, static_cast<std::size_t>(at - text_));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto begin = before.rfind('\n');
    const std::size_t column = before.size() - (begin == before.npos ? 0 : begin + 1) + 1;
    throw ConfigError(out_->file, ":", line, ":", column, ": ", what...);
  }

  // Describes the text at p_ for a message.
  std::string here() const {
    if (p_ == end_) return "the file ends here";
    if (*p_ == '\n') return "the line ends here";
    const char* last = p_;
    while (last < end_ && (is_letter(*last) || is_digit(*last) || *last == '_')) last++;
    if (last > p_) return "unexpected " + shown({p_, static_cast<std::size_t>(last - p_)});
    if (static_cast<u8>(*p_) < 32 || static_cast<u8>(*p_) > 126)
      return "unexpected byte " + std::to_string(static_cast<u8>(*p_));
    return "unexpected " + shown({p_, 1});
  }
  std::string unexpected(const std::string& expected) {
    p_ = word_;
    return here() + "; expected " + expected;
  }
  static std::string range(u64 least, u64 most) { return std::to_string(least) + " .. " + std::to_string(most); }

  u32 ops_of_rank() const { return static_cast<u32>(out_->ops.size() - out_->first_op.back()); }
  u32 line_of(u32 op) const { return op < ops_of_rank() ? out_->lines[out_->first_op.back() + op] : line_; }

  const char* const text_;
  const char* const end_;  // ends with a zero, so that a character can be read before checking for the end
  const char* p_;
  const char* word_ = nullptr;
  u32 line_ = 1, rank_ = 0, ranks_ = 0;
  std::unordered_map<std::string_view, u32> labels_;  // of this rank: the operation of each label
  std::shared_ptr<GoalProgram> out_;
};

}  // namespace

std::shared_ptr<const Program> read_goal(const std::string& text, const std::string& file_name) {
  return Reader(text, file_name).read();
}

std::shared_ptr<const Program> read_goal_file(const std::string& path) {
  if (is_goal_binary(path)) return read_goal_binary(path);
  const std::string expected = "; expected a GOAL schedule", text = read_plain_file(path, path, expected, 4);
  if (text.empty()) throw ConfigError(path, ": the file is empty", expected);
  return read_goal(text, path);
}

}  // namespace flitgym::workload
