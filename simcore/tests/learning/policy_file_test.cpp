// Policies from files: a valid file decides like the same weights set by hand, and a broken file is refused.

#include "support/fabrics.hpp"
#include "support/fuzz.hpp"
#include "support/seam.hpp"

namespace learning_policy_file_test {

using namespace scenes;

struct Tensor {
  std::string name, type;
  std::vector<u64> shape;
  std::vector<float> values;
  u64 from = ~u64{0}, to = 0;  // data offsets to write; ~0: the true ones
};
using Metadata = std::map<std::string, std::string>;

std::string safetensors(const Metadata& metadata, const std::vector<Tensor>& tensors) {
  std::string header = "{\"__metadata__\":{", data;
  for (const auto& [key, value] : metadata)
    header += (header.back() == '{' ? "\"" : ",\"") + key + "\":\"" + value + "\"";
  header += "}";
  for (const Tensor& t : tensors) {
    const u64 from = data.size();
    data.append(reinterpret_cast<const char*>(t.values.data()), t.values.size() * sizeof(float));
    header += ",\"" + t.name + "\":{\"dtype\":\"" + t.type + "\",\"shape\":[";
    for (std::size_t k = 0; k < t.shape.size(); k++) header += (k ? "," : "") + std::to_string(t.shape[k]);
    header += "],\"data_offsets\":[" + std::to_string(t.from == ~u64{0} ? from : t.from) + "," +
              std::to_string(t.from == ~u64{0} ? data.size() : t.to) + "]}";
  }
  header += "}";
  while (header.size() % 8) header += ' ';
  const u64 length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

const Metadata kMetadata = {
    {"format", "flitgym-policy-1"}, {"topology", "dragonfly"}, {"observation", "progress+path"}, {"slots", "4"},
    {"slots_by", "random"},         {"allocation", "greedy"},  {"relation", "five_hop"},         {"network", "slots"},
    {"activation", "relu"},         {"decisions", "router"},   {"flowlet_gap_ns", "0.0"}};

std::vector<Tensor> tensors_of(const Weights& weights) {
  std::vector<Tensor> out;
  for (std::size_t l = 0; l + 1 < weights.layers.size(); l++) {
    out.push_back({"layers." + std::to_string(l) + ".weight",
                   "F32",
                   {weights.layers[l + 1], weights.layers[l]},
                   weights.weight[l]});
    out.push_back({"layers." + std::to_string(l) + ".bias", "F32", {weights.layers[l + 1]}, weights.bias[l]});
  }
  return out;
}
// progress has 3 features, path has 2 and 4 per slot.
Weights exported() { return Weights({3 + 2 + 4, 6, 1}, 12); }

struct File : fabrics::File {
  explicit File(const std::string& bytes = "") : fabrics::File(bytes) {}
  Config config(const Values& more = {}, const Section& topology = dragonfly_section(1, 2, 1, 3)) const {
    return scenes::config(topology, input_queued(), {"policy", merge({{"path", path.string()}}, more)},
                          {"uniform", {{"load", 0.8}}});
  }
  std::shared_ptr<const Network> build(const Values& more = {}) const { return flitgym::build(config(more)); }
};

void refused(const std::string& bytes, const std::vector<std::string>& parts) {
  const File file(bytes);
  testing::thrown<ConfigError>(__FILE__, __LINE__, "build", [&] { file.build(); }, parts);
}

Metadata but(const std::string& key, const std::string& value) {
  Metadata metadata = kMetadata;
  metadata[key] = value;
  return metadata;
}

// The policy of a file decides like the same weights set by hand.
TEST(policy_file_is_loaded) {
  for (const std::string network : {"slots", "flat"}) {
    const Weights weights(network == "flat" ? Layers{5 + 4 * 4, 11, 4} : Layers{9, 6, 1}, 12);
    const File file(safetensors(but("network", network), tensors_of(weights)));
    const PolicyFile read = read_policy_file(file.path.string());
    CHECK(read.metadata == but("network", network));
    CHECK(read.tensors.at("layers.0.weight").values == weights.weight[0] &&
          read.tensors.at("layers.1.bias").values == weights.bias[1]);

    CHECK_THROWS(ConfigError, file.build({{"slots", 7}}), "slots", "7", "says 4", "leave it out");
    CHECK_THROWS(ConfigError, file.build({{"hidden", std::vector<double>{5}}}), "hidden", "leave it out");
    Simulation from_file(file.config({{"slots", 4}, {"epsilon", 0.1}}));
    const Seam& seam = *from_file.network().seam;
    CHECK(seam.slots == 4 && seam.general == 5 && seam.per_slot == 4 &&
          from_file.network().routing_facts.max_hops == 5);
    std::vector<double> hidden = {static_cast<double>(weights.layers[1])};
    Simulation by_hand(
        config(dragonfly_section(1, 2, 1, 3), input_queued(),
               policy(network, hidden,
                      {{"slots", 4}, {"observation", "progress+path"}, {"relation", "five_hop"}, {"epsilon", 0.1}}),
               {"uniform", {{"load", 0.8}}}));
    weights.load(by_hand.network(), by_hand.state());
    CHECK(from_file.state().weights == by_hand.state().weights);
    from_file.run(600);
    by_hand.run(600);
    CHECK(from_file.state().part.learning.decisions > 100);
    CHECK_EQ(from_file.hash(), by_hand.hash());
  }
  const File anywhere(safetensors(but("topology", "any"), tensors_of(exported())));
  anywhere.build();
  const File sequential(safetensors(but("allocation", "sequential"), tensors_of(exported())));
  CHECK_THROWS(ConfigError, sequential.build(), "allocation: sequential needs the observation relative");
  CHECK(!sequential.build({{"allocation", "greedy"}})->routing_facts.sequential);
}

TEST(broken_policy_files_are_refused) {
  const auto whole = tensors_of(exported());
  const std::string good = safetensors(kMetadata, whole);
  File(good).build();
  refused(good.substr(0, good.size() - 1), {"truncated"});

  const auto with = [&](auto&& change) {
    auto tensors = whole;
    change(tensors);
    return safetensors(kMetadata, tensors);
  };
  refused(with([](auto& t) { t[1].type = "F16"; }), {"layers.0.bias", "F32"});
  refused(with([](auto& t) { t[0].shape = {9, 6}; }), {"layers.0.weight", "9 x 6", "6 x 9"});
  refused(with([](auto& t) { t[2].values[3] = std::numeric_limits<float>::quiet_NaN(); }),
          {"layers.1.weight", "not finite"});
  refused(with([](auto& t) { t[1].from = 0, t[1].to = 24; }), {"layers.0.bias", "overlap"});
  refused(with([](auto& t) { t[3].from = 8, t[3].to = 4; }), {"layers.1.bias", "does not match its number of bytes"});
  refused(good + '\0', {"bytes 268 to 269"});
  refused(with([](auto& t) { t.push_back({"foreign", "F32", {1}, {0}}); }), {"'foreign'", "layer"});
  refused(with([](auto& t) { t.push_back(t[1]); }), {"'layers.0.bias'", "twice"});
  refused(with([](auto& t) { t.pop_back(); }), {"1 layers", "6 outputs", "1 outputs are needed"});
  refused(safetensors(kMetadata, tensors_of(Weights({10, 6, 1}, 1))), {"layers.0.weight", "6 x 10", "6 x 9"});

  for (const auto& [key, value] : kMetadata) {
    Metadata metadata = kMetadata;
    metadata.erase(key);
    refused(safetensors(metadata, whole), {"'" + key + "'"});
  }
  refused(safetensors(but("format", "flitgym-policy-4"), whole), {"flitgym-policy-4", "reads flitgym-policy-1"});
  refused(safetensors(but("activation", "tan"), whole), {"activation", "tan", "relu, tanh"});
  CHECK_THROWS(ConfigError, read_policy_file("/nowhere/at/all"), "/nowhere/at/all", "No such file");
}

// The file may have changed by the time a snapshot is restored.
TEST(snapshot_of_another_policy_is_refused) {
  const File file(safetensors(kMetadata, tensors_of(exported())));
  Simulation one(file.config({{"record", 32}}));
  one.run(200);
  const std::string bytes = one.snapshot();
  for (const auto& [metadata, layers] : {std::pair{kMetadata, Layers{9, 21, 1}},
                                         {but("slots", "5"), Layers{9, 6, 1}},
                                         {but("observation", "router+path"), Layers{9, 6, 1}}}) {
    file.write(safetensors(metadata, tensors_of(Weights(layers, 12))));
    Simulation other(file.config({{"record", 32}}));
    CHECK_THROWS(ConfigError, other.restore(bytes), "another");
  }
  file.write(safetensors(kMetadata, tensors_of(exported())));
  Simulation same(file.config({{"record", 32}}));
  same.restore(bytes);
  CHECK_EQ(same.hash(), one.hash());
}

// An untrusted file is refused or read, and a policy that is read runs.
DEEP_TEST(fuzz_policy_file) {
  const std::vector<std::string> corpus = {
      safetensors(kMetadata, tensors_of(exported())),
      safetensors({}, {{"x", "F32", {2, 2}, {1, 2, 3, 4}}, {"y", "F32", {1}, {5}}})};
  const std::vector<std::string> words = {"{", "]", ",", "\"", "\\", "\"shape\":[", "18446744073709551615", "\xff\xfe"};
  const File file;
  testing::fuzz(corpus, words, 1500, [&](const std::string& bytes) {
    file.write(bytes);
    read_policy_file(file.path.string());
    try {
      Simulation sim(file.config());
      sim.run(100);
    } catch (const ConfigError& error) {
      if (bytes == corpus[0]) throw;
      CHECK(std::string(error.what()).find("olicy") != std::string::npos);
    }
  });
}

}  // namespace learning_policy_file_test
