// Python bindings: check the arrays, release the GIL, call a kernel. No mathematics here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "interface.hpp"

namespace nb = nanobind;
using polymargin::Instruction;
using polymargin::Kernels;
using polymargin::Program;
using polymargin::TrackerSettings;
using polymargin::TrackJob;

using Complex = std::complex<double>;
using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const std::int32_t, nb::shape<-1, 8>, nb::c_contig, nb::device::cpu>;
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

// Jobs with at least this many paths can be interrupted; shorter ones are over before anybody has noticed.
constexpr std::int64_t kLongJob = 4096;

struct AlignedFree {
  void operator()(void* memory) const { std::free(memory); }
};
using Workspace = std::unique_ptr<void, AlignedFree>;

Workspace allocate(std::int64_t bytes) {
  void* memory = std::aligned_alloc(64, static_cast<std::size_t>((bytes + 63) / 64 * 64));
  if (!memory) throw std::bad_alloc();
  return Workspace(memory);
}

// The workspaces of one call, taken from and given back to those that the calling thread keeps: thousands of short jobs would
// otherwise scatter the heap. A call inside a call (from a signal handler) finds none kept and makes its own.
class Workspaces {
 public:
  Workspaces(int count, std::int64_t bytes) : all_(std::exchange(kept(), {})) {
    if (all_.bytes < bytes) all_ = {{}, bytes};
    while (static_cast<int>(all_.memory.size()) < count) all_.memory.push_back(allocate(all_.bytes));
  }
  ~Workspaces() {
    if (all_.bytes <= kLargestKept) kept() = std::move(all_);
  }
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  void* operator[](int index) const { return all_.memory[index].get(); }

 private:
  struct Kept {
    std::vector<Workspace> memory;
    std::int64_t bytes = 0;  // of each
  };
  static constexpr std::int64_t kLargestKept = 1 << 24;
  static Kept& kept() {
    static thread_local Kept workspaces;
    return workspaces;
  }
  Kept all_;
};

