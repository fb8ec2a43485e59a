// Registration lines of a library that is being loaded: see plugins.cpp.
#pragma once

namespace flitgym {

// Takes what is registered while a plugin is being loaded, until all of it has been checked; false: nobody loads.
template <class Spec>
bool wait_for_check(Spec& spec);

}  // namespace flitgym
