// A neural network decides inside the core. It is either a trained policy from a file (`path`), or a policy in
// training, whose weights Python replaces between two calls.
#include <cstdlib>
#include <set>

#include "learning/perceptron.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

template <class... Parts>
[[noreturn]] static void fail(const std::string& path, const Parts&... what) {
  throw ConfigError("policy file ", path, ": ", what...);
}

static const PolicyFile::Tensor& tensor(const PolicyFile& file, const std::string& path, const std::string& name,
                                        std::vector<u64> shape) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) fail(path, "there is no tensor '", name, "'");
  const auto words = [](const std::vector<u64>& numbers) {
    std::string out;
    for (const u64 n : numbers) out += (out.empty() ? "" : " x ") + std::to_string(n);
    return out;
  };
  if (found->second.shape != shape)
    fail(path, "tensor '", name, "' is ", words(found->second.shape), ", but its observation and slots need ",
         words(shape));
  return found->second;
}

const std::string& metadata_of(const PolicyFile& file, const std::string& path, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) fail(path, "its metadata lacks '", key, "'; it was not written by flitgym");
  return found->second;
}

void read_layers(const PolicyFile& file, const std::string& path, u32 inputs, u32 outputs, PolicyShape& shape,
                 std::vector<float>& weights) {
  std::vector<u32> layers = {inputs};
  std::set<std::string> known;
  for (u32 l = 0;; l++) {
    const std::string layer = "layers." + std::to_string(l);
    const auto bias = file.tensors.find(layer + ".bias");
    if (bias == file.tensors.end()) break;
    if (bias->second.values.empty() || bias->second.values.size() > learning::kMostUnits)
      fail(path, "layer ", l, " has ", bias->second.values.size(), " units; valid are 1 to ", learning::kMostUnits);
    layers.push_back(static_cast<u32>(bias->second.values.size()));
    known.insert({layer + ".weight", layer + ".bias"});
  }
  if (layers.size() < 2 || layers.back() != outputs)
    fail(path, "it has ", layers.size() - 1, " layers and ", layers.back(), " outputs, but ", outputs,
         " outputs are needed");
  for (const auto& [name, values] : file.tensors)
    if (!known.contains(name))
      fail(path, "tensor '", name, "' belongs to no layer; the file has ", layers.size() - 1, " layers");
  shape_policy(shape, layers);
  weights.assign(shape.size, 0);
  for (u32 l = 0; l + 1 < layers.size(); l++) {
    const std::string name = "layers." + std::to_string(l);
    load_layer(shape, l, tensor(file, path, name + ".weight", {layers[l + 1], layers[l]}).values.data(),
               tensor(file, path, name + ".bias", {layers[l + 1]}).values.data(), weights.data());
  }
}

}  // namespace flitgym

namespace flitgym::routing::any::policy {

double number_of(const PolicyFile& file, const std::string& path, const std::string& key) {
  const std::string& text = metadata_of(file, path, key);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || text.find_first_not_of("0123456789.e+-") != std::string::npos || *end || !std::isfinite(number))
    fail(path, key, " is '", text, "'; expected a number");
  return number;
}

// Parameters of this routing that the file's metadata sets in place of the defaults.
Values parameters_of(const PolicyFile& file, const std::string& path) {
  const std::string& format = metadata_of(file, path, "format");
  if (format != "flitgym-policy-1") fail(path, "its format is '", format, "', this version reads flitgym-policy-1");
  // The observation does not depend on the topology. So a policy also runs on topologies it was not trained on, if they
  // have its relation.
  metadata_of(file, path, "topology");
  Values values;
  for (const char* key : {"slots", "flowlet_gap_ns"}) values[key] = number_of(file, path, key);
  for (const char* key : {"observation", "relation", "network", "slots_by", "allocation", "activation", "decisions"})
    values[key] = metadata_of(file, path, key);
  return values;
}

void route(const Network& net, State& s, Batch& b) {
  make_decisions(net, s, b);
  choose_by_policy(net, s, b);
  settle_decisions(net, s, b);
}

