// A permutation: every terminal sends to one terminal and receives from one. It is drawn once, or read from a file.
//
//     # destinations of terminals 0, 1, 2 and 3
//     2, 3
//     0, 1
//
// Numbers are separated by blanks, commas or line breaks. Text after # is ignored. In a file, a terminal may send to
// itself.
#include "simcore/plain_file.hpp"
#include "simcore/text.hpp"
#include "simcore/traffic/draws.hpp"

namespace flitgym::traffic::permutation {

std::vector<u32> read(const std::string& path, const Network& net) {
  const text::Source source{path, read_plain_file(path, path, "; expected a list of destinations", 1)};
  std::vector<u32> to, line_of(net.terminals, 0), source_of(net.terminals, 0);
  const std::string expected = "; expected a permutation, that is each of 0 .. " + std::to_string(net.terminals - 1) +
                               " once, for the " + std::to_string(net.terminals) + " terminals of topology '" +
                               net.topology_name + "'";
  u32 last = 0;
  for (text::Lines lines(source.text); lines.next();) {
    const u32 line = lines.number();
    std::string_view rest = lines.line().substr(0, lines.line().find('#'));
    for (;;) {
      rest = rest.substr(std::min(rest.find_first_not_of(" \t,;"), rest.size()));
      if (rest.empty()) break;
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t,;"));
      rest.remove_prefix(word.size());
      if (to.size() == net.terminals) text::fail(source, line, "more than ", net.terminals, " destinations", expected);
      const u32 own = static_cast<u32>(to.size());
      const u32 destination = text::whole_number(source, line, "the destination of terminal " + std::to_string(own),
                                                 word, 0, net.terminals - 1);
      if (line_of[destination])
        text::fail(source, line, "terminal ", destination, " is the destination of terminal ", own,
                   " here and of terminal ", source_of[destination], " on line ", line_of[destination], expected);
      line_of[destination] = last = line;
      source_of[destination] = own;
      to.push_back(destination);
    }
  }
  if (to.size() < net.terminals) text::fail(source, last, "the list ends after ", to.size(), " destinations", expected);
  return to;
}

std::shared_ptr<const ComponentData> setup(const Params& params, const Network& net) {
  auto data = std::make_shared<Partners>();
  if (const std::string& path = params.text("file"); !path.empty()) {
    data->to = read(path, net);
    return data;
  }
  data->to.resize(net.terminals);
  std::iota(data->to.begin(), data->to.end(), 0u);
  const auto seed = params.seed("permutation_seed");
  // Sattolo's shuffle gives a single cycle, so no terminal sends to itself.
  for (u32 k = net.terminals; k > 1; k--) std::swap(data->to[k - 1], data->to[below(draw(seed, 0, k), k - 1)]);
  return data;
}

const Register<TrafficSpec> entry({
    .name = "permutation",
    .summary = "every terminal to one other terminal, drawn once or from a file",
    .params = {seed_of("the permutation", "permutation_seed"),
               choice("file", "", {},
                      "instead of a draw: a file with the destination of each terminal, in order, separated by blanks, "
                      "commas or line breaks")},
    .setup = setup,
    .destination = partner,
});

}  // namespace flitgym::traffic::permutation
