// NumPy's arrays as the bindings take and make them, and the kernels of this machine.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "interface.hpp"

namespace polymargin {

namespace nb = nanobind;

using Complex = std::complex<double>;
using Selection = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A new NumPy array and the memory behind it: zeros, unless every entry is going to be written anyway.
template <class T> struct Output {
  T* data;
  nb::object array;
  explicit Output(std::vector<std::size_t> shape, bool zeros = true) {
    std::size_t count = 1;
    for (std::size_t extent : shape) count *= extent;
    data = zeros ? new T[count]() : new T[count];
    nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    array = nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
  }
};

// The kernels of that name, or the best that this machine has.
const Kernels& choose(const std::optional<std::string>& instruction_set);

void bind_paths(nb::module_& module);
void bind_quadrics(nb::module_& module);

}  // namespace polymargin
