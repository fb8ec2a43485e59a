// Registration of components while a plugin library is being loaded; see plugins.cpp.
#pragma once

namespace flitgym {

// Holds a component back while a plugin is being loaded, until all its components have been checked. Returns false if
// no plugin is being loaded.
template <class Spec>
bool wait_for_check(Spec& spec);

}  // namespace flitgym
