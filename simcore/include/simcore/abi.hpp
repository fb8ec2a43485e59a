// Preprocessor constants that a plugin library and the core must have in common. They are the hash of the headers
// (version.hpp) and everything that changes the layout of standard library classes. The library and the core may use
// different compilers and different other flags, because names and calls follow the common C++ ABI.
#pragma once

#include <version>

#include "simcore/version.hpp"

#if defined(_LIBCPP_ABI_VERSION)
#define FLITGYM_STRINGIFY_(x) #x
#define FLITGYM_STRINGIFY(x) FLITGYM_STRINGIFY_(x)
#define FLITGYM_STDLIB "libc++ " FLITGYM_STRINGIFY(_LIBCPP_ABI_VERSION)
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define FLITGYM_STDLIB "libstdc++ cxx11"
#else
#define FLITGYM_STDLIB "libstdc++ before cxx11"
#endif

#if defined(_GLIBCXX_DEBUG)
#define FLITGYM_CHECKED " debug"
#elif defined(__SANITIZE_ADDRESS__)
#define FLITGYM_CHECKED " asan"
#else
#define FLITGYM_CHECKED ""
#endif

// Fields of the mark in a plugin library: FLITGYM_PLUGIN_MARK, headers, standard library, version, end of line.
#define FLITGYM_PLUGIN_MARK "flitgym-plugin|"
#define FLITGYM_ABI FLITGYM_HEADERS "|" FLITGYM_STDLIB FLITGYM_CHECKED "|"
