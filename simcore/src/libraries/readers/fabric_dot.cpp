// GraphViz (the DOT language), also as in the network files of ORCS and LogGOPSim:
//
//     graph { node [type=switch]; s0; s1 [ports=36]; node [type=host]; h0; h1
//             h0 -- s0:0; h1 -- s1:0; s0:1 -- s1:1 [kind=global, latency_ns=100] }
//
//   graph      an edge is a cable; several edges between the same nodes are parallel cables
//   digraph    every cable appears in both directions, or every cable in one direction; a mixture is refused
//   NODE:PORT  port, counted from 0 as in results, also with a p before it (p0); compass points are ignored. Other
//              words name ports ("leaf1":"swp51"), which are numbered from 0 in the order of the file
//   nodes      attributes type (host or switch) and ports (their number). If no node of the file has a type, the nodes
//              named H or h and a number (H12) are hosts, as in the files of ORCS and Mininet; all others are switches
//   edges      attributes latency_ns, bandwidth_gb_per_s and kind (local or global), as in fabric_csv.cpp
//
// Defaults (node [...], edge [...]), subgraphs (also as ends of edges) and all forms of names are read as GraphViz
// reads them. Other attributes are ignored, such as the destinations that ORCS keeps in `comment`.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "readers/fabric_reader.hpp"
#include "simcore/error.hpp"
#include "simcore/limits.hpp"

namespace flitgym::fabric {

namespace {

struct Token {
  enum class Kind { kEnd, kName, kMark, kEdge } kind = Kind::kEnd;
  std::string text;     // a name without its quotes, or the characters of another token
  bool quoted = false;  // a quoted name is not a keyword
  u32 line = 1;

  bool is(std::string_view mark) const { return kind != Kind::kName && text == mark; }
  bool keyword(std::string_view word) const {  // case-insensitive
    return kind == Kind::kName && !quoted && text.size() == word.size() &&
           std::equal(text.begin(), text.end(), word.begin(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
  }
};

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text) {}

  Token next() {
    blanks();
    Token out;
    out.line = line_;
    const char c = at(0);
    worked(16);
    if (at_ >= text_.size()) return out;
    const bool minus_number = c == '-' && (is_digit(at(1)) || (at(1) == '.' && is_digit(at(2))));
    if (c == '"') {
      out.kind = Token::Kind::kName, out.quoted = true, out.text = quoted_string();
    } else if (c == '<') {
      out.kind = Token::Kind::kName, out.quoted = true, out.text = html_string();
    } else if (is_letter(c)) {
      out.kind = Token::Kind::kName;
      while (is_letter(at(0)) || is_digit(at(0))) out.text += text_[at_++];
    } else if (is_digit(c) || minus_number || (c == '.' && is_digit(at(1)))) {
      out.kind = Token::Kind::kName;
      bool point = false;
      for (; is_digit(at(0)) || (at(0) == '.' && !point) || (at(0) == '-' && out.text.empty()); at_++)
        point |= at(0) == '.', out.text += at(0);
      if (is_letter(at(0)))
        fail(line_, shown(out.text + at(0)) + "... begins with a digit; expected double quotes around such a name");
    } else if (c == '-' && (at(1) == '-' || at(1) == '>')) {
      out.kind = Token::Kind::kEdge, out.text = text_.substr(at_, 2);
      at_ += 2;
    } else if (std::string_view("{}[]:;,=").find(c) != std::string_view::npos) {
      out.kind = Token::Kind::kMark, out.text = c;
      at_++;
    } else {
      fail(line_, "unexpected " + shown(text_.substr(at_, 1)) + "; expected a name, an edge or one of { } [ ] : ; , =");
    }
    return out;
  }

 private:
  [[noreturn]] void fail(u32 line, const std::string& what) const { fabric::fail(source_, line, what); }
  char at(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<u8>(c) >= 0x80;
  }

