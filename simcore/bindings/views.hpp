// NumPy views of the core's memory. A view keeps its owner alive. Views are read-only, because values written from
// outside would not be checked before the next cycle uses them.
#pragma once

#include <pybind11/numpy.h>

#include <utility>
#include <vector>

inline pybind11::array read_only(pybind11::array array) {
  pybind11::detail::array_proxy(array.ptr())->flags &= ~pybind11::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

template <class T>
pybind11::array view(const T* data, std::vector<pybind11::ssize_t> shape, const pybind11::object& owner) {
  return read_only(pybind11::array(pybind11::dtype::of<T>(), std::move(shape), data, owner));
}
template <class T, class A>
pybind11::array view(const std::vector<T, A>& array, std::vector<pybind11::ssize_t> shape,
                     const pybind11::object& owner) {
  return view(array.data(), std::move(shape), owner);
}
template <class T, class A>
pybind11::array view(const std::vector<T, A>& array, const pybind11::object& owner) {
  return view(array, {static_cast<pybind11::ssize_t>(array.size())}, owner);
}
// View of bytes that are 0 or 1, as booleans.
inline pybind11::array flags(const std::uint8_t* data, std::vector<pybind11::ssize_t> shape,
                             const pybind11::object& owner) {
  return read_only(pybind11::array(pybind11::dtype("bool"), std::move(shape), data, owner));
}

// A copy that Python owns.
template <class T>
pybind11::array copied(const T* data, std::vector<pybind11::ssize_t> shape) {
  return pybind11::array(pybind11::dtype::of<T>(), std::move(shape), data);
}
