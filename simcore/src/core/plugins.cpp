#include "simcore/plugins.hpp"

#include <dlfcn.h>

#include <optional>

#include "simcore/abi.hpp"
#include "simcore/kind.hpp"
#include "simcore/plain_file.hpp"

extern "C" {
extern const char FLITGYM_CORE_SYMBOL;
const char FLITGYM_CORE_SYMBOL = 0;
}

namespace flitgym {

static thread_local PluginsUsed* used = nullptr;

static std::string described(const std::string& version, const std::string& headers, const std::string& library) {
  return "flitgym " + version + " (headers " + headers + ", " + library + ")";
}

// ---- Before loading: check the mark that the build has left in the file ----

struct Mark {
  std::string headers, library, version;
};

static std::optional<Mark> mark_in(const std::string& bytes) {
  const std::string begin = FLITGYM_PLUGIN_MARK;
  for (std::size_t at = bytes.find(begin); at != std::string::npos; at = bytes.find(begin, at + 1)) {
    const std::string line = bytes.substr(at + begin.size(), bytes.substr(at + begin.size(), 400).find('\n'));
    const std::size_t first = line.find('|'), second = first == line.npos ? first : line.find('|', first + 1);
    if (second != line.npos)
      return Mark{line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
  }
  return std::nullopt;
}

constexpr const char* kOutOf = "; FLITGYM_PLUGINS=none ignores installed plugins";

static void check_file(const std::string& who, const std::string& path) {
  const std::string bytes = read_plain_file(path, who + "cannot be read", kOutOf, 1);
  if (bytes.empty()) throw ConfigError(who, "is empty", kOutOf);
  const auto mark = mark_in(bytes);
  if (!mark)
    throw ConfigError(who,
                      "is not a plugin of flitgym, because it does not name a core; build it with flitgym_add_plugin() "
                      "(docs/extending/plugins.md)",
                      kOutOf);
  const std::string own = FLITGYM_ABI;
  if (mark->headers + "|" + mark->library + "|" != own)
    throw ConfigError(who, "was built against ", described(mark->version, mark->headers, mark->library),
                      ", but this is ", core_described(), "; rebuild it for this core", kOutOf);
}

const std::string* loading = nullptr;  // name of the plugin whose library is being loaded

struct Loaded {
  Registered brought;
  std::string refused;  // reason of a refusal; its components cannot be registered a second time
};

static void load(const std::string& name, const std::string& who, const std::string& path, Loaded& library) try {
  loading = &name;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  loading = nullptr;
  if (!handle) {
    const char* const reason = dlerror();
    throw ConfigError(who, "cannot be loaded: ", reason ? reason : "for an unknown reason", kOutOf);
  }
  for (const Kind& kind : kinds())
    if (auto names = kind.check(who, name); !names.empty()) library.brought[kind.name] = std::move(names);
  if (library.brought.empty()) throw ConfigError(who, "registers nothing", kOutOf);
} catch (const ConfigError& error) {
  library.refused = error.what();
  for (const Kind& kind : kinds()) kind.forget(name);
}

const std::string* loading_plugin() { return loading; }

const Registered& load_plugin(const std::string& name, const std::string& path) {
  static std::map<std::string, Loaded> libraries;
  const std::string who = "plugin '" + name + "': " + path + " ";
  if (!libraries.contains(path)) {
    check_file(who, path);
    load(name, who, path, libraries[path]);
  }
  const Loaded& library = libraries[path];
  if (!library.refused.empty()) throw ConfigError(library.refused);
  return library.brought;
}

std::string core_described() {
  return described(FLITGYM_CORE_VERSION, FLITGYM_HEADERS, std::string(FLITGYM_STDLIB) + FLITGYM_CHECKED);
}

PluginsUsed::PluginsUsed() : outer_(used) { used = this; }
PluginsUsed::~PluginsUsed() { used = outer_; }

void note_plugin(const std::string& name) {
  if (!name.empty())
    for (PluginsUsed* scope = used; scope; scope = scope->outer_) scope->names_.insert(name);
}

}  // namespace flitgym