  // Skips blanks and comments: //, /* */ and lines that begin with #, as for the C preprocessor.
  void blanks() {
    for (; at_ < text_.size(); at_++) {
      const char c = text_[at_];
      if (c == '\n') line_++;
      else if (c == '/' && at(1) == '*') block_comment();
      else if ((c == '/' && at(1) == '/') || (c == '#' && (at_ == 0 || text_[at_ - 1] == '\n')))
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      else if (c != ' ' && c != '\t' && c != '\r' && c != '\f') return;
    }
  }
  void block_comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == text_.npos) fail(line_, "the comment is not closed; expected */");
    line_ += lines_in(at_, end);
    at_ = end + 1;
  }
  u32 lines_in(std::size_t from, std::size_t to) const {
    return static_cast<u32>(std::count(text_.begin() + std::ptrdiff_t(from), text_.begin() + std::ptrdiff_t(to), '\n'));
  }

  // Reads "...". In it \" is a quote, and \ at the end of a line joins it with the next line. A + joins two strings.
  std::string quoted_string() {
    std::string out;
    for (;;) {
      const u32 begin = line_;
      for (at_++;; at_++) {
        if (at_ >= text_.size()) fail(begin, "the string that begins here is not closed; expected a double quote");
        const char c = text_[at_];
        if (c == '"') break;
        line_ += c == '\n';
        if (c == '\\' && at(1) == '"') out += text_[++at_];
        else if (c == '\\' && at(1) == '\n') at_++, line_++;
        else out += c;
      }
      at_++;
      const auto [back, back_line] = std::pair(at_, line_);
      if (blanks(); at(0) == '+') {
        at_++;
        if (blanks(); at(0) != '"') fail(line_, "no string after +; expected one in double quotes");
        continue;
      }
      at_ = back, line_ = back_line;
      return out;
    }
  }
  std::string html_string() {
    const std::size_t begin = at_;
    u32 depth = 0;
    do {
      if (at_ >= text_.size())
        fail(line_ - lines_in(begin, text_.size()), "the HTML string that begins here is not closed; expected >");
      const char c = text_[at_++];
      line_ += c == '\n';
      depth += c == '<' ? 1 : c == '>' ? ~u32{0} : 0;
    } while (depth > 0);
    return std::string(text_.substr(begin, at_ - begin));
  }

  const Source& source_;
  const std::string_view text_;
  std::size_t at_ = 0;
  u32 line_ = 1;
};

struct Attribute {
  std::string key, value;
  u32 line;
};
using Attributes = std::vector<Attribute>;

const std::vector<std::string> kNodeAttributes = {"type", "ports"};
constexpr u32 kDeepest = 64;  // subgraphs in subgraphs

class DotReader {
 public:
  explicit DotReader(const Source& source) : source_(source), lexer_(source), out_(source) { advance(); }

  Fabric read() {
    if (token_.keyword("strict")) strict_ = true, advance();
    directed_ = token_.keyword("digraph");
    if (!directed_ && !token_.keyword("graph")) fail(token_.line, here() + "; expected graph or digraph");
    advance();
    if (token_.kind == Token::Kind::kName) advance();
    Members none;
    read_body({}, 0, none);
    if (token_.kind != Token::Kind::kEnd) fail(token_.line, here() + " after the graph; expected the end of the file");
    join_directions();
    const bool by_name = !out_.any_type() && take_hosts_by_name();
    check_fabric(
        out_.fabric, source_.path,
        by_name ? " (taken for a host because its name is H and a number, and no node of this file has a type)" : "");
    return std::move(out_.fabric);
  }

 private:
  struct End {
    u32 node, port = kNone;
  };
  using Members = std::vector<End>;
  // Default attributes of new nodes and edges in the present scope.
  struct Defaults {
    Attributes node;  // at most one of each key
    Fabric::Cable edge;
  };

  [[noreturn]] void fail(u32 line, const std::string& what) const { fabric::fail(source_, line, what); }

  // ---- the grammar ----

