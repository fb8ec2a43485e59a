// flitgym_add_plugin() compiles this file into every plugin. It names the core that the plugin was built for;
// src/core/plugins.cpp reads the line from the file before it loads the plugin.
#include "simcore/abi.hpp"

#if defined(__FAST_MATH__)
#error "-ffast-math changes the results of all code in the process: build plugins without it"
#endif

extern "C" {

// Only a core with the same headers defines this symbol. The dynamic linker refuses the plugin for any other core
// before its code runs.
extern const char FLITGYM_CORE_SYMBOL;
__attribute__((visibility("default"))) extern const char flitgym_plugin_mark[];
__attribute__((visibility("default"))) extern const char* const flitgym_plugin_core;

__attribute__((used)) const char flitgym_plugin_mark[] = FLITGYM_PLUGIN_MARK FLITGYM_ABI FLITGYM_CORE_VERSION "\n";
__attribute__((used)) const char* const flitgym_plugin_core = &FLITGYM_CORE_SYMBOL;
}
