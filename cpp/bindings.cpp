// The Python module: which kernels there are, and how the process ends. No mathematics in any of its bindings.
#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "arrays.hpp"

namespace polymargin {
namespace {

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> kernels{&baseline_kernels()};
#if defined(__x86_64__) && !defined(PM_PORTABLE)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) kernels.push_back(&avx2_kernels());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) kernels.push_back(&avx512_kernels());
#endif
  return kernels;
}

// A library below us may end the process by itself, with a status that means something else here: OpenBLAS ends with 1 when
// it gets no memory. While a status is set, exit() ends with that one.
std::atomic<int> status_of_exit{-1};

void end_with(int status) {
  static const int registered = std::atexit([] {
    if (status_of_exit >= 0) std::_Exit(status_of_exit);
  });
  status_of_exit = registered == 0 ? status : -1;
}

}  // namespace

const Kernels& choose(const std::optional<std::string>& name) {
  static const std::vector<const Kernels*> kernels = available_kernels();
  if (!name) return *kernels.back();
  for (const Kernels* candidate : kernels)
    if (*name == candidate->name) return *candidate;
  throw std::invalid_argument("instruction set '" + *name + "' is not available on this machine");
}

}  // namespace polymargin

NB_MODULE(_core, module) {
  module.doc() = "Path tracking on packs of complex numbers, and nearest points of quadrics.";
  polymargin::bind_paths(module);
  polymargin::bind_quadrics(module);
  module.def("end_with", &polymargin::end_with, nanobind::arg("status"));
  module.def("instruction_sets", [] {
    nanobind::dict names;
    for (const polymargin::Kernels* kernels : polymargin::available_kernels()) names[kernels->name] = kernels->lanes;
    return names;
  });
}
