// Logs the course of a watched packet as text, one line per event.
#include <cstdio>

#include "core/stage/stage.hpp"

namespace flitgym {

void watch(Frame& f, Flit flit, const char* what, u32 port, u32 vc) {
  static const char* const kinds[] = {"terminal", "local", "global", "unused"};
  const Network& net = f.net;
  const Packet& p = f.s.packets[packet_of(flit)];
  char line[256];
  const char* part = (flit & kHead) && (flit & kTail) ? "packet"
                     : flit & kHead                   ? "head"
                     : flit & kTail                   ? "tail"
                                                      : "body";
  int length = std::snprintf(line, sizeof line, "%10u  %u.%u %u->%u  %s %s ", f.now, p.source, p.sequence, p.source,
                             p.destination, part, what);
  f.w.batch.log.append(line, static_cast<std::size_t>(length));
  if (net.is_nic(port)) length = std::snprintf(line, sizeof line, "terminal %u\n", port - net.router_ports);
  else
    length = std::snprintf(line, sizeof line, "router %u port %u (%s) vc %u, hops %u\n", net.router_of_port(port),
                           net.local_port(port), kinds[static_cast<int>(net.channels[port].kind)], vc, p.hops);
  f.w.batch.log.append(line, static_cast<std::size_t>(length));
}

}  // namespace flitgym