  void advance() { token_ = lexer_.next(); }
  bool take(std::string_view mark) { return token_.is(mark) && (advance(), true); }
  void expect(std::string_view mark) {
    if (!take(mark)) fail(token_.line, here() + "; expected " + std::string(mark));
  }
  std::string here() const {
    return token_.kind == Token::Kind::kEnd ? "the file ends here" : "unexpected " + shown(token_.text);
  }
  std::string name(const char* what) {
    if (token_.kind != Token::Kind::kName) fail(token_.line, here() + "; expected " + what);
    std::string text = std::move(token_.text);
    advance();
    return text;
  }

  // Reads the statements between { and }; their nodes go to `members`.
  void read_body(Defaults defaults, u32 depth, Members& members) {
    if (depth > kDeepest) fail(token_.line, "subgraphs are nested more than " + std::to_string(kDeepest) + " deep");
    const u32 begin = token_.line;
    expect("{");
    while (!take("}")) {
      if (token_.kind == Token::Kind::kEnd)
        fail(token_.line, "the file ends here; expected } for the { of line " + std::to_string(begin));
      read_statement(defaults, depth, members);
      take(";");
    }
    // A subgraph contains a node once.
    std::sort(members.begin(), members.end(),
              [](const End& a, const End& b) { return std::pair(a.node, a.port) < std::pair(b.node, b.port); });
    members.erase(
        std::unique(members.begin(), members.end(), [](const End& a, const End& b) { return a.node == b.node; }),
        members.end());
  }

  void read_statement(Defaults& defaults, u32 depth, Members& members) {
    for (const char* const word : {"graph", "node", "edge"})
      if (token_.keyword(word)) {
        advance();
        const Attributes given = read_attributes();
        if (word[0] == 'e') set(defaults.edge, given);
        if (word[0] == 'n') set(defaults.node, given);
        return;
      }
    const Token first = token_;
    std::vector<Members> chain(1);
    std::vector<u32> lines;
    if (read_end(defaults, depth, chain[0])) return;  // ID = ID: an attribute of the graph
    const bool one_node = chain[0].size() == 1 && first.kind == Token::Kind::kName && !first.keyword("subgraph");
    while (token_.kind == Token::Kind::kEdge) {
      if (token_.is("->") != directed_)
        fail(token_.line, here() + (directed_ ? " in a digraph; expected ->" : " in a graph; expected --"));
      lines.push_back(token_.line);
      advance();
      if (read_end(defaults, depth, chain.emplace_back()))
        fail(lines.back(), "an edge to an assignment; expected a node or a subgraph");
    }
    const Attributes given = read_attributes();
    if (lines.empty()) {
      if (!one_node && !given.empty())
        fail(given[0].line, "attributes after a subgraph; expected them after a node or an edge");
      if (one_node) describe(chain[0][0].node, given, false);
    }
    Fabric::Cable cable = defaults.edge;
    if (!lines.empty()) set(cable, given);
    for (std::size_t k = 0; k < lines.size(); k++)
      for (const End& a : chain[k])
        for (const End& b : chain[k + 1]) {
          cable.a = a.node, cable.a_port = a.port, cable.b = b.node, cable.b_port = b.port, cable.line = lines[k];
          // A digraph may list each cable twice.
          out_.add(cable, directed_ ? 2 * kMaxRadix : kMaxRadix);
        }
    // The ports of an edge belong to that edge alone.
    if (depth > 0)
      for (const Members& ends : chain)
        for (const End& end : ends) members.push_back({end.node, lines.empty() ? end.port : kNone});
  }

  // Reads a node or a subgraph. True if it is an assignment instead, which is skipped.
  bool read_end(const Defaults& defaults, u32 depth, Members& ends) {
    if (token_.keyword("subgraph")) {
      advance();
      if (token_.kind == Token::Kind::kName) advance();
      read_body(defaults, depth + 1, ends);
      return false;
    }
    if (token_.is("{")) {
      read_body(defaults, depth + 1, ends);
      return false;
    }
    const u32 line = token_.line;
    const std::string called = name("a node, an edge, a subgraph or }");
    if (take("=")) {
      name("a value");
      return true;
    }
    const std::size_t known = out_.fabric.nodes.size();
    End end{out_.node(called, line)};
    if (out_.fabric.nodes.size() > known) describe(end.node, defaults.node, true);
    if (take(":")) {
      end.port = port_number(end.node, line);
      if (take(":")) name("a compass point");
    }
    ends.push_back(end);
    return false;
  }

