// Reads a policy from a safetensors file: eight bytes with the length of a JSON header, the header, then plain numbers.
// The format cannot contain code. A file from an untrusted source cannot make the reader leave its memory.
#include <cmath>
#include <cstring>

#include "simcore/learning.hpp"
#include "simcore/plain_file.hpp"

namespace flitgym {

namespace {

// The part of JSON that a header needs: objects, strings, whole numbers and lists of them.
class Header {
 public:
  Header(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  [[noreturn]] void fail(const std::string& what) const { throw ConfigError("policy file " + path_ + ": " + what); }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("its header is invalid: expected '") + c + "' at byte " + std::to_string(at_));
  }
  std::string word() {
    expect('"');
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (text_[at_] == '\\' && (++at_ >= text_.size() || std::string("\"\\/").find(text_[at_]) == std::string::npos))
        fail("its header has an unsupported escape sequence");
      out += text_[at_];
    }
    expect('"');
    return out;
  }
  u64 number() {
    skip_blanks();
    u64 value = 0;
    const std::size_t from = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++)
      value = value * 10 + static_cast<u64>(text_[at_] - '0');
    if (at_ == from) fail("its header is invalid: expected a number at byte " + std::to_string(from));
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
    expect('{');
    if (take('}')) return;
    do {
      const std::string key = word();
      expect(':');
      each(key);
    } while (take(','));
    expect('}');
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
  if (bytes.size() >= 8) std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8)
    throw ConfigError("policy file " + path + ": " + std::to_string(bytes.size()) +
                      " bytes; it is truncated or not a safetensors file");
  const std::string text = bytes.substr(8, length);
  const char* const data = bytes.data() + 8 + length;
  const u64 size = bytes.size() - 8 - length;

  PolicyFile policy;
  Header header(path, text);
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
      else header.fail("tensor '" + name + "' has the unknown entry '" + key + "'");
    });
    if (type != "F32") header.fail("tensor '" + name + "' has type " + type + "; expected F32");
    u64 count = 1;
    for (const u64 n : shape) count *= n;
    if (span.size() != 2 || span[0] > span[1] || span[1] > size || span[1] - span[0] != 4 * count)
      header.fail("the shape of tensor '" + name + "' does not match its number of bytes, or the file is truncated");
    std::vector<float> values((span[1] - span[0]) / 4);
    if (!values.empty()) std::memcpy(values.data(), data + span[0], span[1] - span[0]);
    for (const float x : values)
      if (!std::isfinite(x))
        header.fail("tensor '" + name + "' holds a weight that is not finite (" + std::to_string(x) + ")");
    policy.tensors[name] = {shape, values};
  });
  return policy;
}

}  // namespace flitgym
