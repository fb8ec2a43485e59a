// Python can create an object without initialising it: `Simulation.__new__(Simulation)`. Bound functions take `Live<T>`
// instead of `T&`, which refuses such objects.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "simcore/error.hpp"

inline bool is_built(const pybind11::handle& object) {
  auto* const instance = reinterpret_cast<pybind11::detail::instance*>(object.ptr());
  return instance->get_value_and_holder().holder_constructed();
}

inline flitgym::CoreError never_built(const std::string& where) {
  return flitgym::CoreError(where + ": this object was never initialised (__new__ without __init__)");
}

// The C++ object of a Python object. `where` names it in messages.
template <class T>
T& built(const pybind11::handle& item, const std::string& where) {
  if (!pybind11::isinstance<T>(item)) {
    const std::string type = pybind11::str(pybind11::type::of(item).attr("__name__"));
    std::string shown = pybind11::repr(item);
    if (shown.size() > 80) shown = shown.substr(0, 77) + "...";
    throw flitgym::ConfigError(where + ": " + shown + " is of type " + type + ", not " +
                               pybind11::type::of<T>().attr("__name__").template cast<std::string>());
  }
  if (!is_built(item)) throw never_built(where);
  return item.cast<T&>();
}

template <class T>
struct Live {
  T* object = nullptr;
  pybind11::handle self;  // the Python object, which views keep alive
  T& operator*() const { return *object; }
  T* operator->() const { return object; }
  pybind11::object owner() const { return pybind11::reinterpret_borrow<pybind11::object>(self); }
};

namespace pybind11::detail {

template <class T>
struct type_caster<Live<T>> {
  PYBIND11_TYPE_CASTER(Live<T>, make_caster<T>::name);
  bool load(handle source, bool) {
    if (!isinstance<T>(source)) return false;
    if (!is_built(source)) throw never_built(pybind11::str(pybind11::type::of(source).attr("__name__")));
    value = {&source.cast<T&>(), source};
    return true;
  }
};

}  // namespace pybind11::detail
