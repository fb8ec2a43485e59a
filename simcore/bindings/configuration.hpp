// Conversion of Python mappings to a configuration and back, and of the registries to Python.
#pragma once

#include "bindings.hpp"

// Returns the text of a key or a name. Throws ConfigError if it is not text.
std::string to_text(const std::string& where, const py::handle& item);
// The parameters of a mapping. `where` begins messages and names of keys.
Values to_values(const std::string& where, const py::handle& given);
u64 to_seed(const py::object& given);
Config to_config(const py::object& given);
// The configuration of a network alone.
Config to_network(const py::object& topology, const py::object& failures, const py::object& seed);
py::dict registered(const std::string& kind);
// The validated configuration in the form that to_config() takes; lists of integers are lists of floats.
py::dict from_config(const Config& config);
py::object from_value(const Value& value);