  u32 port_number(u32 node, u32 line) {
    const std::string text = name("a port");
    for (const char* const point : {"n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"})
      if (text == point) return kNone;
    const std::size_t from = text.size() > 1 && (text[0] == 'p' || text[0] == 'P') ? 1 : 0;
    if (text.size() > from && text.find_first_not_of("0123456789", from) == text.npos)
      return whole_number(source_, line, "a port of " + shown(out_.fabric.nodes[node].name),
                          std::string_view(text).substr(from), 0, kMaxRadix - 1);
    std::map<std::string, u32>& named = port_names_[node];
    return named.try_emplace(text, static_cast<u32>(named.size())).first->second;
  }

  Attributes read_attributes() {
    Attributes out;
    while (take("["))
      while (!take("]")) {
        const u32 line = token_.line;
        std::string key = name("an attribute or ]");
        expect("=");
        out.push_back({std::move(key), name("a value"), line});
        if (!take(",")) take(";");
      }
    return out;
  }

  // ---- the meaning of attributes and edges ----

  // Is the attribute one of `ours`? GraphViz has hundreds of other attributes, which are ignored. A misspelt latency or
  // bandwidth is an error.
  bool is_ours(const Attribute& attribute, const std::vector<std::string>& ours) const {
    if (std::find(ours.begin(), ours.end(), attribute.key) != ours.end()) return true;
    if (attribute.key.rfind("latency", 0) == 0 || attribute.key.rfind("bandwidth", 0) == 0)
      fail(attribute.line,
           "unknown attribute " + shown(attribute.key) + did_you_mean(attribute.key, kCableAttributes) + "; expected " +
               (&ours == &kNodeAttributes ? "type or ports at a node" : join(kCableAttributes) + " at an edge"));
    return false;
  }

  void set(Fabric::Cable& cable, const Attributes& attributes) const {
    for (const Attribute& attribute : attributes)
      if (is_ours(attribute, kCableAttributes))
        set_attribute(source_, attribute.line, cable, attribute.key, attribute.value);
  }
  void set(Attributes& defaults, const Attributes& attributes) const {
    for (const Attribute& attribute : attributes)
      if (is_ours(attribute, kNodeAttributes)) {
        std::erase_if(defaults, [&](const Attribute& other) { return other.key == attribute.key; });
        defaults.push_back(attribute);
      }
  }
  void describe(u32 node, const Attributes& attributes, bool defaults) {
    for (const Attribute& attribute : attributes)
      if (is_ours(attribute, kNodeAttributes)) {
        if (attribute.key == "type") out_.set_type(node, attribute.value, attribute.line, defaults);
        else
          out_.fabric.nodes[node].ports =
              whole_number(source_, attribute.line, "the ports of " + shown(out_.fabric.nodes[node].name),
                           attribute.value, 1, kMaxRadix);
      }
  }

  bool take_hosts_by_name() {
    bool any = false;
    for (Fabric::Node& node : out_.fabric.nodes) {
      const std::string& text = node.name;
      node.host =
          text.size() > 1 && (text[0] == 'H' || text[0] == 'h') && text.find_first_not_of("0123456789", 1) == text.npos;
      any |= node.host;
    }
    return any;
  }

