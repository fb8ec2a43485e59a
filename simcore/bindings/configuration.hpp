// Conversion of Python mappings to a configuration, and of the registries to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "simcore/params.hpp"
#include "simcore/program.hpp"

// pybind11's holder types cannot hold a const class, hence this wrapper.
struct PyProgram {
  std::shared_ptr<const flitgym::Program> program;
};

// Returns the text of a key or a name. Throws ConfigError if it is not text.
std::string to_text(const std::string& where, const pybind11::handle& item);
flitgym::Value to_value(const std::string& where, const pybind11::handle& item);
flitgym::Section to_section(const pybind11::dict& config, const char* key, const char* default_name);
// Joins a list of names to the comma-separated text that the core reads. Keys with the value None are left out.
flitgym::Values to_failures(const pybind11::object& given);
flitgym::u64 to_seed(const pybind11::object& given);  // throws ConfigError
flitgym::Config to_config(const pybind11::object& mapping);
std::shared_ptr<const flitgym::Program> program_from_arrays(const pybind11::dict& given);
pybind11::dict registered(const std::string& kind);
// The validated configuration in the form that to_config() takes; lists of integers are lists of floats.
pybind11::dict from_config(const flitgym::Config& config);
