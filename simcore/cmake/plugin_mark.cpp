// Compiled into every plugin by flitgym_add_plugin(): which core it was built against. The core reads the line from the
// file before it loads it (src/plugins.cpp).
#include "simcore/abi.hpp"

#if defined(__FAST_MATH__)
#error "-ffast-math changes results, and those of everybody else in the process: build plugins without it"
#endif

extern "C" {

// Only a core with the same headers has this: whoever else loads the library is told by the linker, before any of it
// runs.
extern const char FLITGYM_CORE_SYMBOL;
__attribute__((visibility("default"))) extern const char flitgym_plugin_mark[];
__attribute__((visibility("default"))) extern const char* const flitgym_plugin_core;

__attribute__((used)) const char flitgym_plugin_mark[] = FLITGYM_PLUGIN_MARK FLITGYM_ABI FLITGYM_CORE_VERSION "\n";
__attribute__((used)) const char* const flitgym_plugin_core = &FLITGYM_CORE_SYMBOL;
}