  // Merges two edges, there and back, into one cable. If no edge of the file has an edge back, every edge is a cable.
  void join_directions() {
    std::vector<Fabric::Cable>& edges = out_.fabric.cables;
    const u32 count = static_cast<u32>(edges.size());
    claim_memory(128 * u64{count}, source_.path, std::to_string(count) + " edges in order");
    worked(128 * u64{count});
    const auto text = [&](u32 k) {
      const auto end = [&](u32 node, u32 port) {
        return shown(out_.fabric.nodes[node].name) + (port == kNone ? "" : " port " + std::to_string(port));
      };
      return end(edges[k].a, edges[k].a_port) + (directed_ ? " -> " : " -- ") + end(edges[k].b, edges[k].b_port);
    };
    std::map<std::pair<u32, u32>, u32> first;  // edge between two nodes
    const auto first_of = [&](u32 k, bool of_direction) {
      const u32 a = edges[k].a, b = edges[k].b;
      return first.try_emplace(of_direction || a < b ? std::pair(a, b) : std::pair(b, a), k).first->second;
    };
    for (u32 k = 0; strict_ && k < count; k++)
      if (const u32 one = first_of(k, directed_); one != k)
        fail(edges[k].line,
             text(k) + " appears twice (also on line " + std::to_string(edges[one].line) +
                 "), but the graph is strict; expected no parallel cables, or a graph without the word strict");
    if (!directed_) return;

    std::map<std::array<u32, 4>, std::vector<u32>> open;  // edges without an edge back, by their nodes and ports
    std::vector<u32> back(count, kNone);
    u32 both = kNone;  // the first edge of a pair
    for (u32 k = 0; k < count; k++) {
      const Fabric::Cable& c = edges[k];
      if (c.a == c.b) continue;
      std::vector<u32>& others = open[{c.b, c.b_port, c.a, c.a_port}];
      if (others.empty()) {
        open[{c.a, c.a_port, c.b, c.b_port}].push_back(k);
        continue;
      }
      back[k] = others.front();
      back[back[k]] = k;
      both = std::min(both, back[k]);
      others.erase(others.begin());
    }
    first.clear();
    u32 kept = 0;
    for (u32 k = 0; k < count; k++) {
      // If the file has one edge per cable, edges there and back between two nodes are most likely one cable whose
      // ports do not agree.
      const u32 one = both == kNone ? first_of(k, false) : k;
      if ((edges[one].a < edges[one].b) != (edges[k].a < edges[k].b))
        fail(edges[k].line, text(k) + " leads back on other ports than " + text(one) + " (line " +
                                std::to_string(edges[one].line) + "); expected the same two ports");
      if (both != kNone && back[k] == kNone && edges[k].a != edges[k].b)
        fail(edges[k].line, text(k) + " has no edge back, but " + text(both) + " (line " +
                                std::to_string(edges[both].line) +
                                ") has one; expected every cable in both directions, or every cable in one direction");
    }
    for (u32 k = 0; k < count; k++) {
      if (back[k] != kNone && back[k] < k) continue;
      Fabric::Cable cable = edges[k];
      if (back[k] != kNone) agree(cable, edges[back[k]], text(k));
      edges[kept++] = cable;
    }
    edges.resize(kept);
  }

  void agree(Fabric::Cable& cable, const Fabric::Cable& back, const std::string& text) const {
    const auto merge = [&](auto& mine, const auto& other, const auto& none, const char* what) {
      if (mine != none && other != none && mine != other)
        fail(back.line, text + " has another " + what + " in this direction than on line " +
                            std::to_string(cable.line) + "; expected the same value, or only one of the two");
      if (mine == none) mine = other;
    };
    merge(cable.latency_ns, back.latency_ns, -1.0, "latency_ns");
    merge(cable.bandwidth_gb_per_s, back.bandwidth_gb_per_s, -1.0, "bandwidth_gb_per_s");
    merge(cable.kind, back.kind, std::string(), "kind");
  }

  const Source& source_;
  Lexer lexer_;
  Token token_;
  Builder out_;
  std::map<u32, std::map<std::string, u32>> port_names_;  // [node][name]: port
  bool strict_ = false, directed_ = false;
};

}  // namespace

Fabric read_dot(const Source& source) { return DotReader(source).read(); }

}  // namespace flitgym::fabric
