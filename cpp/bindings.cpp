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
#include "survey.hpp"
#include "workers.hpp"

namespace nb = nanobind;
using polymargin::Instruction;
using polymargin::Kernels;
using polymargin::OwnedProgram;
using polymargin::Program;
using polymargin::TrackerSettings;
using polymargin::NearestJob;
using polymargin::Quadric;
using polymargin::TrackJob;

using Complex = std::complex<double>;
using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const std::int32_t, nb::shape<-1, 6>, nb::c_contig, nb::device::cpu>;
using Paths = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const Complex, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const Complex, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const Complex, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Ends = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

namespace {

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> kernels{&polymargin::baseline_kernels()};
#if defined(__x86_64__) && !defined(PM_PORTABLE)
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

// Every start point of a program to every target, or the selected ones of these paths. It keeps alive what it points to.
class Job {
 public:
  Job(nb::handle_t<OwnedProgram> program, Vector start_parameters, Matrix target_parameters, Matrix start_points,
      std::optional<Paths> selected)
      : keeps_alive_(nb::borrow(program)), program_(nb::cast<const OwnedProgram&>(program).get()), start_parameters_(start_parameters),
        target_parameters_(target_parameters), start_points_(start_points), selected_(selected) {
    require_columns(start_points_, program_.inputs, "start points");
    require_columns(target_parameters_, program_.parameters, "target parameters");
    require_length(start_parameters_, program_.parameters, "start parameters");
    if (!selected_) return;
    const auto paths = static_cast<std::int64_t>(starts() * targets());
    for (std::size_t i = 0; i < selected_->size(); ++i)
      if (selected_->data()[i] < 0 || selected_->data()[i] >= paths)
        throw std::invalid_argument("selected paths: index out of range");
  }

  std::size_t starts() const { return start_points_.shape(0); }
  std::size_t targets() const { return target_parameters_.shape(0); }
  std::size_t size() const { return static_cast<std::size_t>(program_.inputs); }

  TrackJob for_core(const TrackerSettings& settings) const {
    TrackJob job{};
    job.program = &program_;
    job.start_parameters = as_doubles(start_parameters_.data());
    job.target_parameters = as_doubles(target_parameters_.data());
    job.start_points = as_doubles(start_points_.data());
    job.starts = static_cast<std::int64_t>(starts());
    job.settings = settings;
    job.selected = selected_ ? selected_->data() : nullptr;
    job.selected_count = static_cast<std::int64_t>(selected_ ? selected_->size() : starts() * targets());
    return job;
  }

 private:
  nb::object keeps_alive_;
  const Program& program_;
  Vector start_parameters_;
  Matrix target_parameters_, start_points_;
  std::optional<Paths> selected_;
};

// What became of the paths of one job, in new arrays.
struct Results {
  Output<Complex> points;
  Output<std::int32_t> ends, steps, rejections;
  Output<double> remaining, correction, condition;

  Results(const Job& job, TrackJob& core)
      : points({job.targets(), job.starts(), job.size()}), ends({job.targets(), job.starts()}), steps({job.targets(), job.starts()}),
        rejections({job.targets(), job.starts()}), remaining({job.targets(), job.starts()}), correction({job.targets(), job.starts()}),
        condition({job.targets(), job.starts()}) {
    core.points = as_doubles(points.data);
    core.ends = ends.data;
    core.steps = steps.data;
    core.rejections = rejections.data;
    core.remaining = remaining.data;
    core.correction = correction.data;
    core.condition = condition.data;
  }

