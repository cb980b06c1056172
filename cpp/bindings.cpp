// Python bindings: check the arrays, release the GIL, call a kernel. No mathematics here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <complex>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "workers.hpp"

namespace nb = nanobind;
using polymargin::Instruction;
using polymargin::Kernels;
using polymargin::OwnedProgram;
using polymargin::Program;
using polymargin::TrackerSettings;
using polymargin::TrackJob;

using Complex = std::complex<double>;
using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const std::int32_t, nb::shape<-1, 6>, nb::c_contig, nb::device::cpu>;
using Paths = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const Complex, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const Complex, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

namespace {

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> kernels{&polymargin::baseline_kernels()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) kernels.push_back(&polymargin::avx2_kernels());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) kernels.push_back(&polymargin::avx512_kernels());
#endif
  return kernels;
}

const Kernels& choose(const std::optional<std::string>& name) {
  static const std::vector<const Kernels*> kernels = available_kernels();
  if (!name) return *kernels.back();
  for (const Kernels* candidate : kernels)
    if (*name == candidate->name) return *candidate;
  throw std::invalid_argument("instruction set '" + *name + "' is not available on this machine");
}

template <class T> std::vector<T> copy(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

void make_program(OwnedProgram* self, int inputs, int parameters, int registers, int value_code, Code code,
                  Integers arguments, Doubles coefficient_hi, Doubles coefficient_lo, Doubles constant_hi,
                  Doubles constant_lo, Integers value_registers, Integers jacobian_registers) {
  polymargin::ProgramArrays arrays;
  arrays.inputs = inputs;
  arrays.parameters = parameters;
  arrays.registers = registers;
  arrays.value_code = value_code;
  const std::int32_t* row = code.data();
  for (std::size_t i = 0; i < code.shape(0); ++i, row += 6) {
    Instruction step;
    step.operation = static_cast<polymargin::Operation>(row[0]);
    step.target = row[1];
    step.rows = row[2];
    step.columns = row[3];
    step.arguments = row[4];
    step.coefficients = row[5];
    arrays.code.push_back(step);
  }
  arrays.arguments = copy(arguments);
  arrays.coefficient_hi = copy(coefficient_hi);
  arrays.coefficient_lo = copy(coefficient_lo);
  arrays.constant_hi = copy(constant_hi);
  arrays.constant_lo = copy(constant_lo);
  arrays.value_registers = copy(value_registers);
  arrays.jacobian_registers = copy(jacobian_registers);
  new (self) OwnedProgram(std::move(arrays));
}

// A new NumPy array and the memory behind it.
template <class T> struct Output {
  T* data;
  nb::object array;
  explicit Output(std::vector<std::size_t> shape) {
    std::size_t count = 1;
    for (std::size_t extent : shape) count *= extent;
    data = new T[count]();
    nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    array = nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
  }
};

double* as_doubles(Complex* data) { return reinterpret_cast<double*>(data); }
const double* as_doubles(const Complex* data) { return reinterpret_cast<const double*>(data); }

void require_columns(const Matrix& matrix, std::int32_t columns, const char* what) {
  if (matrix.shape(1) != static_cast<std::size_t>(columns))
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(columns) + " columns, got " +
                                std::to_string(matrix.shape(1)));
}

void require_length(const Vector& vector, std::int32_t length, const char* what) {
  if (vector.size() != static_cast<std::size_t>(length))
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(length) + " entries, got " +
                                std::to_string(vector.size()));
}