template <class T> std::vector<T> copy(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

// Owns the arrays that a Program points into; checks once that no index leaves its array.
class ProgramHolder {
 public:
  ProgramHolder(int inputs, int parameters, int registers, int value_code, Code code, Integers arguments,
                Doubles coefficient_hi, Doubles coefficient_lo, Doubles constant_hi, Doubles constant_lo,
                Integers value_registers, Integers jacobian_registers)
      : arguments_(copy(arguments)), coefficient_hi_(copy(coefficient_hi)), coefficient_lo_(copy(coefficient_lo)),
        constant_hi_(copy(constant_hi)), constant_lo_(copy(constant_lo)), value_registers_(copy(value_registers)),
        jacobian_registers_(copy(jacobian_registers)) {
    const std::int32_t* row = code.data();
    for (std::size_t i = 0; i < code.shape(0); ++i, row += 8)
      code_.push_back({static_cast<polymargin::Operation>(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], row[7]});
    program_ = {inputs, parameters, static_cast<std::int32_t>(constant_hi_.size()), registers,
                static_cast<std::int32_t>(code_.size()), value_code, code_.data(), arguments_.data(),
                coefficient_hi_.data(), coefficient_lo_.data(), constant_hi_.data(), constant_lo_.data(),
                value_registers_.data(), jacobian_registers_.data()};
    check();
  }
  const Program& get() const { return program_; }

 private:
  void require(bool condition) const {
    if (!condition) throw std::invalid_argument("program: an index lies outside its array");
  }
  void require_register(std::int32_t index) const { require(0 <= index && index < program_.registers); }

  void check() const {
    const Program& p = program_;
    require(p.inputs > 0 && p.parameters >= 0);
    require(std::int64_t{p.inputs} + p.parameters + p.constants <= p.registers);
    require(0 <= p.value_code && p.value_code <= p.code_length);
    require(coefficient_lo_.size() == coefficient_hi_.size() && constant_lo_.size() == constant_hi_.size());
    require(value_registers_.size() == static_cast<std::size_t>(p.inputs));
    require(jacobian_registers_.size() == static_cast<std::size_t>(p.inputs) * p.inputs);
    for (std::int32_t index : value_registers_) require_register(index);
    for (std::int32_t index : jacobian_registers_)
      if (index >= 0) require_register(index);
    for (std::int32_t index : arguments_) require_register(index);
    for (const Instruction& step : code_) {
      require_register(step.target);
      switch (step.operation) {
        case polymargin::Operation::linear:
          require(step.rows > 0 && step.columns >= 0 && step.arguments >= 0 && step.coefficients >= 0);
          require(std::int64_t{step.target} + step.rows <= p.registers);
          require(static_cast<std::size_t>(step.arguments) + step.columns <= arguments_.size());
          require(step.coefficients + static_cast<std::size_t>(step.rows) * (std::size_t(step.columns) + 1) <= coefficient_hi_.size());
          break;
        case polymargin::Operation::product: require_register(step.right); [[fallthrough]];
        case polymargin::Operation::square: require_register(step.left); break;
        default: require(false);
      }
    }
  }

  std::vector<Instruction> code_;
  std::vector<std::int32_t> arguments_;
  std::vector<double> coefficient_hi_, coefficient_lo_, constant_hi_, constant_lo_;
  std::vector<std::int32_t> value_registers_, jacobian_registers_;
  Program program_;
};

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

// Runs the job on several threads, or on as many of them as can be started. A long one leaves this thread free to look for
// Ctrl-C: the workers then stop when the paths in their lanes are done. False if Python was interrupted.
bool run_workers(const Kernels& kernels, const TrackJob& job, int workers, bool double_double) {
  nb::gil_scoped_release release;
  const Workspaces workspaces(workers, kernels.workspace_bytes(*job.program, double_double));
  std::atomic<int> busy{0};
  const auto work = [&](int w) {
    kernels.track(job, workspaces[w], double_double);
    --busy;
  };
  const bool watched = job.selected_count >= kLongJob;
  std::vector<std::thread> pool;
  pool.reserve(workers);
  for (int w = watched ? 0 : 1; w < workers; ++w) {
    ++busy;
    try {
      pool.emplace_back(work, w);
    } catch (const std::system_error&) {
      --busy;
      break;
    }
  }
  bool interrupted = false;
  if (!watched || pool.empty()) {
    ++busy;
    work(0);
  }
  while (watched && busy > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (interrupted) continue;
    nb::gil_scoped_acquire acquire;
    interrupted = PyErr_CheckSignals() != 0;
    if (interrupted) *job.next = job.selected_count;
  }
  for (std::thread& worker : pool) worker.join();
  return !interrupted;
}

nb::dict track(const ProgramHolder& holder, Vector start_parameters, Matrix target_parameters, Matrix start_points,
               const TrackerSettings& settings, int threads, bool double_double, std::optional<Paths> selected,
               std::optional<std::string> instruction_set) {
  const Program& program = holder.get();
  require_columns(start_points, program.inputs, "start points");
  require_columns(target_parameters, program.parameters, "target parameters");
  if (start_parameters.size() != static_cast<std::size_t>(program.parameters))
    throw std::invalid_argument("start parameters: wrong length");
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
  const TrackJob job{&program, as_doubles(start_parameters.data()), as_doubles(target_parameters.data()),
                     as_doubles(start_points.data()), static_cast<std::int64_t>(starts), static_cast<std::int64_t>(targets),
                     settings, selected ? selected->data() : nullptr,
                     static_cast<std::int64_t>(selected ? selected->size() : paths), as_doubles(points.data), ends.data,
                     steps.data, rejections.data, remaining.data, correction.data, condition.data, &next};
  const Kernels& kernels = choose(instruction_set);
  const int most_useful = static_cast<int>((job.selected_count + kernels.lanes - 1) / kernels.lanes);
  const int workers = std::max(1, std::min(threads, most_useful));
  if (!run_workers(kernels, job, workers, double_double)) throw nb::python_error();
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

nb::tuple evaluate(const ProgramHolder& holder, Matrix inputs, Vector parameters, bool double_double,
                   std::optional<std::string> instruction_set) {
  const Program& program = holder.get();
  require_columns(inputs, program.inputs, "inputs");
  if (parameters.size() != static_cast<std::size_t>(program.parameters)) throw std::invalid_argument("parameters: wrong length");
  const std::size_t points = inputs.shape(0), size = program.inputs;
  Output<Complex> values({points, size}), jacobians({points, size, size});
  const Kernels& kernels = choose(instruction_set);
  const Workspaces workspace(1, kernels.workspace_bytes(program, double_double));
  kernels.evaluate(program, as_doubles(inputs.data()), as_doubles(parameters.data()), static_cast<std::int64_t>(points),
                   as_doubles(values.data), as_doubles(jacobians.data), workspace[0], double_double);
  return nb::make_tuple(values.array, jacobians.array);
}

nb::object evaluate_and_solve(const ProgramHolder& holder, Matrix inputs, Vector parameters, std::int64_t rounds,
                              std::optional<std::string> instruction_set) {
  const Program& program = holder.get();
  const Kernels& kernels = choose(instruction_set);
  require_columns(inputs, program.inputs, "inputs");
  if (parameters.size() != static_cast<std::size_t>(program.parameters)) throw std::invalid_argument("parameters: wrong length");
  if (inputs.shape(0) != static_cast<std::size_t>(kernels.lanes)) throw std::invalid_argument("inputs: one row per lane");
  Output<Complex> solutions({inputs.shape(0), static_cast<std::size_t>(program.inputs)});
  const Workspaces workspace(1, kernels.workspace_bytes(program, false));
  kernels.evaluate_and_solve(program, as_doubles(inputs.data()), as_doubles(parameters.data()), rounds,
                             as_doubles(solutions.data), workspace[0]);
  return solutions.array;
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

  nb::class_<ProgramHolder>(module, "Program")
      .def(nb::init<int, int, int, int, Code, Integers, Doubles, Doubles, Doubles, Doubles, Integers, Integers>(),
           nb::arg("inputs"), nb::arg("parameters"), nb::arg("registers"), nb::arg("value_code"), nb::arg("code"),
           nb::arg("arguments"), nb::arg("coefficient_hi"), nb::arg("coefficient_lo"), nb::arg("constant_hi"),
           nb::arg("constant_lo"), nb::arg("value_registers"), nb::arg("jacobian_registers"));

  nb::class_<TrackerSettings>(module, "TrackerSettings")
      .def(
          "__init__",
          [](TrackerSettings* self, double trust, double contraction, double correction, double accuracy,
             double final_accuracy, double smallest_step, double infinity, std::int32_t most_steps) {
            new (self) TrackerSettings{trust, contraction, correction, accuracy, final_accuracy, smallest_step, infinity, most_steps};
          },
          nb::kw_only(), nb::arg("trust"), nb::arg("contraction"), nb::arg("correction"), nb::arg("accuracy"),
          nb::arg("final_accuracy"), nb::arg("smallest_step"), nb::arg("infinity"), nb::arg("most_steps"));

  module.def("track", &track, nb::arg("program"), nb::arg("start_parameters"), nb::arg("target_parameters"),
             nb::arg("start_points"), nb::arg("settings"), nb::arg("threads") = 1, nb::arg("double_double") = false,
             nb::arg("selected") = nb::none(), nb::arg("instruction_set") = nb::none());
  module.def("evaluate", &evaluate, nb::arg("program"), nb::arg("inputs"), nb::arg("parameters"),
             nb::arg("double_double") = false, nb::arg("instruction_set") = nb::none());
  module.def("evaluate_and_solve", &evaluate_and_solve, nb::arg("program"), nb::arg("inputs"), nb::arg("parameters"),
             nb::arg("rounds"), nb::arg("instruction_set") = nb::none());
  module.def("end_with", &end_with, nb::arg("status"));
  module.def("instruction_sets", [] {
    nb::dict names;
    for (const Kernels* kernels : available_kernels()) names[kernels->name] = kernels->lanes;
    return names;
  });
}
