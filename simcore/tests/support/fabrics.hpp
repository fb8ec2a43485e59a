// Small networks in files, and the checks of refusals.
#pragma once

#include <sstream>

#include "readers/fabric.hpp"
#include "simcore/error.hpp"
#include "support/file.hpp"

namespace fabrics {

using namespace flitgym;

inline Fabric read(const std::string& text, const std::string& format) {
  return read_fabric(File(text).path.string(), format);
}

// Expects a refusal that starts with "PATH:place: " and contains every part. `place` is a line number, or empty for the
// whole file.
inline void refused(const std::string& text, const std::string& format, const std::string& place,
                    const std::vector<std::string>& parts) {
  const File file(text);
  const std::string message = testing::thrown<ConfigError>(
      __FILE__, __LINE__, "read_fabric", [&] { read_fabric(file.path.string(), format); }, parts);
  CHECK_FOR(message.starts_with(file.path.string() + (place.empty() ? "" : ":" + place) + ": "), message);
}

inline std::string number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
inline std::string end_text(const Fabric& f, u32 node, u32 port) {
  return f.nodes[node].name + (port == kNone ? "" : ":" + std::to_string(port));
}

// The nodes and then the cables, in the order of the file.
inline std::string text(const Fabric& f) {
  std::string out;
  for (const auto& node : f.nodes) out += (out.empty() ? "" : " ") + node.name + (node.host ? "*" : "");
  for (const auto& c : f.cables) {
    out += "\n" + end_text(f, c.a, c.a_port) + " " + end_text(f, c.b, c.b_port);
    if (c.latency_ns >= 0) out += " " + number(c.latency_ns) + " ns";
    if (c.bandwidth_gb_per_s >= 0) out += " " + number(c.bandwidth_gb_per_s) + " GB/s";
    if (!c.kind.empty()) out += " " + c.kind;
  }
  return out;
}

// Two switches with two cables between them and three hosts.
inline const char* const kCsv =
    "a,b,a_port,b_port,a_type,b_type\ns1,h2,0,0,switch,host\ns1,s0,2,2,switch,switch\ns1,s0,3,3,,\n"
    "s0,h0,0,0,switch,host\ns0,h1,1,0,,host\n";

}  // namespace fabrics
