// Reads a policy from a safetensors file: eight bytes with the length of a JSON header, the header, then plain numbers.
// Nothing in such a file can run. Everything is checked, for it may come from a stranger.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/limits.hpp"

namespace flitgym {

namespace {

// As much of JSON as a header has: objects, strings, whole numbers and lists of them.
class Header {
 public:
  Header(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  [[noreturn]] void fail(const std::string& what) const { throw ConfigError("policy file " + path_ + ": " + what); }
  bool take(char c) {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_])) at_++;
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("its header is broken: no '") + c + "' at byte " + std::to_string(at_));
  }
  std::string word() {
    expect('"');
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (text_[at_] == '\\') {
        if (++at_ >= text_.size() || !std::strchr("\"\\/", text_[at_]))
          fail("its header has an escape that no policy needs");
      }
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
      if (value > std::numeric_limits<u64>::max() / 16) fail("its header has a number beyond all sizes");
      value = value * 10 + static_cast<u64>(text_[at_] - '0');
    }
    if (at_ == from) fail("its header is broken: no number at byte " + std::to_string(at_));
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
  const std::string& path_;
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

PolicyFile read_policy_file(const std::string& path) {
  std::error_code none;
  // A device or a pipe may never come to an end.
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw ConfigError("policy file " + path + ": it is no plain file and cannot be read");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file) throw ConfigError("policy file " + path + ": it cannot be read");
  const auto whole = std::filesystem::file_size(path, none);
  if (!none) claim_memory(3 * u64{whole}, "policy file " + path, "its " + std::to_string(whole) + " bytes");
  content << file.rdbuf();
  const std::string bytes = content.str();
  u64 length = 0;
  const auto cut = [&]() -> ConfigError {
    return ConfigError("policy file " + path + ": " + std::to_string(bytes.size()) +
                       " bytes are no safetensors file, or one that is cut short");
  };
  if (bytes.size() < 8) throw cut();
  std::memcpy(&length, bytes.data(), 8);
  if (length > bytes.size() - 8) throw cut();
  const std::string text = bytes.substr(8, length);
  const char* const data = bytes.data() + 8 + length;
  const u64 size = bytes.size() - 8 - length;

  PolicyFile policy;
  std::map<u64, std::pair<u64, std::string>> spans;  // from, to and whose
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
    if (type != "F32") header.fail("tensor '" + name + "' is of type " + type + ", the core reads F32");
    u64 count = 1;
    for (const u64 n : shape) {
      if (n > 0 && count > (u64{1} << 32) / n) header.fail("tensor '" + name + "' is too large");
      count *= n;
    }
    if (span.size() != 2 || span[0] > span[1] || span[1] - span[0] != 4 * count)
      header.fail("the shape of tensor '" + name + "' does not fit its bytes");
    if (span[1] > size) throw cut();
    if (count > 0 && !spans.emplace(span[0], std::pair{span[1], name}).second)
      header.fail("the bytes of tensor '" + name + "' overlap those of another");
    if (!policy.tensors.try_emplace(name, PolicyFile::Tensor{shape, {}}).second)
      header.fail("tensor '" + name + "' stands there twice");
  });
  u64 end = 0;
  for (const auto& [from, rest] : spans) {
    if (from < end) header.fail("the bytes of tensor '" + rest.second + "' overlap those of another");
    end = rest.first;
  }
  // No byte belongs to two of them, so all of them together are no larger than the file.
  for (const auto& [from, rest] : spans) {
    PolicyFile::Tensor& tensor = policy.tensors[rest.second];
    tensor.values.resize((rest.first - from) / 4);
    std::memcpy(tensor.values.data(), data + from, rest.first - from);
    for (const float x : tensor.values)
      if (!std::isfinite(x))
        header.fail("tensor '" + rest.second + "' holds a weight that is not finite (" + std::to_string(x) + ")");
  }
  return policy;
}

}  // namespace flitgym