  nb::dict as_dict() const {
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
};

nb::list track(nb::sequence jobs, const TrackerSettings& settings, int threads, bool double_double,
               std::optional<std::string> instruction_set) {
  const Kernels& kernels = choose(instruction_set);
  std::vector<TrackJob> queue;
  std::vector<Results> results;
  for (const nb::handle item : jobs) {
    const Job& job = nb::cast<const Job&>(item);
    queue.push_back(job.for_core(settings));
    results.emplace_back(job, queue.back());
  }
  std::vector<std::atomic<std::int64_t>> next(queue.size());  // zeros
  for (std::size_t i = 0; i < queue.size(); ++i) queue[i].next = &next[i];
  bool finished;
  {
    const nb::gil_scoped_release release;
    finished = polymargin::run_jobs(kernels, queue, threads, double_double, ask_python);
  }
  if (!finished) throw nb::python_error();
  nb::list found;
  for (const Results& result : results) found.append(result.as_dict());
  return found;
}

nb::dict survey(Points points, Ends ends, Rows condition, Matrix targets, Doubles directions, double same, double same_conjugate,
                double real, double clearly_complex, double largest_condition) {
  const std::size_t lists = points.shape(0), count = points.shape(1), size = points.shape(2);
  const auto fits = [&](const auto& array) { return array.shape(0) == lists && array.shape(1) == count; };
  if (size == 0 || !fits(ends) || !fits(condition) || targets.shape(0) != lists || targets.shape(1) + 1 < size || directions.size() != 3 * size)
    throw std::invalid_argument("survey: expected points (T, N, n), ends and conditions (T, N), targets (T, n - 1 or more), directions (3n,)");
  Output<std::int32_t> clear({lists}), real_counts({lists}), unclear({lists});
  Output<double> gaps({lists, 2});
  Output<Complex> chosen({lists, 4, size});
  polymargin::Lists job{};
  job.points = polymargin::pairs(points.data());
  job.targets = polymargin::pairs(targets.data());
  job.ends = ends.data();
  job.condition = condition.data();
  job.directions = directions.data();
  job.clear = clear.data;
  job.real_counts = real_counts.data;
  job.unclear = unclear.data;
  job.gaps = gaps.data;
  job.chosen = polymargin::pairs(chosen.data);
  job.list_count = static_cast<unsigned>(lists);
  job.point_count = static_cast<unsigned>(count);
  job.size = static_cast<unsigned>(size);
  job.parameters = static_cast<unsigned>(targets.shape(1));
  job.same = same;
  job.same_conjugate = same_conjugate;
  job.real = real;
  job.clearly_complex = clearly_complex;
  job.largest_condition = largest_condition;
  for (std::size_t i = 0; i < 2 * size; ++i) job.reach += same * std::abs(directions.data()[i]);
  {
    const nb::gil_scoped_release release;
    polymargin::survey(job);
  }
  nb::dict told;
  told["clear"] = clear.array;
  told["real_counts"] = real_counts.array;
  told["unclear"] = unclear.array;
  told["gaps"] = gaps.array;
  told["chosen"] = chosen.array;
  return told;
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

std::size_t padded(std::size_t size) { return (size + polymargin::kPadding - 1) / polymargin::kPadding * polymargin::kPadding; }

// What a quadric consists of, as rows of numbers that go in; `bends` is None for a form.
Quadric quadric_of(std::size_t inputs, const Rows& weights, const Doubles& bias, const std::optional<Doubles>& bends, const Doubles& slopes,
                   double constant, const Rows& map, const Doubles& eigenvalues, const Doubles& sizes) {
  const std::size_t hidden = bends ? map.shape(0) : inputs, size = eigenvalues.size();
  if (size == 0 || inputs == 0 || weights.shape(0) != inputs || weights.shape(1) != padded(hidden) || slopes.size() != padded(hidden) ||
      bias.size() != (bends ? padded(hidden) : padded(size)) || (bends && bends->size() != padded(hidden)) || map.shape(0) != hidden ||
      map.shape(1) != padded(size) || sizes.size() != 3)
    throw std::invalid_argument("quadric: expected matrices with a row for each of " + std::to_string(inputs) +
                                " inputs or hidden values, padded, and vectors that fit them");
  Quadric quadric{};
  quadric.inputs = static_cast<std::int64_t>(inputs);
  quadric.hidden = static_cast<std::int64_t>(hidden);
  quadric.size = static_cast<std::int64_t>(size);
  quadric.weights = weights.data();
  quadric.bias = bias.data();
  quadric.bends = bends ? bends->data() : nullptr;
  quadric.slopes = slopes.data();
  quadric.constant = constant;
  quadric.map = map.data();
  quadric.eigenvalues = eigenvalues.data();
  quadric.sizes = sizes.data();
  return quadric;
}

nb::tuple view(Rows points, Rows weights, Doubles bias, std::optional<Doubles> bends, Doubles slopes, double constant, Rows map,
               Doubles eigenvalues, Doubles sizes, std::optional<std::string> instruction_set) {
  const Quadric quadric = quadric_of(points.shape(1), weights, bias, bends, slopes, constant, map, eigenvalues, sizes);
  Output<double> values({points.shape(0)}), gradients({points.shape(0), eigenvalues.size()});
  const Kernels& kernels = choose(instruction_set);
  {
    const nb::gil_scoped_release release;
    const polymargin::Workspaces workspace(1, kernels.quadric_bytes(quadric));
    kernels.view(quadric, points.data(), static_cast<std::int64_t>(points.shape(0)), values.data, gradients.data, workspace[0]);
  }
  return nb::make_tuple(values.array, gradients.array);
}

nb::object product(Rows rows, Rows matrix, std::optional<std::string> instruction_set) {
  if (matrix.shape(0) != rows.shape(1) || matrix.shape(1) != padded(matrix.shape(1)))
    throw std::invalid_argument("product: expected a padded matrix with a row for each of " + std::to_string(rows.shape(1)) + " columns");
  Output<double> out({rows.shape(0), matrix.shape(1)});
  const Kernels& kernels = choose(instruction_set);
  {
    const nb::gil_scoped_release release;
    kernels.product(rows.data(), static_cast<std::int64_t>(rows.shape(0)), static_cast<std::int64_t>(rows.shape(1)), matrix.data(),
                    static_cast<std::int64_t>(matrix.shape(1)), out.data);
  }
  return out.array;
}

// One quadric, everything that its nearest points are found by, and the memory that this lies in.
class NearestRules {
 public:
  NearestRules(Rows weights, Doubles bias, std::optional<Doubles> bends, Doubles slopes, double constant, Rows map, Doubles eigenvalues,
               Doubles sizes, Rows rotation, std::optional<Rows> basis, Doubles fixed, double least, double tolerance, double cluster_tolerance,
               double touch_tolerance, double noise, double largest_doubt, double largest_correction, double largest_miss)
      : weights_(weights), bias_(bias), bends_(bends), slopes_(slopes), map_(map), eigenvalues_(eigenvalues), sizes_(sizes), rotation_(rotation),
        basis_(basis), fixed_(fixed) {
    job_.quadric = quadric_of(weights.shape(0), weights, bias, bends, slopes, constant, map, eigenvalues, sizes);
    const std::size_t size = eigenvalues.size(), inputs = weights.shape(0);
    if (rotation.shape(0) != size || rotation.shape(1) != map.shape(1) || fixed.size() != size ||
        (basis ? basis->shape(0) != size || basis->shape(1) != padded(inputs) : size != inputs))
      throw std::invalid_argument("nearest: expected a rotation and a basis with a row for each of " + std::to_string(size) + " eigenvalues, padded");
    job_.rotation = rotation.data();
    job_.basis = basis ? basis->data() : nullptr;
    job_.fixed = fixed.data();
    job_.least = least;
    job_.tolerance = tolerance;
    job_.cluster_tolerance = cluster_tolerance;
    job_.touch_tolerance = touch_tolerance;
    job_.noise = noise;
    job_.largest_doubt = largest_doubt;
    job_.largest_correction = largest_correction;
    job_.largest_miss = largest_miss;
  }
  const NearestJob& job() const { return job_; }

 private:
  Rows weights_;
  Doubles bias_;
  std::optional<Doubles> bends_;
  Doubles slopes_;
  Rows map_;
  Doubles eigenvalues_, sizes_;
  Rows rotation_;
  std::optional<Rows> basis_;
  Doubles fixed_;
  NearestJob job_{};
};

struct NearestResults {
  Output<std::int8_t> kinds, doubtful;
  Output<double> multipliers, distances, steps;
  NearestResults(NearestJob& job, std::size_t rows)
      : kinds({rows}), doubtful({rows}), multipliers({rows}), distances({rows}), steps({rows, static_cast<std::size_t>(job.quadric.size)}) {
    job.rows = static_cast<std::int64_t>(rows);
    job.kinds = kinds.data;
    job.doubtful = doubtful.data;
    job.multipliers = multipliers.data;
    job.distances = distances.data;
    job.steps = steps.data;
  }
};

// For each of the rules, the nearest points to some rows of points.
nb::list nearest(Rows points, nb::sequence rules, nb::sequence rows, int threads, std::optional<std::string> instruction_set) {
  const Kernels& kernels = choose(instruction_set);
  std::vector<NearestJob> jobs;
  std::vector<NearestResults> results;
  std::vector<Paths> chosen;
  if (nb::len(rules) != nb::len(rows)) throw std::invalid_argument("nearest: expected as many choices of rows as rules");
  for (std::size_t i = 0; i < nb::len(rules); ++i) {
    jobs.push_back(nb::cast<const NearestRules&>(rules[i]).job());
    chosen.push_back(nb::cast<Paths>(rows[i]));
    NearestJob& job = jobs.back();
    if (static_cast<std::size_t>(job.quadric.inputs) != points.shape(1)) throw std::invalid_argument("nearest: expected points with as many entries as there are inputs");
    for (std::size_t r = 0; r < chosen.back().size(); ++r)
      if (chosen.back().data()[r] < 0 || static_cast<std::size_t>(chosen.back().data()[r]) >= points.shape(0))
        throw std::invalid_argument("nearest: row out of range");
    job.points = points.data();
    job.chosen = chosen.back().data();
    results.emplace_back(job, chosen.back().size());
  }
  {
    const nb::gil_scoped_release release;
    polymargin::run_nearest(kernels, jobs, threads);
  }
  nb::list found;
  for (const NearestResults& result : results)
    found.append(nb::make_tuple(result.steps.array, result.distances.array, result.multipliers.array, result.kinds.array, result.doubtful.array));
  return found;
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
  module.doc() = "Path tracking on packs of complex numbers, and nearest points of quadrics.";

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

  nb::class_<Job>(module, "Job")
      .def(nb::init<nb::handle_t<OwnedProgram>, Vector, Matrix, Matrix, std::optional<Paths>>(), nb::arg("program"), nb::arg("start_parameters"),
           nb::arg("target_parameters"), nb::arg("start_points"), nb::arg("selected") = nb::none());

  module.def("track", &track, nb::arg("jobs"), nb::arg("settings"), nb::arg("threads") = 1, nb::arg("double_double") = false,
             nb::arg("instruction_set") = nb::none());
  module.def("survey", &survey, nb::arg("points"), nb::arg("ends"), nb::arg("condition"), nb::arg("targets"), nb::arg("directions"), nb::arg("same"),
             nb::arg("same_conjugate"), nb::arg("real"), nb::arg("clearly_complex"), nb::arg("largest_condition"));
  module.def("evaluate", &evaluate, nb::arg("program"), nb::arg("inputs"), nb::arg("parameters"),
             nb::arg("double_double") = false, nb::arg("instruction_set") = nb::none());
  module.def("view", &view, nb::arg("points"), nb::kw_only(), nb::arg("weights"), nb::arg("bias"), nb::arg("bends").none(), nb::arg("slopes"),
             nb::arg("constant"), nb::arg("map"), nb::arg("eigenvalues"), nb::arg("sizes"), nb::arg("instruction_set") = nb::none());
  module.def("product", &product, nb::arg("rows"), nb::arg("matrix"), nb::arg("instruction_set") = nb::none());
  nb::class_<NearestRules>(module, "NearestRules")
      .def(nb::init<Rows, Doubles, std::optional<Doubles>, Doubles, double, Rows, Doubles, Doubles, Rows, std::optional<Rows>, Doubles, double, double,
                    double, double, double, double, double, double>(),
           nb::kw_only(), nb::arg("weights"), nb::arg("bias"), nb::arg("bends").none(), nb::arg("slopes"), nb::arg("constant"), nb::arg("map"),
           nb::arg("eigenvalues"), nb::arg("sizes"), nb::arg("rotation"), nb::arg("basis").none(), nb::arg("fixed"), nb::arg("least"),
           nb::arg("tolerance"), nb::arg("cluster_tolerance"), nb::arg("touch_tolerance"), nb::arg("noise"), nb::arg("largest_doubt"),
           nb::arg("largest_correction"), nb::arg("largest_miss"));
  module.def("nearest", &nearest, nb::arg("points"), nb::arg("rules"), nb::arg("rows"), nb::arg("threads") = 1,
             nb::arg("instruction_set") = nb::none());
  module.def("end_with", &end_with, nb::arg("status"));
  module.def("instruction_sets", [] {
    nb::dict names;
    for (const Kernels* kernels : available_kernels()) names[kernels->name] = kernels->lanes;
    return names;
  });
}
