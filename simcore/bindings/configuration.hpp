// From Python mappings to a configuration, and from the registries back to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "simcore/params.hpp"
#include "simcore/program.hpp"

// pybind11's holders want a type of their own that is not const.
struct PyProgram {
  std::shared_ptr<const flitgym::Program> program;
};

// The text of a key or a name; ConfigError where it is none.
std::string to_text(const std::string& where, const pybind11::handle& item);
flitgym::Value to_value(const std::string& where, const pybind11::handle& item);
flitgym::Section to_section(const pybind11::dict& config, const char* key, const char* default_name);
// A list of names becomes one text with commas, which is how the core reads them; what is None is left out.
flitgym::Values to_failures(const pybind11::object& given);
flitgym::Config to_config(const pybind11::object& mapping);
std::shared_ptr<const flitgym::Program> program_from_arrays(const pybind11::dict& given);
pybind11::dict registered(const std::string& kind);
// The validated configuration in the form that to_config() takes; lists of integers are lists of floats.
pybind11::dict from_config(const flitgym::Config& config);
