// The collectives of the motifs in Python, for readers of traces that hold collectives.
#pragma once

#include <pybind11/pybind11.h>

void bind_collectives(pybind11::module_& m);
