// What the readers of network files share: the text and its lines, names, numbers, attributes, and how an error is
// told.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topology/fabric.hpp"

namespace flitgym::fabric {

struct Source {
  std::string path, text;
};

[[noreturn]] void fail(const Source& source, u32 line, const std::string& what);
std::string shown(std::string_view word);  // for a message, in quotes; a word without end is cut
std::string_view trimmed(std::string_view text);
bool starts_with_word(std::string_view line, std::string_view word);  // and no letter, digit or _ behind it

// The lines of a text, without their ends (\n, \r\n or \r).
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next();
  std::string_view line() const { return line_; }
  u32 number() const { return number_; }  // from 1 on

 private:
  std::string_view rest_, line_;
  u32 number_ = 0;
};

// Whole decimal numbers and reals; anything else, or one out of range, is refused as a wrong `what`.
u32 whole_number(const Source& source, u32 line, const std::string& what, std::string_view text, u32 least, u32 most);
double real_number(const Source& source, u32 line, const std::string& what, std::string_view text, double least,
                   double most);

// Sets what `key` names of a cable: latency_ns, bandwidth_gb_per_s or kind. An empty value says nothing.
void set_attribute(const Source& source, u32 line, Fabric::Cable& cable, std::string_view key, std::string_view value);
inline const std::vector<std::string> kCableAttributes = {"latency_ns", "bandwidth_gb_per_s", "kind"};

// A fabric that grows while its file is read.
class Builder {
 public:
  explicit Builder(const Source& source) : source_(source) {}

  u32 node(std::string_view name, u32 line);  // the node of this name, a new one where there is none
  u32 find(std::string_view name) const;      // kNone where there is none
  std::vector<std::string> names() const;     // of all nodes, for did_you_mean
  // host or switch; refused where another line says it is the other one. A default is no such line.
  void set_type(u32 node, std::string_view type, u32 line, bool is_default = false);
  bool any_type() const { return any_type_; }
  // `most`: ends that one node may have. It bounds what a short text can make of many cables.
  void add(const Fabric::Cable& cable, u32 most = kMaxRadix);

  const Source& source() const { return source_; }
  Fabric fabric;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  const Source& source_;
  std::unordered_map<std::string, u32, Hash, std::equal_to<>> ids_;
  std::vector<u32> typed_, ends_;  // of each node: the line that tells its type (0 = none does), and its cables
  bool any_type_ = false;
};

// One record per node, as `ibnetdiscover` writes and `ibsim` reads them; the words in which the two differ.
struct Records {
  std::string format;
  std::vector<std::string> hosts;                            // what the record of a host begins with
  std::vector<std::string> ignored;                          // beginnings of lines that say nothing about the cabling
  std::vector<std::pair<std::string, std::string>> refused;  // beginnings of lines, and why they cannot be read
  bool peer_port_may_lack;                                   // [1] "peer" stands for [1] "peer"[1]
};
Fabric read_records(const Source& source, const Records& words);

Fabric read_csv(const Source& source);
Fabric read_dot(const Source& source);
Fabric read_ibnetdiscover(const Source& source);
Fabric read_ibsim(const Source& source);

}  // namespace flitgym::fabric
