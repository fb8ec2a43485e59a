// Reads a policy from a safetensors file: eight bytes with the length of a JSON header, the header, then plain numbers.
// The format cannot contain code. Everything is checked, because the file may come from an untrusted source.
#include <cstring>
#include <set>

#include "simcore/learning.hpp"
#include "simcore/plain_file.hpp"

namespace flitgym {

namespace {

// The part of JSON that a header needs: objects, strings, whole numbers and lists of them.
class Header {
 public:
  Header(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... what) const {
    throw ConfigError("policy file ", path_, ": ", what...);
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail("its header is invalid: expected '", std::string(1, c), "' at byte ", at_);
  }
  std::string word() {
    expect('"');
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (static_cast<u8>(text_[at_]) < ' ') fail("its header has a control character at byte ", at_);
      if (text_[at_] == '\\' && (++at_ >= text_.size() || std::string("\"\\/").find(text_[at_]) == std::string::npos))
        fail("its header has an unsupported escape sequence");
      out += text_[at_];
    }
    expect('"');
    return out;
  }
  u64 number() {
    take(' ');
    u64 value = 0;
    const std::size_t from = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) {
      if (value > std::numeric_limits<u64>::max() / 16) fail("its header has a number that is too large");
      value = value * 10 + static_cast<u64>(text_[at_] - '0');
    }
    if (at_ == from || (text_[from] == '0' && at_ > from + 1))
      fail("its header is invalid: expected a number at byte ", from);
    return value;
  }
  std::vector<u64> numbers() {
    std::vector<u64> out;
    expect('[');
    if (take(']')) return out;
    do out.push_back(number());
    while (take(','));
    expect(']');
    return out;
  }
  template <class Each>
  void members(Each each) {
    std::set<std::string> keys;
    expect('{');
    if (take('}')) return;
    do {
      const std::string key = word();
      if (!keys.insert(key).second) fail("'", key, "' appears twice in its header");
      expect(':');
      each(key);
    } while (take(','));
    expect('}');
  }
  // Writers pad the header with blanks.
  void end() {
    skip_blanks();
    if (at_ < text_.size()) fail("its header has text after the last brace");
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  const std::string& path_;
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

PolicyFile read_policy_file(const std::string& path) {
  const std::string bytes = read_plain_file(path, "policy file " + path, "; expected a safetensors file", 3);
  u64 length = 0;
  const auto cut = [&]() -> ConfigError {
    return ConfigError("policy file ", path, ": ", bytes.size(), " bytes; it is truncated or not a safetensors file");
  };
  if (bytes.size() < 8) throw cut();
  std::memcpy(&length, bytes.data(), 8);
  if (length > bytes.size() - 8) throw cut();
  const std::string text = bytes.substr(8, length);
  const char* const data = bytes.data() + 8 + length;
  const u64 size = bytes.size() - 8 - length;

  PolicyFile policy;
  std::multimap<u64, std::pair<u64, std::string>> spans;  // begin, end and name of the tensor
  Header header(path, text);
  if (text.empty() || text[0] != '{') header.fail("its header does not begin with a brace");
  header.members([&](const std::string& name) {
    if (name == "__metadata__") {
      header.members([&](const std::string& key) { policy.metadata[key] = header.word(); });
      return;
    }
    std::string type;
    std::vector<u64> shape, span;
    header.members([&](const std::string& key) {
      if (key == "dtype") type = header.word();
      else if (key == "shape") shape = header.numbers();
      else if (key == "data_offsets") span = header.numbers();
      else header.fail("tensor '", name, "' has the unknown entry '", key, "'");
    });
    if (type != "F32") header.fail("tensor '", name, "' has type ", type, "; expected F32");
    u64 count = 1;
    for (const u64 n : shape) {
      if (n > 0 && count > (u64{1} << 32) / n) header.fail("tensor '", name, "' is too large");
      count *= n;
    }
    if (span.size() != 2 || span[0] > span[1] || span[1] - span[0] != 4 * count)
      header.fail("the shape of tensor '", name, "' does not match its number of bytes");
    if (span[1] > size) throw cut();
    if (count == 0) header.fail("tensor '", name, "' is empty");
    spans.emplace(span[0], std::pair{span[1], name});
    policy.tensors[name].shape = shape;
  });
  header.end();
  u64 end = 0;
  const auto no_gap = [&](u64 from) {
    if (end < from) header.fail("bytes ", end, " to ", from, " of its numbers belong to no tensor");
  };
  // The tensors do not overlap, so together they are no larger than the file.
  for (const auto& [from, rest] : spans) {
    no_gap(from);
    if (from < end) header.fail("the bytes of tensor '", rest.second, "' overlap those of another");
    end = rest.first;
    std::vector<float>& values = policy.tensors[rest.second].values;
    values.resize((end - from) / 4);
    std::memcpy(values.data(), data + from, end - from);
    for (const float x : values)
      if (!std::isfinite(x)) header.fail("tensor '", rest.second, "' holds a weight that is not finite (", x, ")");
  }
  no_gap(size);
  return policy;
}

}  // namespace flitgym