bool ask_python() {
  const nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

nb::dict track(const OwnedProgram& owned, Vector start_parameters, Matrix target_parameters, Matrix start_points,
               const TrackerSettings& settings, int threads, bool double_double, std::optional<Paths> selected,
               std::optional<std::string> instruction_set) {
  const Program& program = owned.get();
  require_columns(start_points, program.inputs, "start points");
  require_columns(target_parameters, program.parameters, "target parameters");
  require_length(start_parameters, program.parameters, "start parameters");
  const std::size_t starts = start_points.shape(0), targets = target_parameters.shape(0);
  const std::size_t paths = starts * targets, size = program.inputs;
  if (selected)
    for (std::size_t i = 0; i < selected->size(); ++i)
      if (selected->data()[i] < 0 || selected->data()[i] >= static_cast<std::int64_t>(paths))
        throw std::invalid_argument("selected paths: index out of range");

  Output<Complex> points({targets, starts, size});
  Output<std::int32_t> ends({targets, starts}), steps({targets, starts}), rejections({targets, starts});
  Output<double> remaining({targets, starts}), correction({targets, starts}), condition({targets, starts});
  std::atomic<std::int64_t> next{0};
  TrackJob job{};
  job.program = &program;
  job.start_parameters = as_doubles(start_parameters.data());
  job.target_parameters = as_doubles(target_parameters.data());
  job.start_points = as_doubles(start_points.data());
  job.starts = static_cast<std::int64_t>(starts);
  job.settings = settings;
  job.selected = selected ? selected->data() : nullptr;
  job.selected_count = static_cast<std::int64_t>(selected ? selected->size() : paths);
  job.points = as_doubles(points.data);
  job.ends = ends.data;
  job.steps = steps.data;
  job.rejections = rejections.data;
  job.remaining = remaining.data;
  job.correction = correction.data;
  job.condition = condition.data;
  job.next = &next;
  const Kernels& kernels = choose(instruction_set);
  bool finished;
  {
    const nb::gil_scoped_release release;
    finished = polymargin::run_jobs(kernels, {job}, threads, double_double, ask_python);
  }
  if (!finished) throw nb::python_error();
  nb::dict result;
  result["points"] = points.array;
  result["ends"] = ends.array;
  result["steps"] = steps.array;
  result["rejections"] = rejections.array;
  result["remaining"] = remaining.array;
  result["correction"] = correction.array;
  result["condition"] = condition.array;
  return result;
}

nb::tuple evaluate(const OwnedProgram& owned, Matrix inputs, Vector parameters, bool double_double,
                   std::optional<std::string> instruction_set) {
  const Program& program = owned.get();
  require_columns(inputs, program.inputs, "inputs");
  require_length(parameters, program.parameters, "parameters");
  const std::size_t points = inputs.shape(0), size = program.inputs;
  Output<Complex> values({points, size}), jacobians({points, size, size});
  const Kernels& kernels = choose(instruction_set);
  {
    const nb::gil_scoped_release release;
    const polymargin::Workspaces workspace(1, kernels.workspace_bytes(program, double_double));
    kernels.evaluate(program, as_doubles(inputs.data()), as_doubles(parameters.data()), static_cast<std::int64_t>(points),
                     as_doubles(values.data), as_doubles(jacobians.data), workspace[0], double_double);
  }
  return nb::make_tuple(values.array, jacobians.array);
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

NB_MODULE(_core, module) {
  module.doc() = "Path tracking on packs of complex numbers.";

  nb::class_<OwnedProgram>(module, "Program")
      .def("__init__", &make_program, nb::kw_only(), nb::arg("inputs"), nb::arg("parameters"), nb::arg("registers"), nb::arg("value_code"), nb::arg("code"),
           nb::arg("arguments"), nb::arg("coefficient_hi"), nb::arg("coefficient_lo"), nb::arg("constant_hi"),
           nb::arg("constant_lo"), nb::arg("value_registers"), nb::arg("jacobian_registers"));

  nb::class_<TrackerSettings>(module, "TrackerSettings")
      .def(
          "__init__",
          [](TrackerSettings* self, double contraction, double correction, double accuracy, double final_accuracy,
             double smallest_step, double infinity, std::int32_t most_steps) {
            new (self) TrackerSettings{};
            self->contraction = contraction;
            self->correction = correction;
            self->accuracy = accuracy;
            self->final_accuracy = final_accuracy;
            self->smallest_step = smallest_step;
            self->infinity = infinity;
            self->most_steps = most_steps;
          },
          nb::kw_only(), nb::arg("contraction"), nb::arg("correction"), nb::arg("accuracy"),
          nb::arg("final_accuracy"), nb::arg("smallest_step"), nb::arg("infinity"), nb::arg("most_steps"));

  module.def("track", &track, nb::arg("program"), nb::arg("start_parameters"), nb::arg("target_parameters"),
             nb::arg("start_points"), nb::arg("settings"), nb::arg("threads") = 1, nb::arg("double_double") = false,
             nb::arg("selected") = nb::none(), nb::arg("instruction_set") = nb::none());
  module.def("evaluate", &evaluate, nb::arg("program"), nb::arg("inputs"), nb::arg("parameters"),
             nb::arg("double_double") = false, nb::arg("instruction_set") = nb::none());
  module.def("end_with", &end_with, nb::arg("status"));
  module.def("instruction_sets", [] {
    nb::dict names;
    for (const Kernels* kernels : available_kernels()) names[kernels->name] = kernels->lanes;
    return names;
  });
}