std::vector<ParamSpec> params() {
  auto specs = seam_params();
  for (ParamSpec& p : specs)
    if (p.key == "relation") p.fallback = std::string(), p.doc += "; empty = that of the policy's file, or widest";
  specs.push_back(choice("path", "", {},
                         "file of an exported policy, which then sets slots, slots_by, observation, network, "
                         "activation, decisions, flowlet_gap_ns and, unless they are given, relation and allocation"));
  specs.push_back(
      choice("network", "slots", {"slots", "flat"},
             "slots = the same network scores each slot; flat = one network sees the whole row and scores all slots"));
  specs.push_back(choice("activation", "relu", {"relu", "tanh"}, "function of the hidden units"));
  specs.push_back(integer_list("hidden", {32, 32}, 1, learning::kMostUnits, "units",
                               "size of each hidden layer; a policy file sets its own"));
  specs.push_back(choice("weights", "float32", {"float32", "8bit"},
                         "numbers of the network: float32; 8bit = whole numbers from -127 to 127, with a scale per "
                         "unit that is a power of two; the biases stay float32"));
  specs.push_back(choice("allocation", "file", {"file", "greedy", "sequential"},
                         "greedy = heads that a router routes in the same cycle see the same queues; sequential = a "
                         "router routes one head after another, and the feature asking also counts those that it has "
                         "routed before in this cycle; file = that of the policy's file, or greedy without a file"));
  specs.push_back(real("epsilon", 0, 0, 1, "", "probability of a random slot"));
  specs.push_back(
      real("temperature", 0, 0, 1e6, "",
           "a slot is drawn with a probability proportional to exp(score / temperature); 0 = the best slot"));
  return specs;
}

RoutingFacts setup(const Params& given, Network& net, std::shared_ptr<const ComponentData>&) {
  auto seam = std::make_shared<Seam>();
  seam->epsilon = given.real("epsilon");
  seam->temperature = given.real("temperature");
  const std::string& path = given.text("path");
  Values chosen;  // in place of those of the file
  if (const std::string& relation = given.text("relation"); !relation.empty()) chosen["relation"] = relation;
  if (const std::string& order = given.text("allocation"); order != "file") chosen["allocation"] = order;
  Params effective = given;
  if (!chosen.contains("relation")) effective = given.with({{"relation", std::string("widest")}});
  PolicyFile file;
  if (!path.empty()) {
    file = read_policy_file(path);
    Values stored = parameters_of(file, path);
    for (const auto& [key, value] : chosen) stored[key] = value;
    const Params valid("policy file " + path, params(), stored, net.seed);
    for (auto& [key, value] : stored) value = valid.value(key);
    // A parameter that contradicts the file would be ignored silently, so it is refused.
    const Params untouched("routing.policy", params(), {}, net.seed);
    for (const auto& [key, value] : stored)
      if (given.value(key) != untouched.value(key) && given.value(key) != value)
        throw ConfigError("routing.policy.", key, ": ", to_string(given.value(key)), ", but the policy file ", path,
                          " says ", to_string(value), "; leave it out");
    if (given.value("hidden") != untouched.value("hidden"))
      throw ConfigError("routing.policy.hidden: the policy file ", path, " has its own layers; leave it out");
    effective = given.with(stored);
    // A snapshot does not fit a policy of another shape.
    net.identity += "policy of";
    for (const auto& [key, value] : stored) net.identity += " " + key + "=" + to_string(value);
  }
  RoutingFacts facts = [&] {
    try {
      return build_seam(effective, net, seam);
    } catch (const ConfigError& error) {
      if (path.empty()) throw;
      const std::string& where = effective.text("decisions");
      throw ConfigError("policy file ", path, ", with relation=", effective.text("relation"),
                        where == "router" ? "" : " and decisions=" + where,
                        ", does not run on this network: ", error.what());
    }
  }();
  facts.sequential = effective.text("allocation") == "sequential";
  if (facts.sequential && seam->asking == kNone)
    throw ConfigError("routing.", net.routing_name,
                      ".allocation: sequential needs the observation relative, but this policy has ",
                      effective.text("observation"), "; use greedy");
  seam->policy.per_slot = effective.text("network") == "slots";
  if (effective.text("activation") == "tanh") seam->policy.activation = Activation::kTanh;
  seam->policy.eight_bit = given.text("weights") == "8bit";
  const u32 inputs = seam->policy.per_slot ? seam->general + seam->per_slot : seam->width,
            outputs = seam->policy.per_slot ? 1 : seam->slots;
  if (!path.empty()) {
    read_layers(file, path, inputs, outputs, seam->policy, seam->weights);
    for (const u32 units : seam->policy.layers) net.identity += " " + std::to_string(units);
    net.identity += '\n';
  } else {
    std::vector<u32> layers = {inputs};
    for (const u32 units : effective.counts("hidden")) layers.push_back(units);
    layers.push_back(outputs);
    shape_policy(seam->policy, layers);
  }
  return facts;
}

const Register<RoutingSpec> entry({
    .name = "policy",
    .summary = "a trained neural network decides inside the core",
    .params = params(),
    .setup = setup,
    .route = route,
    .graph = true,
    .operations = policy_operations,
});

}  // namespace flitgym::routing::any::policy
